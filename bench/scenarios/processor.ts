// The processor time of a call in the engine, of a handler on top of it, and of a cold start.

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import {
  DynamoDBDocumentClient,
  PutCommand,
  UpdateCommand,
  type UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb'
import type { DocumentPort } from '../../aws/dynamo.ts'
import { createLeanDynamodb } from '../../aws/lean-client.ts'
import type { ObjectPort } from '../../aws/objects.ts'
import { recordKey } from '../../engine/core/keys.ts'
import type { Queues } from '../../engine/queues.ts'
import { pushEndpoints } from '../../lambdas/http/push.ts'
import { httpHandler } from '../../lambdas/http/stack.ts'
import { createLog } from '../../lambdas/runtime/log.ts'
import { createQueuesOn } from '../../lambdas/runtime/services.ts'
import { bundleFunction } from '../../lib/bundling/consumer-bundle.ts'
import { type Bench, bucketName, type Scenario, tableName } from '../bench.ts'
import { fill, openQueues } from '../fixture.ts'
import { createItems, quantile } from '../load.ts'
import { type Command, type Input, type Sender, type StoredRow, verbOf } from '../metered-stores.ts'
import { atMost, type Row, rowsOf } from '../report.ts'

const BLOCK = 40

type Sent = { readonly input: Input; readonly before: StoredRow }
type Operation = (queues: Queues, queue: string) => Promise<unknown>
type Client = 'lean' | 'SDK'
type Measured = { readonly bareMs: number; readonly engineMs: Readonly<Record<Client, number>> }

/**
 * The CPU time of the engine for a push or a pop, compared with one bare call of the SDK. The bare call is the same
 * update that the engine sent, sent again by the same document client to a copy of the record as it was before (put
 * there unmeasured), with the same values coming back. The engine's side is everything it did, including reads and
 * seals. Measured in turns, so that the machine's variations hit both. Once on the lean client, which the service's
 * functions use, and once on the SDK's, which is the library's default.
 */
export const cpu: Scenario = {
  name: 'cpu',
  title: 'CPU of a push or pop in the engine',
  async run(bench) {
    const { bar, info } = rowsOf(this.title)
    const item = createItems(10)
    const operations: [string, Operation][] = [
      ['push', (queues, queue) => queues.push(queue, { items: [{ text: item(200) }] })],
      ['pop', (queues, queue) => queues.pop(queue)],
    ]
    const rows = []
    for (const [verb, operation] of operations) {
      const { engineMs, bareMs } = await measure(bench, verb, operation)
      const times = (client: Client): number => engineMs[client] / bareMs
      rows.push(
        bar(`${verb}, lean client: times the bare call`, times('lean'), atMost(1), {
          aim: atMost(0.6),
        }),
        bar(`${verb}, SDK's client: times the bare call`, times('SDK'), atMost(1.5), {
          aim: atMost(1.2),
        }),
        info(`${verb}, lean client: ms in the engine`, engineMs.lean),
        info(`${verb}, SDK's client: ms in the engine`, engineMs.SDK),
        info(`${verb}: ms of the bare call`, bareMs),
      )
    }
    return rows
  },
}

async function measure(bench: Bench, verb: string, operation: Operation): Promise<Measured> {
  const warmUpBlocks = bench.quick ? 10 : 50
  const blocks = bench.quick ? 15 : 100
  const documents = DynamoDBDocumentClient.from(bench.embedded.dynamodb)
  const items = (warmUpBlocks + blocks + 1) * BLOCK
  const sides = {
    lean: await openSide(bench, leanOn(bench), items),
    SDK: await openSide(bench, documents as unknown as Sender, items),
  }
  const replay = createReplay(documents, bench.queueName('mirror'))
  const housekeeping = openQueues(bench.store({ latency: 'none' }))

  const engineMs = { lean: 0, SDK: 0 }
  let bareMs = 0
  for (let block = 0; block < warmUpBlocks + blocks; block++) {
    if (block % 10 === 0) bench.progress(`${verb}: block ${block} of ${warmUpBlocks + blocks}`)
    const isMeasured = block >= warmUpBlocks
    for (const client of ['lean', 'SDK'] as const) {
      const { queue, queues, recorder } = sides[client]
      await housekeeping.housekeep(queue)
      recorder.forget()
      const ms = await cpuMs(async () => {
        for (let i = 0; i < BLOCK; i++) await operation(queues, queue)
      })
      if (isMeasured) engineMs[client] += ms / BLOCK / blocks
    }
    // Both have sent the same requests, so we replay only one of them, through the SDK's client.
    const ms = await replay(sides.SDK.recorder.sent)
    if (isMeasured) bareMs += ms / blocks
  }
  return { engineMs, bareMs }
}

/** A filled queue, and an engine for it on that client. */
async function openSide(bench: Bench, client: Sender, items: number) {
  const queue = bench.queueName('cpu')
  await fill(bench, queue, { items, perPush: 100, item: createItems(11) })
  const recorder = createRecorder(client, recordKey(queue).pk)
  const s3 = bench.embedded.s3 as unknown as Sender
  return { queue, recorder, queues: openQueues({ tableName, bucketName, dynamodb: recorder, s3 }) }
}

/** On the same endpoint, with its own connections. */
const leanOn = ({ embedded: { dynamodbEndpoint } }: Bench): Sender =>
  createLeanDynamodb({
    region: 'us-east-1',
    endpoint: dynamodbEndpoint,
    credentials: { accessKeyId: 'bench', secretAccessKey: 'bench' },
  }) as unknown as Sender

/** Passes everything on, and keeps each update of the record with the record it met. */
function createRecorder(inner: Sender, pk: string) {
  const sent: Sent[] = []
  let record: StoredRow | undefined
  return {
    sent,
    /** Housekeeping may have changed the record. */
    forget() {
      sent.length = 0
      record = undefined
    },
    async send(command: Command) {
      const answer: { Attributes?: StoredRow } = await inner.send(command)
      const input = command.input as Input
      if (verbOf(command) !== 'update' || input.Key?.pk !== pk) return answer
      if (record !== undefined) sent.push({ input, before: record })
      record = answer.Attributes
      return answer
    },
  }
}

/** Milliseconds of CPU a call. */
function createReplay(documents: DynamoDBDocumentClient, name: string) {
  const Key = recordKey(name)
  return async (sent: readonly Sent[]): Promise<number> => {
    let total = 0
    for (const { input, before } of sent) {
      await documents.send(new PutCommand({ TableName: tableName, Item: { ...before, ...Key } }))
      const again = { ...input, TableName: tableName, Key } as UpdateCommandInput
      const ms = await cpuMs(() => documents.send(new UpdateCommand(again)))
      total += ms
    }
    return total / Math.max(1, sent.length)
  }
}

const example = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../events/push.json'), 'utf8'),
)

/**
 * The CPU time of a handler on top of the engine: a push by an event of the gateway, compared with the same push by
 * the engine alone. In turns, each to its own queue, on one document client.
 */
export const handlerCpu: Scenario = {
  name: 'handler-cpu',
  title: 'CPU of a push by HTTP',
  async run(bench) {
    const { bar, info } = rowsOf(this.title)
    const documents = DynamoDBDocumentClient.from(bench.embedded.dynamodb)
    const { s3 } = bench.embedded
    const log = createLog({ level: 'info', service: 'bench', write: () => {} })
    const environment = { PUSHPOP_TABLE: tableName, PUSHPOP_BUCKET: bucketName }
    const behindHttp = createQueuesOn(
      environment,
      log,
      documents as unknown as DocumentPort,
      async () => s3 as unknown as ObjectPort,
    )
    const handler = httpHandler('Push', log, pushEndpoints(behindHttp))
    const engine = openQueues({
      tableName,
      bucketName,
      dynamodb: documents as unknown as Sender,
      s3: s3 as unknown as Sender,
    })
    const item = createItems(12)
    const [byHandler, byEngine] = [bench.queueName('handler'), bench.queueName('engine')]
    const pushByHandler = async () => {
      const { statusCode, body } = await handler(pushEvent(byHandler, item(200)), {
        awsRequestId: 'bench',
      })
      if (statusCode !== 200) throw new Error(`A push was answered ${statusCode}: ${body}`)
    }
    const pushByEngine = () => engine.push(byEngine, { items: [{ text: item(200) }] })

    const blocks = bench.quick ? 20 : 100
    const warmUpBlocks = blocks / 2
    let [handlerMs, engineMs] = [0, 0]
    for (let block = 0; block < warmUpBlocks + blocks; block += 1) {
      if (block % 10 === 0) bench.progress(`block ${block} of ${warmUpBlocks + blocks}`)
      // The second one finds the caches warm, so they take turns.
      const first = block % 2 === 0 ? pushByHandler : pushByEngine
      const firstMs = await blockMs(first)
      const secondMs = await blockMs(first === pushByHandler ? pushByEngine : pushByHandler)
      if (block < warmUpBlocks) continue
      handlerMs += first === pushByHandler ? firstMs : secondMs
      engineMs += first === pushByHandler ? secondMs : firstMs
    }
    return [
      bar('handler: times the engine alone', handlerMs / engineMs, atMost(1.3)),
      info('handler and engine, ms a push', handlerMs / blocks / BLOCK),
      info('engine alone, ms a push', engineMs / blocks / BLOCK),
    ]
  },
}

const blockMs = (push: () => Promise<unknown>): Promise<number> =>
  cpuMs(async () => {
    for (let i = 0; i < BLOCK; i += 1) await push()
  })

/** An event as the gateway sends it, with a handful of headers. */
const pushEvent = (queue: string, text: string) => ({
  ...example,
  rawPath: `/queue/${queue}/push`,
  headers: { ...example.headers, 'content-length': String(text.length + 10) },
  pathParameters: { id: queue },
  body: `{"item": ${text}}`,
})

const RUNS = 20
const KILOBYTE = 1024

const handlers = join(import.meta.dirname, '../../lambdas/handlers')
const entries = {
  bare: join(import.meta.dirname, '../baselines/bare-handler.ts'),
  push: join(handlers, 'push.ts'),
  pop: join(handlers, 'pop.ts'),
  'push on the SDK': join(import.meta.dirname, '../baselines/push-on-sdk.ts'),
} as const
type Name = keyof typeof entries

/**
 * The computing time of a cold start: importing a bundle, which constructs its clients and the engine, in a
 * fresh process each time. Compared, in turns, with a handler that has only the DynamoDB client, bundled with the
 * same options; and with the push function on the SDK's client. Also how much is loaded: the bytes of each bundle.
 */
export const coldStart: Scenario = {
  name: 'cold-start',
  title: 'cold start: import and construct in a fresh process',
  async run(bench) {
    const { bar, info } = rowsOf(this.title)
    const folder = await mkdtemp(join(tmpdir(), 'pushpop-cold-start-'))
    try {
      const bundles = Object.entries(entries).map(([name, entry]) => {
        const outdir = join(folder, name)
        return {
          name: name as Name,
          outdir,
          bundle: bundleFunction(entry, outdir, { sourceMap: false }),
        }
      })
      const times = new Map<Name, number[]>(bundles.map(({ name }) => [name, []]))
      const runs = bench.quick ? 5 : RUNS
      // The first round reads the files from the disk, so we do not count it.
      for (let run = 0; run <= runs; run += 1) {
        bench.progress(`cold start ${run} of ${runs}`)
        for (const { name, outdir } of bundles) {
          const ms = await startOnce(outdir)
          if (run > 0) times.get(name)?.push(ms)
        }
      }
      const medianMs = (name: Name) => quantile(times.get(name) ?? [], 0.5)
      const rows: Row[] = [info('bare DynamoDB client, ms', medianMs('bare'))]
      for (const { name, bundle } of bundles) {
        if (name === 'bare') continue
        const times = medianMs(name) / medianMs('bare')
        const metric = `${name}: times the bare client`
        rows.push(
          name === 'push on the SDK'
            ? info(metric, times)
            : bar(metric, times, atMost(1.15), { aim: atMost(0.7) }),
          info(`${name}: ms`, medianMs(name)),
          info(`${name}: KB at the start`, bundle.bytesAtStart / KILOBYTE),
          info(`${name}: KB when first needed`, bundle.bytesLazy / KILOBYTE),
        )
      }
      return rows
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
}

const run = promisify(execFile)

async function startOnce(outdir: string): Promise<number> {
  const url = pathToFileURL(join(outdir, 'index.mjs')).href
  const script = `const from = performance.now(); await import(${JSON.stringify(url)}); console.log(performance.now() - from); process.exit()`
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], {
    env: {
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'bench',
      AWS_SECRET_ACCESS_KEY: 'bench',
      PUSHPOP_TABLE: 'table',
      PUSHPOP_BUCKET: 'bucket',
    },
  })
  return Number(stdout)
}

/** Milliseconds of CPU that this process used meanwhile. */
async function cpuMs(action: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await action()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
