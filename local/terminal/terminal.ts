// What `npm start` and the command line share about a terminal: colours, text that is safe to print, a line of
// progress, times, slips of the keys, and Ctrl-C.

/** A stream to write to, such as `process.stdout`. */
export type Output = {
  write(text: string): unknown
  readonly isTTY?: boolean | undefined
}

export type Colour = 'red' | 'green' | 'yellow' | 'dim' | 'bold'

const codes: Readonly<Record<Colour, string>> = {
  red: '31',
  green: '32',
  yellow: '33',
  dim: '2',
  bold: '1',
}

export type Paint = (colour: Colour, text: string) => string

/** Colours only on a terminal, and only if the user has not turned them off (no-color.org). */
export function paintFor(
  { isTTY }: Output,
  environment: Readonly<Record<string, string | undefined>>,
): Paint {
  if (!isTTY || environment.NO_COLOR || environment.TERM === 'dumb') return (_, text) => text
  return (colour, text) => `\u001b[${codes[colour]}m${text}\u001b[0m`
}

/** Makes text from elsewhere harmless: it must not move the cursor or ring the bell. */
export const printable = (text: string): string =>
  text.replace(/\p{Cc}/gu, (character) => (character === '\t' ? ' ' : '\ufffd'))

/** In the time zone of this machine. */
export function clockTime(ms: number): string {
  const time = new Date(ms)
  return [time.getHours(), time.getMinutes(), time.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':')
}

export type Progress = {
  step(text: string): void
  /** Clears the line on a terminal. */
  clear(): void
}

/** Longer than any step usually takes: then the user should know that it is still the same. */
const STILL_MS = 10_000

/** On a terminal one line that is rewritten; in a file a line for each step. */
export function progressOn(output: Output): Progress {
  const isTerminal = output.isTTY === true
  const show = (text: string) => output.write(isTerminal ? `\r\u001b[2K${text}` : `${text}\n`)
  let still: NodeJS.Timeout | undefined
  return {
    step(text) {
      clearInterval(still)
      const sinceMs = Date.now()
      show(`${text} …`)
      still = setInterval(() => {
        show(`${text} … (${Math.round((Date.now() - sinceMs) / 1000)} s so far)`)
      }, STILL_MS).unref()
    },
    clear() {
      clearInterval(still)
      if (isTerminal) output.write('\r\u001b[2K')
    },
  }
}

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

/**
 * Ctrl-C arrives twice within a moment: from the terminal, and passed on by npm's script. A person who means
 * it twice is slower than this.
 */
export const SAME_SIGNAL_MS = 500
