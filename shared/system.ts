// What a process has of its own: time and randomness, which tests replace, and a memory that cannot grow without end.

export type Clock = {
  nowMs(): number
  /** Ends early when the signal comes, and never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** In place of a sleep while no lock is held: a test's clock moves on, and nobody waits. */
  skip?(ms: number, signal?: AbortSignal): Promise<void>
}
export type Random = () => number

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      const done = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      signal?.addEventListener('abort', done)
    }),
}

/** For what is stored as whole milliseconds: another clock, such as that of `performance`, may have fractions. */
export const inWholeMs = (clock: Clock): Clock => ({
  nowMs: () => Math.floor(clock.nowMs()),
  sleep: (ms, signal) => clock.sleep(ms, signal),
})

/** 32 bits at a time from the system's generator; each call into it fills a pool. */
export const secureRandom: Random = (() => {
  const pool = new Uint32Array(256)
  let used = pool.length
  return () => {
    if (used === pool.length) {
      crypto.getRandomValues(pool)
      used = 0
    }
    const value = pool[used] as number
    used += 1
    return value / 2 ** 32
  }
})()

/** 64 characters that keys, ids and entries may contain; none of them separates their parts. */
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_~'

export function randomText(random: Random, characters: number): string {
  let text = ''
  for (let i = 0; i < characters; i += 1) text += ALPHABET[Math.floor(random() * 64)]
  return text
}

/** FNV-1a, 32 bits, over UTF-8. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5
  for (const byte of new TextEncoder().encode(text)) {
    hash = Math.imul(hash ^ byte, 0x01000193)
  }
  return hash >>> 0
}

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
