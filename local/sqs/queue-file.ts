// The queues in a file of SQLite. A request is answered once its changes are in there, so they survive the end of the
// process, however it ends. (Not a power cut of the machine in the same moment: that would take a sync of the disk for
// each request.)

import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { Change } from './core/change.ts'
import type { Duplicate } from './core/duplicates.ts'
import type { Delivery, Message } from './core/message.ts'
import type { Queues } from './core/queues.ts'

const TABLES = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS queue (
    name TEXT PRIMARY KEY, attributes TEXT, created_ms INTEGER, modified_ms INTEGER, sequence TEXT
  ) STRICT;
  CREATE TABLE IF NOT EXISTS message (
    id TEXT PRIMARY KEY, queue TEXT, sequence TEXT, content TEXT, delivery TEXT
  ) STRICT;
  CREATE INDEX IF NOT EXISTS message_of_queue ON message (queue, sequence);
  CREATE TABLE IF NOT EXISTS duplicate (
    queue TEXT, key TEXT, id TEXT, sequence TEXT, until_ms INTEGER, PRIMARY KEY (queue, key)
  ) STRICT;
  CREATE INDEX IF NOT EXISTS duplicate_until ON duplicate (queue, until_ms)`

const statements = {
  queue: `INSERT INTO queue VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
    attributes = excluded.attributes, modified_ms = excluded.modified_ms, sequence = excluded.sequence`,
  sequence: 'UPDATE queue SET sequence = ? WHERE name = ?',
  dropQueue: 'DELETE FROM queue WHERE name = ?',
  dropMessages: 'DELETE FROM message WHERE queue = ?',
  dropDuplicates: 'DELETE FROM duplicate WHERE queue = ?',
  send: 'INSERT INTO message VALUES (?, ?, ?, ?, ?)',
  deliver: 'UPDATE message SET delivery = ? WHERE id = ?',
  remove: 'DELETE FROM message WHERE id = ?',
  remember: 'INSERT OR REPLACE INTO duplicate VALUES (?, ?, ?, ?, ?)',
  forget: 'DELETE FROM duplicate WHERE queue = ? AND until_ms <= ?',
} as const

type Row = Readonly<Record<string, string | number>>

export class QueueFile {
  readonly #database: DatabaseSync
  readonly #prepared: Readonly<Record<keyof typeof statements, StatementSync>>

  constructor(file: string) {
    this.#database = new DatabaseSync(file)
    this.#database.exec(TABLES)
    this.#prepared = Object.fromEntries(
      Object.entries(statements).map(([name, sql]) => [name, this.#database.prepare(sql)]),
    ) as Record<keyof typeof statements, StatementSync>
  }

  /** Fills the queues with what is in the file. */
  restore(queues: Queues, nowMs: number): void {
    for (const row of this.#all('SELECT * FROM queue')) {
      const name = String(row.name)
      const queue = queues.restore({
        name,
        attributes: JSON.parse(String(row.attributes)),
        createdAtMs: Number(row.created_ms),
        modifiedAtMs: Number(row.modified_ms),
        sequence: String(row.sequence),
      })
      const ofQueue = 'WHERE queue = ? ORDER BY'
      for (const { content, delivery } of this.#all(
        `SELECT * FROM message ${ofQueue} sequence`,
        name,
      )) {
        const message: Message = JSON.parse(String(content))
        queue.restoreMessage({ ...message, delivery: JSON.parse(String(delivery)) }, nowMs)
      }
      for (const one of this.#all(`SELECT * FROM duplicate ${ofQueue} until_ms`, name)) {
        const duplicate: Duplicate = {
          key: String(one.key),
          id: String(one.id),
          sequence: String(one.sequence),
          untilMs: Number(one.until_ms),
        }
        queue.restoreDuplicate(duplicate)
      }
      queue.applyDelay(nowMs)
    }
  }

  /** All of them or none. */
  write(changes: readonly Change[]): void {
    if (changes.length === 0) return
    this.#database.exec('BEGIN')
    try {
      for (const change of changes) this.#write(change)
      this.#database.exec('COMMIT')
    } catch (error) {
      this.#database.exec('ROLLBACK')
      throw error
    }
  }

  close(): void {
    this.#database.close()
  }

  #write(change: Change): void {
    const run = this.#prepared
    switch (change.kind) {
      case 'queue': {
        const { name, attributes, createdAtMs, modifiedAtMs, sequence } = change.record
        run.queue.run(name, JSON.stringify(attributes), createdAtMs, modifiedAtMs, sequence)
        return
      }
      case 'queue gone':
        run.dropQueue.run(change.queue)
        run.dropMessages.run(change.queue)
        run.dropDuplicates.run(change.queue)
        return
      case 'sent': {
        const { queue, message } = change
        const { delivery, ...content } = message
        // A message that another queue gave up keeps its id, and is gone from there by now.
        run.send.run(message.id, queue, message.sequence, JSON.stringify(content), textOf(delivery))
        run.sequence.run(message.sequence, queue)
        return
      }
      case 'delivered':
        run.deliver.run(textOf(change.delivery), change.id)
        return
      case 'gone':
        run.remove.run(change.id)
        return
      case 'remembered': {
        const { key, id, sequence, untilMs } = change.duplicate
        run.remember.run(change.queue, key, id, sequence, untilMs)
        return
      }
      case 'forgotten':
        run.forget.run(change.queue, change.untilMs)
        return
      default:
        change satisfies never
    }
  }

  #all(sql: string, ...parameters: string[]): readonly Row[] {
    return this.#database.prepare(sql).all(...parameters) as readonly Row[]
  }
}

const textOf = (delivery: Delivery): string => JSON.stringify(delivery)
