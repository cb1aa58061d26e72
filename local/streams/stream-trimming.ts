// Deletes the records of a stream that every mapping of its table is past.

import type { Position } from './stream-reader.ts'

/** A delete takes as many rows as are written in a second and more; see stream-rows.ts. */
const TRIM_EVERY_MS = 1_000

export class StreamTrimming {
  readonly #trim: (tableName: string, sequenceNumber: string) => void
  /** By table, then by mapping. */
  readonly #positions = new Map<string, Map<string, bigint | undefined>>()
  readonly #due = new Set<string>()
  #timer: NodeJS.Timeout | undefined

  constructor(trim: (tableName: string, sequenceNumber: string) => void) {
    this.#trim = trim
  }

  /** Call this for each mapping before any of them is past a record. */
  add(tableName: string, mappingId: string): void {
    const positions = this.#positions.get(tableName) ?? new Map<string, bigint | undefined>()
    this.#positions.set(tableName, positions.set(mappingId, undefined))
  }

  past(tableName: string, mappingId: string, { sequenceNumber }: Position): void {
    this.#positions.get(tableName)?.set(mappingId, BigInt(sequenceNumber))
    this.#due.add(tableName)
    this.#timer ??= setTimeout(() => this.#run(), TRIM_EVERY_MS).unref()
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #run(): void {
    this.#timer = undefined
    for (const tableName of this.#due) {
      const lowest = lowestOf([...(this.#positions.get(tableName)?.values() ?? [])])
      if (lowest !== undefined) this.#trim(tableName, String(lowest))
    }
    this.#due.clear()
  }
}

/** `undefined` while one of them has not said where it is. */
function lowestOf(positions: readonly (bigint | undefined)[]): bigint | undefined {
  return positions.reduce((lowest, position) =>
    lowest === undefined || position === undefined || position < lowest ? position : lowest,
  )
}
