// The messages that a FIFO queue has accepted in the last five minutes. It remembers a message even if somebody has
// received and deleted it meanwhile.

/** SQS's own; nobody can set it. */
const REMEMBERED_MS = 300_000

export type Duplicate = {
  readonly key: string
  readonly id: string
  readonly sequence: string
  readonly untilMs: number
}

export class Duplicates {
  /** The oldest first. */
  readonly #byKey = new Map<string, Duplicate>()

  find(key: string, nowMs: number): Duplicate | undefined {
    const found = this.#byKey.get(key)
    return found && found.untilMs > nowMs ? found : undefined
  }

  remember(key: string, id: string, sequence: string, nowMs: number): Duplicate {
    const duplicate = { key, id, sequence, untilMs: nowMs + REMEMBERED_MS }
    this.restore(duplicate)
    return duplicate
  }

  restore(duplicate: Duplicate): void {
    // Delete it first, so that the new entry comes at the end.
    this.#byKey.delete(duplicate.key)
    this.#byKey.set(duplicate.key, duplicate)
  }

  /** Whether there was something to forget. */
  forget(nowMs: number): boolean {
    let forgot = false
    for (const { key, untilMs } of this.#byKey.values()) {
      if (untilMs > nowMs) break
      this.#byKey.delete(key)
      forgot = true
    }
    return forgot
  }
}
