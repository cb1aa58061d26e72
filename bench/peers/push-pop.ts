// PushPop: the engine with the lean client on the embedded stores, and the client over HTTP. Both settle an item with the pop of
// the next, as docs/engine.md and docs/client.md advise. Housekeeping runs as the table's stream would call it.

import { createClient, type Json } from '../../client/index.ts'
import { createLeanDynamodb } from '../../engine/index.ts'
import { connectEmbedded } from '../../testing/embedded.ts'
import { tableName } from '../bench.ts'
import { createHousekeeper, openQueues } from '../engine.ts'
import type { Command, Row, Sender } from '../metering/commands.ts'
import { type Addresses, AT_ONCE, eachOf, type OnItem, type Peer } from './peer.ts'

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
    region: 'us-east-1',
    endpoint: stores.dynamodbEndpoint,
    credentials: { accessKeyId: 'bench', secretAccessKey: 'bench' },
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

function countRequests(inner: Sender, onRow: (row: Row) => void) {
  let requests = 0
  const sender: Sender = {
    async send(command: Command) {
      requests += 1
      const answer: { Attributes?: Row } = await inner.send(command)
      if (answer.Attributes?.work !== undefined) onRow(answer.Attributes)
      return answer
    },
  }
  return { sender, requests: () => requests }
}
