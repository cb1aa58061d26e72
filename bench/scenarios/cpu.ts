// The CPU time of the engine for a push or a pop, compared with one bare call of the SDK. The bare call is the same
// update that the engine sent, sent again by the same document client to a copy of the record as it was before (put
// there unmeasured), with the same values coming back. The engine's side is everything it did, including reads and
// seals. Measured in turns, so that the machine's variations hit both. Once on the lean client, which the service's
// functions use, and once on the SDK's, which is the library's default.

import {
  DynamoDBDocumentClient,
  PutCommand,
  UpdateCommand,
  type UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb'
import { createLeanDynamodb } from '../../aws/lean-client.ts'
import { recordKey } from '../../engine/core/keys.ts'
import type { Queues } from '../../engine/queues.ts'
import { type Bench, bucketName, type Scenario, tableName } from '../bench.ts'
import { openQueues } from '../engine.ts'
import { fill } from '../fixture.ts'
import { createItems } from '../items.ts'
import type { Command, Input, Row, Sender } from '../metering/commands.ts'
import { verbOf } from '../metering/commands.ts'
import { cpuMs } from '../metering/cpu.ts'
import { atMost, rowsOf } from '../rows.ts'

const BLOCK = 40

type Sent = { readonly input: Input; readonly before: Row }
type Operation = (queues: Queues, queue: string) => Promise<unknown>
type Client = 'lean' | 'SDK'
type Measured = { readonly bareMs: number; readonly engineMs: Readonly<Record<Client, number>> }

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
  let record: Row | undefined
  return {
    sent,
    /** Housekeeping may have changed the record. */
    forget() {
      sent.length = 0
      record = undefined
    },
    async send(command: Command) {
      const answer: { Attributes?: Row } = await inner.send(command)
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
