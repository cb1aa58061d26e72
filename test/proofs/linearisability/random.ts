/** Mulberry32: small, seeded, and good enough to choose what a worker does next. */
export type Random = {
  /** From 0 up to 1. */
  next(): number
  /** From 0 up to `below`. */
  integer(below: number): number
  chance(probability: number): boolean
  pick<T>(from: readonly T[]): T
}

export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const integer = (below: number) => Math.floor(next() * below)
  return {
    next,
    integer,
    chance: (probability) => next() < probability,
    pick(from) {
      if (from.length === 0)
        throw new RangeError('Cannot pick because there is nothing to pick from')
      return from[integer(from.length)] as (typeof from)[number]
    },
  }
}
