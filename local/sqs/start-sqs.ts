// SQS in this process: the JSON protocol of the AWS SDK on a port of this machine, over the queues and their file.

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isFromAPage, NOT_FOR_PAGES } from '../foreign-pages/from-a-page.ts'
import { cannotUse, messageOf } from '../start-error.ts'
import { isObject } from '../template/assembly.ts'
import { actions } from './actions.ts'
import { type Clockwork, Queues } from './core/queues.ts'
import { SqsError } from './core/sqs-error.ts'
import type { Input } from './input.ts'
import { LongPolls } from './long-polls.ts'
import { QueueFile } from './queue-file.ts'
import { receiveMessage } from './receive-message.ts'

export type EmbeddedSqs = { readonly endpoint: string; stop(): void }

type SqsSettings = {
  /** Of SQLite. */
  readonly file: string
  /** The file cannot be written: what memory holds is no longer what a restart would find. */
  readonly onBroken: (error: unknown) => void
  readonly clock?: Clockwork | undefined
}

/** A batch of 1 MiB in which each character is escaped. */
const BODY_BYTES_MAX = 8 * 1_048_576
/** Longer than clients keep a connection, so that we never close one that a client is about to use. */
const KEEP_ALIVE_MS = 75_000

type Answer = { readonly status: number; readonly output: object; readonly code?: string }

export async function startSqs(settings: SqsSettings): Promise<EmbeddedSqs> {
  const sqs = new Sqs(settings)
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    sqs.serve(request, response).catch(() => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { endpoint: `http://127.0.0.1:${port}`, stop: () => sqs.stop(server) }
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

  stop(server: Server): void {
    this.#isStopped = true
    this.#polls.stop()
    server.close()
    server.closeAllConnections()
    this.#file.close()
  }

  async #answer(request: IncomingMessage, gone: AbortSignal): Promise<Answer> {
    const { headers } = request
    if (isFromAPage(headers)) {
      return { status: 403, output: { __type: 'AccessDeniedException', message: NOT_FOR_PAGES } }
    }
    const name = String(headers['x-amz-target']).replace(/^AmazonSQS\./, '')
    try {
      const input = parse(await readText(request))
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

function parse(text: string): Input {
  try {
    const input: unknown = JSON.parse(text)
    if (isObject(input)) return input
  } catch {
    // Falls through to the same sentence.
  }
  throw new SqsError('SerializationException', 'The body of the request is not an object of JSON.')
}

async function readText(request: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes <= BODY_BYTES_MAX) chunks.push(chunk)
  }
  if (bytes <= BODY_BYTES_MAX) return Buffer.concat(chunks).toString('utf8')
  throw new SqsError('SerializationException', `The request has more than ${BODY_BYTES_MAX} bytes.`)
}
