// The floor under the engine on the same store: the updates of the queue's record that the engine sent for as many
// pushes and pops, sent once more for another queue, signed by hand and without an engine. Neither the rows that it
// writes and reads now and then nor its housekeeping are among them.

import { Agent, request } from 'node:http'
import { recordKey } from '../../lambdas/engine/core/keys.ts'
import { createLeanDynamodb } from '../../lambdas/engine/index.ts'
import { encode, operationOf } from '../../lambdas/foundation/lean/operations.ts'
import { Signer } from '../../lambdas/foundation/lean/signature.ts'
import { connectEmbedded } from '../../testing/embedded.ts'
import { tableName } from '../bench.ts'
import { openQueues } from '../engine.ts'
import type { Command, Input, Sender } from '../metering/commands.ts'
import type { Addresses, SinglePeer } from './peer.ts'

const REGION = 'us-east-1'
const credentials = { accessKeyId: 'bench', secretAccessKey: 'bench' }

type Update = { readonly target: string; readonly body: string }
/** What each call of the engine sent to the record. */
type Calls = readonly (readonly Update[])[]
type Recorded = { readonly pushes: Calls; readonly pops: Calls }

type Stores = NonNullable<Addresses['stores']>
type Texts = readonly string[]

/** For queues with as many items as these have. */
export async function bareUpdates(
  { stores }: Addresses,
  queues: Readonly<Record<string, Texts>>,
): Promise<SinglePeer> {
  if (stores === undefined) throw new Error('The bare updates need stores')
  const recorded = new Map<string, Recorded>()
  for (const [queue, texts] of Object.entries(queues)) {
    recorded.set(queue, await record(stores, patternOf(queue), texts))
  }
  const sender = createSender(new URL(stores.dynamodbEndpoint))
  const pushed = new Map<string, number>()

  async function send(updates: readonly Update[] | undefined, queue: string): Promise<void> {
    if (updates === undefined) throw new Error(`There are not so many updates for ${queue}`)
    for (const { target, body } of updates) {
      await sender.send(target, body.replace(`q#${patternOf(queue)}"`, `q#bare-${queue}"`))
    }
  }

  return {
    async push(queue) {
      const n = pushed.get(queue) ?? 0
      pushed.set(queue, n + 1)
      await send(recorded.get(queue)?.pushes[n], queue)
    },
    async drain(queue, items) {
      const durationsMs: number[] = []
      for (let n = 0; n < items; n++) {
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

async function record(stores: Stores, queue: string, texts: Texts): Promise<Recorded> {
  const connections = connectEmbedded(stores)
  const endpoint = stores.dynamodbEndpoint
  const lean = createLeanDynamodb({ region: REGION, endpoint, credentials })
  const { pk } = recordKey(queue)
  let sent: Update[] = []
  const dynamodb: Sender = {
    async send(command: Command) {
      const answer = (await lean.send(command)) as object
      const { Key, Item } = command.input as Input
      if ((Key ?? Item)?.pk === pk) {
        const operation = operationOf(command)
        sent.push({ target: operation.name, body: encode(operation, command.input) })
      }
      return answer
    },
  }
  const s3 = connections.s3 as unknown as Sender
  const queues = openQueues({ tableName, bucketName: tableName, dynamodb, s3 })
  const sentBy = async (call: () => Promise<unknown>): Promise<readonly Update[]> => {
    sent = []
    await call()
    return sent
  }

  const pushes: (readonly Update[])[] = []
  for (const text of texts) {
    pushes.push(await sentBy(() => queues.push(queue, { items: [{ text }] })))
  }
  const pops: (readonly Update[])[] = []
  let acknowledge: string | undefined
  for (const _ of texts) {
    const updates = await sentBy(async () => {
      const popped = await queues.pop(queue, { requireAck: true, acknowledge })
      acknowledge = popped.kind === 'items' ? popped.lock?.id : undefined
    })
    pops.push(updates)
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
