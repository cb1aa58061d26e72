// SQS in this process: the JSON protocol of the AWS SDK on a port of this machine, over the queues and their file. A
// request is answered once its changes are in the file, so they survive the end of the process, however it ends. (Not a
// power cut of the machine in the same moment: that would take a sync of the disk for each request.)

import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import {
  isFromAPage,
  KEEP_ALIVE_MS,
  type LocalServer,
  NOT_FOR_PAGES,
  readText,
  serveProcesses,
} from '../loopback.ts'
import { cannotUse, messageOf } from '../start-error.ts'
import { isObject } from '../template/assembly.ts'
import { actions, receiveMessage } from './actions.ts'
import type { Delivery, Message } from './core/message.ts'
import { type Clockwork, LongPolls, Queues } from './core/queues.ts'
import type { Change, Duplicate } from './core/shelf.ts'
import { SqsError } from './core/sqs-error.ts'
import type { Input } from './input.ts'

type SqsSettings = {
  /** Of SQLite. */
  readonly file: string
  /** The file cannot be written: what memory holds is no longer what a restart would find. */
  readonly onBroken: (error: unknown) => void
  readonly clock?: Clockwork | undefined
}

/** A batch of 1 MiB in which each character is escaped. */
const BODY_BYTES_MAX = 8 * 1_048_576

type Answer = { readonly status: number; readonly output: object; readonly code?: string }

export async function startSqs(settings: SqsSettings): Promise<LocalServer> {
  const sqs = new Sqs(settings)
  const { endpoint, stop } = await serveProcesses(
    (request, response) => sqs.serve(request, response),
    { keepAliveTimeout: KEEP_ALIVE_MS },
  )
  return { endpoint, stop: () => sqs.stop(stop) }
}

class Sqs {
  readonly #settings: SqsSettings
  readonly #clock: Clockwork
  readonly #queues: Queues
  readonly #polls: LongPolls
  readonly #file: QueueFile
  #isStopped = false

  constructor(settings: SqsSettings) {
    const { clock = { nowMs: Date.now, random: Math.random } } = settings
    this.#settings = settings
    this.#clock = clock
    this.#queues = new Queues(clock)
    this.#polls = new LongPolls(this.#queues, clock)
    try {
      this.#file = new QueueFile(settings.file)
      this.#file.restore(this.#queues, clock.nowMs())
    } catch (error) {
      throw cannotUse(settings.file, error)
    }
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    const { status, output, code } = await this.#answer(request, gone.signal)
    response.writeHead(status, {
      'content-type': 'application/x-amz-json-1.0',
      'x-amzn-requestid': randomUUID(),
      ...(code !== undefined && { 'x-amzn-query-error': `${code};Sender` }),
    })
    response.end(JSON.stringify(output))
  }

  stop(stopServer: () => void): void {
    this.#isStopped = true
    this.#polls.stop()
    stopServer()
    this.#file.close()
  }

  async #answer(request: IncomingMessage, gone: AbortSignal): Promise<Answer> {
    const { headers } = request
    if (isFromAPage(headers)) {
      return { status: 403, output: { __type: 'AccessDeniedException', message: NOT_FOR_PAGES } }
    }
    const name = String(headers['x-amz-target']).replace(/^AmazonSQS\./, '')
    try {
      const input = parse(await readText(request, BODY_BYTES_MAX))
      const output = await this.#run(name, input, `http://${headers.host}`, gone)
      this.#write()
      this.#polls.look()
      return { status: 200, output }
    } catch (error) {
      if (!(error instanceof SqsError)) return fault(error)
      // Even a refused request may have noticed that messages are too old.
      this.#write()
      const { status, type, code, message } = error
      return { status, output: { __type: type, message }, code }
    }
  }

  async #run(name: string, input: Input, origin: string, gone: AbortSignal): Promise<object> {
    const place = { queues: this.#queues, clock: this.#clock, origin }
    if (name === 'ReceiveMessage') return receiveMessage(input, place, this.#polls, gone)
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined
    if (action) return action(input, place)
    throw new SqsError('UnknownOperationException', `The local SQS does not know ${name}.`)
  }

  /** Call it before the answer goes out. */
  #write(): void {
    if (this.#isStopped) return
    try {
      this.#file.write(this.#queues.takeChanges())
    } catch (error) {
      this.#settings.onBroken(error)
      throw error
    }
  }
}

function fault(error: unknown): Answer {
  const message = `The local SQS failed, and whether the request had an effect is unknown: ${messageOf(error)}`
  return { status: 500, output: { __type: 'InternalFailure', message } }
}

function parse(text: string | undefined): Input {
  if (text === undefined) {
    throw new SqsError(
      'SerializationException',
      `The request has more than ${BODY_BYTES_MAX} bytes.`,
    )
  }
  try {
    const input: unknown = JSON.parse(text)
    if (isObject(input)) return input
  } catch {
    // Falls through to the same sentence.
  }
  throw new SqsError('SerializationException', 'The body of the request is not an object of JSON.')
}

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
