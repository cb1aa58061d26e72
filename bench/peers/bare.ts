// The floor for the engine on the same store: the requests that the engine sent for as many pushes and pops, sent once
// more for another queue, signed without the SDK and without an engine. For single items, these are the updates of the
// queue's record, without the rows that the engine writes and reads now and then. For bulk, they include the batches
// in rows. They never include housekeeping.

import { Agent, request } from 'node:http'
import { encode, operationOf } from '../../aws/lean-client.ts'
import { Signer } from '../../aws/signing.ts'
import { recordKey } from '../../engine/core/keys.ts'
import { createLeanDynamodb } from '../../engine/index.ts'
import { connectEmbedded } from '../../testing/embedded.ts'
import { tableName } from '../bench.ts'
import { openQueues } from '../engine.ts'
import type { Command, Input, Sender } from '../metering/commands.ts'
import type { Addresses, SinglePeer } from './peer.ts'

const REGION = 'us-east-1'
const credentials = { accessKeyId: 'bench', secretAccessKey: 'bench' }

type Sent = { readonly target: string; readonly body: string }
/** The requests that each call of the engine sent. */
type Calls = readonly (readonly Sent[])[]
type Recorded = { readonly pushes: Calls; readonly pops: Calls }

type Stores = NonNullable<Addresses['stores']>
/** The texts of each push. */
type Pushes = readonly (readonly string[])[]

/** For queues with as many pushes as these have. */
export async function bareUpdates(
  { stores }: Addresses,
  queues: Readonly<Record<string, Pushes>>,
): Promise<SinglePeer> {
  if (stores === undefined) throw new Error('The bare updates need stores')
  const recorded = new Map<string, Recorded>()
  for (const [queue, pushes] of Object.entries(queues)) {
    recorded.set(queue, await record(stores, patternOf(queue), pushes))
  }
  const sender = createSender(new URL(stores.dynamodbEndpoint))
  const pushed = new Map<string, number>()

  async function send(requests: readonly Sent[] | undefined, queue: string): Promise<void> {
    if (requests === undefined) throw new Error(`There are not so many calls for ${queue}`)
    for (const { target, body } of requests) {
      await sender.send(target, body.replaceAll(`#${patternOf(queue)}`, `#bare-${queue}`))
    }
  }

  return {
    async push(queue) {
      const n = pushed.get(queue) ?? 0
      pushed.set(queue, n + 1)
      await send(recorded.get(queue)?.pushes[n], queue)
    },
    async drain(queue, items, batch) {
      const durationsMs: number[] = []
      for (let n = 0; n < items / batch; n++) {
        const startMs = performance.now()
        await send(recorded.get(queue)?.pops[n], queue)
        durationsMs.push(performance.now() - startMs)
      }
      return durationsMs
    },
    stop: async () => sender.stop(),
  }
}

const patternOf = (queue: string): string => `pattern-${queue}`

async function record(stores: Stores, queue: string, all: Pushes): Promise<Recorded> {
  const connections = connectEmbedded(stores)
  const endpoint = stores.dynamodbEndpoint
  const lean = createLeanDynamodb({ region: REGION, endpoint, credentials })
  const { pk } = recordKey(queue)
  const isBulk = all.some((texts) => texts.length > 1)
  let sent: Sent[] = []
  const dynamodb: Sender = {
    async send(command: Command) {
      const answer = (await lean.send(command)) as object
      const { Key, Item } = command.input as Input
      if (isBulk || (Key ?? Item)?.pk === pk) {
        const operation = operationOf(command)
        sent.push({ target: operation.name, body: encode(operation, command.input) })
      }
      return answer
    },
  }
  const s3 = connections.s3 as unknown as Sender
  const queues = openQueues({ tableName, bucketName: tableName, dynamodb, s3 })
  const sentBy = async (call: () => Promise<unknown>): Promise<readonly Sent[]> => {
    sent = []
    await call()
    return sent
  }

  const pushes: (readonly Sent[])[] = []
  for (const texts of all) {
    pushes.push(await sentBy(() => queues.push(queue, { items: texts.map((text) => ({ text })) })))
  }
  const pops: (readonly Sent[])[] = []
  let acknowledge: string | undefined
  for (const { length: count } of all) {
    const requests = await sentBy(async () => {
      const popped = await queues.pop(queue, { count, requireAck: true, acknowledge })
      acknowledge = popped.kind === 'items' ? popped.lock?.id : undefined
    })
    pops.push(requests)
  }
  lean.destroy()
  connections.disconnect()
  return { pushes, pops }
}

/** One connection, and nothing but Node's own client. */
function createSender({ host, hostname, port }: URL) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const signer = new Signer(REGION, host, '/')

  const send = (operation: string, body: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const target = `DynamoDB_20120810.${operation}`
      const headers = signer.headers(target, body, credentials, Date.now())
      const outgoing = request({ agent, hostname, port, method: 'POST', path: '/', headers })
      outgoing.once('error', reject)
      outgoing.once('response', (incoming) => {
        const chunks: Buffer[] = []
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
        incoming.once('error', reject)
        incoming.once('end', () => {
          const text = Buffer.concat(chunks).toString()
          if (incoming.statusCode === 200) resolve(text)
          else reject(new Error(`The store refused a bare ${operation}: ${text}`))
        })
      })
      outgoing.end(body)
    })

  return { send, stop: () => agent.destroy() }
}
