// PushPop: the engine with the lean client on the embedded stores, and the client over HTTP. Both settle an item with
// the pop of the next, as docs/engine.md and docs/client.md advise. Housekeeping runs as the table's stream would call it.
// Also the floor below the engine: its requests alone.

import { Agent, request } from 'node:http'
import { encode, operationOf } from '../../aws/lean-client.ts'
import { Signer } from '../../aws/signing.ts'
import { createClient, type Json } from '../../client/index.ts'
import { recordKey } from '../../engine/core/keys.ts'
import { createLeanDynamodb } from '../../engine/index.ts'
import { connectEmbedded } from '../../testing/embedded.ts'
import { tableName } from '../bench.ts'
import { createHousekeeper, openQueues } from '../fixture.ts'
import type { Command, Input, Sender, StoredRow } from '../metered-stores.ts'
import { type Addresses, AT_ONCE, eachOf, type OnItem, type Peer, type SinglePeer } from './peer.ts'

const REGION = 'us-east-1'
const credentials = { accessKeyId: 'bench', secretAccessKey: 'bench' }

type Verbs = {
  push(queue: string, texts: readonly string[]): Promise<unknown>
  /** Settles what the lock holds, if there is one, and takes the next items. */
  pop(queue: string, count: number, held: string | undefined): Promise<Taken | undefined>
  acknowledge(queue: string, lock: string): Promise<unknown>
}
type Taken = { readonly lock: string; readonly texts: readonly string[] }

export const pushPopEngine = ({ stores }: Addresses): Promise<Peer> => engineOn(stores)

/** In memory, because the embedded store's disk writes say nothing about DynamoDB, which is durable in another way. */
export const pushPopInMemory = ({ storesInMemory }: Addresses): Promise<Peer> =>
  engineOn(storesInMemory)

async function engineOn(stores: Addresses['stores']): Promise<Peer> {
  if (stores === undefined) throw new Error('The engine needs stores')
  const connections = connectEmbedded(stores)
  const lean = createLeanDynamodb({
    region: REGION,
    endpoint: stores.dynamodbEndpoint,
    credentials,
  })
  const counted = countRequests(lean as unknown as Sender, (row) => housekeeper.onRow(row))
  const store = { tableName, bucketName: tableName, dynamodb: counted.sender }
  const queues = openQueues({ ...store, s3: connections.s3 as unknown as Sender })
  const housekeeper = createHousekeeper(() => queues)
  const peer = peerOf({
    push: (queue, texts) => queues.push(queue, { items: texts.map((text) => ({ text })) }),
    async pop(queue, count, held) {
      const popped = await queues.pop(queue, { count, requireAck: true, acknowledge: held })
      if (popped.kind !== 'items' || popped.lock === undefined) return undefined
      return { lock: popped.lock.id, texts: popped.items.map(({ text }) => text) }
    },
    acknowledge: (queue, lockId) => queues.acknowledge(queue, { lockId }),
  })
  return {
    ...peer,
    /** Nobody polls: an event calls the function of a queue that has items. Only the sweeper runs. */
    async wait() {
      const timer = setInterval(() => void queues.returnExpiredLocks(), 60_000)
      await queues.returnExpiredLocks()
      return async () => clearInterval(timer)
    },
    tidy: () => housekeeper.idle(),
    requests: async () => counted.requests(),
    async stop() {
      await housekeeper.idle()
      connections.disconnect()
    },
  }
}

export function pushPopOverHttp({ url }: Addresses): Promise<Peer> {
  if (url === undefined) throw new Error('The client needs a url')
  let requests = 0
  const client = createClient({
    url,
    fetch(input, init) {
      requests += 1
      return fetch(input, init)
    },
  })
  const peer = peerOf({
    push(queue, texts) {
      const [only] = texts
      if (texts.length === 1 && only !== undefined) return client.queue(queue).push(only)
      return client.queue(queue).pushMany(texts.map((item) => ({ item })))
    },
    async pop(queue, count, held) {
      const popped = await client
        .queue<Json>(queue)
        .pop({ count, requireAck: true, acknowledge: held })
      if (popped.lock === undefined) return undefined
      return { lock: popped.lock.id, texts: popped.items.map(({ value }) => value as string) }
    },
    acknowledge: (queue, lock) => client.queue(queue).acknowledge(lock),
  })
  return Promise.resolve({
    ...peer,
    wait: async () => async () => {},
    requests: async () => requests,
    stop: async () => {},
  })
}

function peerOf({ push, pop, acknowledge }: Verbs): Omit<Peer, 'wait' | 'requests' | 'stop'> {
  async function drain(
    queue: string,
    items: number,
    batch: number,
    onItem: OnItem,
  ): Promise<readonly number[]> {
    const durationsMs: number[] = []
    let held: string | undefined
    for (let taken = 0; taken < items; ) {
      const startMs = performance.now()
      const popped = await pop(queue, batch, held)
      if (popped === undefined)
        throw new Error(`${queue} is empty after ${taken} of ${items} items`)
      held = popped.lock
      taken += popped.texts.length
      for (const text of popped.texts) onItem(queue, text)
      durationsMs.push(performance.now() - startMs)
    }
    if (held !== undefined) await acknowledge(queue, held)
    return durationsMs
  }
  return {
    async push(queue, texts) {
      await push(queue, texts)
    },
    drain,
    openTenants: async () => {},
    async pushTo(tenant, texts) {
      await push(tenant, texts)
    },
    drainTenants(tenants, items, onItem) {
      const each = items / tenants.length
      return eachOf(tenants, AT_ONCE, async (tenant) => {
        await drain(tenant, each, each, onItem)
      })
    },
  }
}

function countRequests(inner: Sender, onRow: (row: StoredRow) => void) {
  let requests = 0
  const sender: Sender = {
    async send(command: Command) {
      requests += 1
      const answer: { Attributes?: StoredRow } = await inner.send(command)
      if (answer.Attributes?.work !== undefined) onRow(answer.Attributes)
      return answer
    },
  }
  return { sender, requests: () => requests }
}

type Sent = { readonly target: string; readonly body: string }
/** The requests that each call of the engine sent. */
type Calls = readonly (readonly Sent[])[]
type Recorded = { readonly pushes: Calls; readonly pops: Calls }

type Stores = NonNullable<Addresses['stores']>
/** The texts of each push. */
type Pushes = readonly (readonly string[])[]

/**
 * The floor for the engine on the same store: the requests that the engine sent for as many pushes and pops, sent once
 * more for another queue, signed without the SDK and without an engine. For single items, these are the updates of the
 * queue's record, without the rows that the engine writes and reads now and then. For bulk, they include the batches
 * in rows. They never include housekeeping. It works for queues with as many pushes as these.
 */
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
