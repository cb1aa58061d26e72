import { BoundedCache } from '../../foundation/bounded-cache.ts'

/**
 * Numbered lists (the items of a segment, or of a batch), as far as we have read them. Of a list that is
 * larger than the whole cache we keep a part, from the requested number on: a consumer that takes that item
 * takes the following ones next.
 */
export class PartialCache<T> {
  readonly #bytesMax: number
  readonly #lists: BoundedCache<ReadonlyMap<number, T>>

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
    this.#lists = new BoundedCache(bytesMax)
  }

  get(list: string, number: number): T | undefined {
    return this.#lists.get(list)?.get(number)
  }

  /** Adds to what we already know of the list. */
  add(list: string, found: ReadonlyMap<number, T>, from: number): void {
    if (found.size === 0) return
    const known = this.#lists.get(list)
    const all = known === undefined ? found : new Map([...known, ...found])
    let bytes = 0
    for (const value of all.values()) bytes += bytesOf(value)
    if (bytes <= this.#bytesMax) this.#lists.set(list, all, bytes)
    else this.#addPart(list, [...all].sort(byNumber), from)
  }

  #addPart(list: string, all: readonly (readonly [number, T])[], from: number): void {
    const kept = new Map<number, T>()
    let bytes = 0
    for (const [number, value] of [
      ...all.filter(([number]) => number >= from),
      ...all.filter(([number]) => number < from),
    ]) {
      if (bytes + bytesOf(value) > this.#bytesMax) break
      bytes += bytesOf(value)
      kept.set(number, value)
    }
    this.#lists.set(list, kept, bytes)
  }

  forget(list: string): void {
    this.#lists.delete(list)
  }
}

const byNumber = ([a]: readonly [number, unknown], [b]: readonly [number, unknown]): number => a - b

/** Strings take two bytes a character in memory, plus some for the object around them. */
const bytesOf = (value: unknown): number =>
  typeof value === 'string' ? 2 * value.length + 64 : 128
