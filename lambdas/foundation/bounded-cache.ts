/** Keeps the most recently used values, up to a number of bytes (or of entries, if each counts one). */
export class BoundedCache<T> {
  readonly #sizeMax: number
  readonly #entries = new Map<string, { value: T; size: number }>()
  #size = 0
  /** Callers ask for the same key many times in a row; we move it to the end only once. */
  #newest: string | undefined

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    if (key !== this.#newest) {
      this.#entries.delete(key)
      this.#entries.set(key, entry)
      this.#newest = key
    }
    return entry.value
  }

  set(key: string, value: T, size = 1): void {
    this.delete(key)
    if (size > this.#sizeMax) return
    this.#entries.set(key, { value, size })
    this.#newest = key
    this.#size += size
    for (const oldest of this.#entries.keys()) {
      if (this.#size <= this.#sizeMax) return
      this.delete(oldest)
    }
  }

  delete(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    if (key === this.#newest) this.#newest = undefined
    this.#size -= entry.size
  }
}
