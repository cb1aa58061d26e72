// Sets of sequence numbers, as sorted half-open ranges that neither overlap nor touch. `normalised` and `union` make
// them so from any ranges; the others rely on it.

export type Range = { readonly from: number; readonly to: number }
export type Ranges = readonly Range[]

export const none: Ranges = []

/** Sorts the ranges, joins those that touch or overlap, and drops empty ones. */
export function normalised(ranges: Ranges): Ranges {
  const sorted = ranges.filter(({ from, to }) => from < to).sort((x, y) => x.from - y.from)
  const joined: Range[] = []
  for (const range of sorted) {
    const last = joined.at(-1)
    if (last !== undefined && range.from <= last.to) {
      joined[joined.length - 1] = { from: last.from, to: Math.max(last.to, range.to) }
    } else {
      joined.push(range)
    }
  }
  return joined
}

export function union(a: Ranges, b: Ranges): Ranges {
  if (a.length === 0) return normalised(b)
  if (b.length === 0) return normalised(a)
  return normalised([...a, ...b])
}

export function subtract(a: Ranges, b: Ranges): Ranges {
  if (b.length === 0) return a
  const left: Range[] = []
  let i = 0
  for (const { from, to } of a) {
    let start = from
    while (i < b.length && (b[i] as Range).to <= start) i += 1
    for (let j = i; j < b.length; j += 1) {
      const cut = b[j] as Range
      if (cut.from >= to) break
      if (cut.from > start) left.push({ from: start, to: cut.from })
      start = Math.max(start, cut.to)
    }
    if (start < to) left.push({ from: start, to })
  }
  return left
}

export const intersect = (a: Ranges, b: Ranges): Ranges => subtract(a, subtract(a, b))

export function countOf(ranges: Ranges): number {
  let count = 0
  for (const { from, to } of ranges) count += to - from
  return count
}

export const includes = (ranges: Ranges, n: number): boolean =>
  ranges.some(({ from, to }) => from <= n && n < to)

/** The first `count` numbers. */
export function take<T extends Range>(ranges: readonly T[], count: number): T[] {
  const taken: T[] = []
  let left = count
  for (const range of ranges) {
    if (left <= 0) break
    const to = Math.min(range.to, range.from + left)
    taken.push({ ...range, to })
    left -= to - range.from
  }
  return taken
}

/** The numbers after the first `count`. */
export function skip<T extends Range>(ranges: readonly T[], count: number): T[] {
  const rest: T[] = []
  let left = count
  for (const range of ranges) {
    const skipped = Math.min(left, range.to - range.from)
    left -= skipped
    if (range.from + skipped < range.to) rest.push({ ...range, from: range.from + skipped })
  }
  return rest
}

export function* numbersOf(ranges: Ranges): Generator<number> {
  for (const { from, to } of ranges) for (let n = from; n < to; n += 1) yield n
}

/** The last `count` numbers, the last of them first. */
export function lastNumbers(ranges: Ranges, count: number): number[] {
  const numbers: number[] = []
  for (const { from, to } of [...ranges].reverse()) {
    for (let n = to - 1; n >= from && numbers.length < count; n -= 1) numbers.push(n)
  }
  return numbers
}

/** From [from, to, from, to, …], as rows hold them. */
export function unflatten(numbers: readonly number[] | undefined): Ranges {
  if (numbers === undefined) return none
  const ranges: Range[] = []
  for (let i = 0; i + 1 < numbers.length; i += 2) {
    ranges.push({ from: numbers[i] as number, to: numbers[i + 1] as number })
  }
  return ranges
}
