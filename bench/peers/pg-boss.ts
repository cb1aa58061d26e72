// pg-boss: `send` and `insert`, `fetch` and `complete`. Strict order for each tenant is its queue policy
// `key_strict_fifo`, with the tenant as key: one queue for all of them.

import { load } from './packages.ts'
import { type Addresses, AT_ONCE, countdown, type OnItem, type Peer } from './peer.ts'
import { commitsOf, databaseUrl, vacuum } from './postgres.ts'

type Job = {
  readonly id: string
  readonly data: { readonly tenant: string; readonly text: string }
}
type Boss = {
  on(event: 'error', listener: (error: unknown) => void): void
  start(): Promise<void>
  stop(options: { graceful: boolean }): Promise<void>
  createQueue(name: string, options?: { policy?: string }): Promise<void>
  send(name: string, data: Job['data'], options?: { singletonKey: string }): Promise<string>
  insert(
    name: string,
    jobs: readonly { id?: string; data: Job['data']; singletonKey?: string }[],
  ): Promise<void>
  fetch(name: string, options: { batchSize: number }): Promise<readonly Job[]>
  complete(name: string, ids: readonly string[]): Promise<void>
  work(
    name: string,
    options: object,
    handler: (jobs: readonly Job[]) => Promise<void>,
  ): Promise<string>
  offWork(name: string): Promise<void>
}

const TENANTS = 'tenants'
const FETCHERS = 4

export async function pgBoss({ postgres }: Addresses): Promise<Peer> {
  const connectionString = databaseUrl(postgres)
  const { PgBoss } = load<{ PgBoss: new (options: object) => Boss }>('pg-boss')
  const boss = new PgBoss({ connectionString })
  boss.on('error', console.error)
  await boss.start()
  const made = new Set<string>()
  const make = async (name: string, options?: { policy?: string }) => {
    if (made.has(name)) return
    made.add(name)
    await boss.createQueue(name, options)
  }

  async function take(queue: string, batchSize: number, onItem: OnItem): Promise<number> {
    const jobs = await boss.fetch(queue, { batchSize })
    for (const { data } of jobs) onItem(data.tenant, data.text)
    if (jobs.length > 0) {
      await boss.complete(
        queue,
        jobs.map(({ id }) => id),
      )
    }
    return jobs.length
  }

  return {
    async push(queue, texts) {
      await make(queue)
      const jobs = texts.map((text) => ({ data: { tenant: queue, text } }))
      const [only] = jobs
      if (jobs.length === 1 && only !== undefined) await boss.send(queue, only.data)
      else await boss.insert(queue, jobs)
    },
    async drain(queue, items, batch, onItem) {
      const durationsMs: number[] = []
      for (let taken = 0; taken < items; ) {
        const startMs = performance.now()
        const came = await take(queue, batch, onItem)
        taken += came
        durationsMs.push(performance.now() - startMs)
      }
      return durationsMs
    },
    openTenants: () => make(TENANTS, { policy: 'key_strict_fifo' }),
    async pushTo(tenant, texts) {
      await boss.insert(
        TENANTS,
        texts.map((text) => ({ id: risingId(), data: { tenant, text }, singletonKey: tenant })),
      )
    },
    async drainTenants(_tenants, items, onItem) {
      const all = countdown(items)
      let left = items
      const fetcher = async () => {
        while (left > 0) {
          await take(TENANTS, 100, (tenant, text) => {
            onItem(tenant, text)
            left -= 1
            all.came()
          })
        }
      }
      await Promise.all([all.promise, ...Array.from({ length: FETCHERS }, fetcher)])
    },
    async wait() {
      await boss.work(TENANTS, { batchSize: AT_ONCE }, async () => {})
      return () => boss.offWork(TENANTS)
    },
    tidy: () => vacuum(connectionString),
    requests: () => commitsOf(connectionString),
    stop: () => boss.stop({ graceful: false }),
  }
}

/**
 * Jobs of one `insert` share their time of creation, and pg-boss then orders them by id. Its own ids are
 * random; with these, one insert keeps its order, and need not be ten.
 */
let idsMade = 0
function risingId(): string {
  idsMade += 1
  const digits = idsMade.toString(16).padStart(12, '0')
  const timeHex = Date.now().toString(16).padStart(12, '0')
  return `${timeHex.slice(0, 8)}-${timeHex.slice(8)}-7000-8000-${digits}`
}
