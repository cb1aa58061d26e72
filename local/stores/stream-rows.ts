// Works on dynoxide's own rows of the streams, beside dynoxide.
//
// Each write to a table with a stream looks for the highest sequence number, which dynoxide does
// without an index: 1,200 writes a second become 450 after 20,000 records. With the index below they
// stay at 1,400. dynoxide also keeps each record for 24 hours, though nobody reads
// it again once every mapping is past it.

import { DatabaseSync } from 'node:sqlite'

/** Longer than dynoxide writes at once, on any machine that works. */
const INDEX_WAITS_MS = 5_000
/** S3 and SQS, in this process, wait with it; and a trim comes every second. */
const TRIM_WAITS_MS = 200
const SQLITE_BUSY = 5

/** A delete holds the one lock that dynoxide writes under; so many rows take some milliseconds. */
const ROWS_PER_DELETE = 2_000

export class StreamRows {
  readonly #database: DatabaseSync

  constructor(file: string) {
    this.#database = new DatabaseSync(file)
  }

  /** Call this once a table with a stream exists. */
  addIndex(): void {
    this.#waitFor(INDEX_WAITS_MS)
    this.#database.exec(
      'CREATE INDEX IF NOT EXISTS pushpop_stream ON _stream_records ' +
        '(table_name, CAST(sequence_number AS INTEGER))',
    )
  }

  /**
   * Deletes the rows up to and including the sequence number, and returns how many there were. Deletes none while
   * dynoxide is busy: the next trim takes them along.
   */
  trim(tableName: string, sequenceNumber: string): number {
    this.#waitFor(TRIM_WAITS_MS)
    try {
      return this.#trim(tableName, sequenceNumber)
    } catch (error) {
      if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return 0
      throw error
    }
  }

  close(): void {
    this.#database.close()
  }

  #waitFor(ms: number): void {
    this.#database.exec(`PRAGMA busy_timeout = ${ms}`)
  }

  #trim(tableName: string, sequenceNumber: string): number {
    const { changes } = this.#database
      .prepare(
        'DELETE FROM _stream_records WHERE id IN (' +
          'SELECT id FROM _stream_records WHERE table_name = :table ' +
          'AND CAST(sequence_number AS INTEGER) <= CAST(:to AS INTEGER) ' +
          // Without its newest record a stream begins to number at 1 again.
          'AND CAST(sequence_number AS INTEGER) < (SELECT MAX(CAST(sequence_number AS INTEGER)) ' +
          'FROM _stream_records WHERE table_name = :table) ' +
          'ORDER BY CAST(sequence_number AS INTEGER) LIMIT :rows)',
      )
      .run({ table: tableName, to: sequenceNumber, rows: ROWS_PER_DELETE })
    return Number(changes)
  }
}
