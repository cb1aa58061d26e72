/** A slip of one or two keys, or three in a long word; beyond that a guess only confuses. */
const distanceMax = (word: string): number => Math.min(3, Math.ceil(word.length / 3))

/** The candidate that somebody who typed `word` probably meant. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  let best: { candidate: string; distance: number } | undefined
  for (const candidate of candidates) {
    const distance = candidate.startsWith(word) ? 0.5 : distanceBetween(word, candidate)
    if (distance < (best?.distance ?? Number.POSITIVE_INFINITY)) best = { candidate, distance }
  }
  return best !== undefined && best.distance <= distanceMax(word) ? best.candidate : undefined
}

/** How many characters must be put in, taken out, replaced, or swapped with their neighbour. */
function distanceBetween(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const replace = (last[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      let cost = Math.min(replace, (last[j] as number) + 1, (row[j - 1] as number) + 1)
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (isSwapped) cost = Math.min(cost, (beforeLast[j - 2] as number) + 1)
      row.push(cost)
    }
    beforeLast = last
    last = row
  }
  return last[b.length] as number
}
