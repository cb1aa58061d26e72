// BullMQ: `add` and `addBulk`, and a worker. Strict order for each tenant is a queue and a worker of
// concurrency 1 for each: groups are in the paid edition.

import { load } from './packages.ts'
import { type Addresses, countdown, eachOf, type OnItem, type Peer } from './peer.ts'

type Job = { readonly data: { readonly text: string } }
type Queue = {
  add(name: string, data: Job['data']): Promise<unknown>
  addBulk(jobs: readonly { name: string; data: Job['data'] }[]): Promise<unknown>
  close(): Promise<void>
}
type Worker = { close(): Promise<void>; on(event: 'error', listener: (e: unknown) => void): void }
type Redis = { info(section: string): Promise<string>; disconnect(): void }
type BullMq = {
  Queue: new (name: string, options: object) => Queue
  Worker: new (name: string, work: (job: Job) => Promise<void>, options: object) => Worker
}

const KEEP_NONE = { removeOnComplete: { count: 0 } }

export async function bullmq({ redis }: Addresses): Promise<Peer> {
  const { Queue, Worker } = load<BullMq>('bullmq')
  const { Redis } = load<{ Redis: new (options: object) => Redis }>('ioredis')
  const shared = new Redis({ port: redis?.port, maxRetriesPerRequest: null })
  const queues = new Map<string, Queue>()
  const queue = (name: string): Queue => {
    const known = queues.get(name) ?? new Queue(name, { connection: shared })
    queues.set(name, known)
    return known
  }
  const worker = (name: string, onItem: OnItem, concurrency: number): Worker => {
    const made = new Worker(name, async ({ data }) => onItem(name, data.text), {
      connection: shared,
      concurrency,
      ...KEEP_NONE,
    })
    made.on('error', console.error)
    return made
  }

  async function push(name: string, texts: readonly string[]): Promise<void> {
    const [only] = texts
    if (texts.length === 1 && only !== undefined) await queue(name).add('item', { text: only })
    else await queue(name).addBulk(texts.map((text) => ({ name: 'item', data: { text } })))
  }

  return {
    push,
    async drain(name, items, batch, onItem) {
      const all = countdown(items)
      const count: OnItem = (tenant, text) => {
        onItem(tenant, text)
        all.came()
      }
      // BullMQ has no batches; for throughput it advises working this many jobs at once.
      const made = worker(name, count, batch)
      await all.promise
      await made.close()
      return all.durationsMs
    },
    openTenants: async () => {},
    pushTo: push,
    async drainTenants(tenants, items, onItem) {
      const all = countdown(items)
      const workers = tenants.map((tenant) =>
        worker(
          tenant,
          (...item) => {
            onItem(...item)
            all.came()
          },
          1,
        ),
      )
      await all.promise
      await eachOf(workers, 100, (one) => one.close())
    },
    async wait(tenants) {
      const workers = tenants.map((tenant) => worker(tenant, () => {}, 1))
      return () => eachOf(workers, 100, (one) => one.close())
    },
    async requests() {
      const info = await shared.info('stats')
      return Number(/total_commands_processed:(\d+)/.exec(info)?.[1])
    },
    async stop() {
      await eachOf([...queues.values()], 100, (one) => one.close())
      shared.disconnect()
    },
  }
}
