/** Gives back the entry that comes first in the order given. */
export class Heap<T> {
  readonly #entries: T[] = []
  readonly #isBefore: (a: T, b: T) => boolean

  constructor(isBefore: (a: T, b: T) => boolean) {
    this.#isBefore = isBefore
  }

  peek(): T | undefined {
    return this.#entries[0]
  }

  push(entry: T): void {
    const entries = this.#entries
    let at = entries.push(entry) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.#isBefore(entry, entries[parent] as T)) break
      entries[at] = entries[parent] as T
      at = parent
    }
    entries[at] = entry
  }

  pop(): T | undefined {
    const entries = this.#entries
    const first = entries[0]
    const last = entries.pop()
    if (last === undefined || entries.length === 0) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= entries.length) break
      const right = child + 1
      if (right < entries.length && this.#isBefore(entries[right] as T, entries[child] as T)) {
        child = right
      }
      if (!this.#isBefore(entries[child] as T, last)) break
      entries[at] = entries[child] as T
      at = child
    }
    entries[at] = last
    return first
  }
}
