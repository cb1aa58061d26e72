// Chance that can be repeated: tests, simulations and benchmarks draw from it. Hides the generator.

/** Random numbers that a seed repeats, everywhere the same: sfc32, seeded through splitmix32. */
export class Random {
  #a: number
  #b: number
  #c: number
  #counter = 1

  constructor(seed: number) {
    let state = seed | 0
    const splitmix = () => {
      state = (state + 0x9e3779b9) | 0
      let z = state ^ (state >>> 16)
      z = Math.imul(z, 0x21f0aaad)
      z ^= z >>> 15
      z = Math.imul(z, 0x735a2d97)
      return (z ^ (z >>> 15)) | 0
    }
    this.#a = splitmix()
    this.#b = splitmix() ^ Math.floor(seed / 2 ** 32)
    this.#c = splitmix()
    for (let i = 0; i < 8; i += 1) this.#bits()
  }

  #bits(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0
    this.#counter = (this.#counter + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum
    return sum
  }

  /** In [0, 1). */
  next(): number {
    return (this.#bits() >>> 0) / 2 ** 32
  }

  /** An integer from `min` to `max`, both included. */
  between(min: number, max: number): number {
    return min + this.integer(max - min + 1)
  }

  /** An integer from 0 up to, but not including, `below`. */
  integer(below: number): number {
    return Math.floor(this.next() * below)
  }

  chance(probability: number): boolean {
    return probability > 0 && this.next() < probability
  }

  pick<T>(list: readonly T[]): T {
    return list[this.integer(list.length)] as T
  }

  /** One of the names, each as often as its weight says. */
  weighted<T extends string>(weights: Readonly<Partial<Record<T, number>>>): T {
    const entries = Object.entries(weights) as [T, number][]
    let total = 0
    for (const [, weight] of entries) total += weight
    let left = this.next() * total
    for (const [name, weight] of entries) {
      left -= weight
      if (left < 0) return name
    }
    return (entries.at(-1) as [T, number])[0]
  }

  /** A separate stream, so that one part's draws do not shift another's. */
  fork(): Random {
    return new Random(this.#bits())
  }
}

/** Just the generator. */
export function seeded(seed: number): () => number {
  const random = new Random(seed)
  return () => random.next()
}
