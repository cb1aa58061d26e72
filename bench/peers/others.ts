// The queues that we compare PushPop with, each used as its documentation advises.

import { type Addresses, AT_ONCE, countdown, eachOf, load, type OnItem, type Peer } from './peer.ts'

type BullJob = { readonly data: { readonly text: string } }
type Queue = {
  add(name: string, data: BullJob['data']): Promise<unknown>
  addBulk(jobs: readonly { name: string; data: BullJob['data'] }[]): Promise<unknown>
  close(): Promise<void>
}
type Worker = { close(): Promise<void>; on(event: 'error', listener: (e: unknown) => void): void }
type Redis = { info(section: string): Promise<string>; disconnect(): void }
type BullMq = {
  Queue: new (name: string, options: object) => Queue
  Worker: new (name: string, work: (job: BullJob) => Promise<void>, options: object) => Worker
}

const KEEP_NONE = { removeOnComplete: { count: 0 } }

/**
 * BullMQ: `add` and `addBulk`, and a worker. Strict order for each tenant is a queue and a worker of
 * concurrency 1 for each: groups are in the paid edition.
 */
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

type Payload = { readonly tenant: string; readonly text: string }
type Runner = { stop(): Promise<void> }
type Options = object
type Utils = {
  migrate(): Promise<void>
  addJob(task: string, payload: Payload): Promise<unknown>
  addJobs(
    jobs: readonly { identifier: string; payload: Payload; queueName?: string; runAt?: Date }[],
  ): Promise<unknown>
  release(): Promise<void>
}
type GraphileWorker = {
  makeWorkerUtils(options: Options): Promise<Utils>
  run(options: Options): Promise<Runner>
  Logger: new (factory: () => () => void) => object
}

const AN_HOUR_MS = 3_600_000

/**
 * Graphile Worker: `addJob` and `addJobs`, and a runner with a task. `queueName` keeps a tenant's jobs in
 * order. For batches its page on performance says: a local queue, and completions that wait for each other.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a table of what the benchmark calls, a few lines each
export async function graphileWorker({ postgres }: Addresses): Promise<Peer> {
  const connectionString = databaseUrl(postgres)
  const { makeWorkerUtils, run, Logger } = load<GraphileWorker>('graphile-worker')
  const logger = new Logger(() => () => {})
  const utils = await makeWorkerUtils({ connectionString, logger })
  await utils.migrate()

  const start = (task: string, concurrency: number, worker: object, onItem: OnItem) =>
    run({
      connectionString,
      logger,
      concurrency,
      noHandleSignals: true,
      taskList: { [task]: async ({ tenant, text }: Payload) => onItem(tenant, text) },
      preset: { worker },
    })

  /** Ends when all have been handed over, and the runner has settled them. */
  async function work(
    task: string,
    items: number,
    [concurrency, worker]: readonly [number, object],
    onItem: OnItem,
  ): Promise<readonly number[]> {
    const all = countdown(items)
    const runner = await start(task, concurrency, worker, (tenant, text) => {
      onItem(tenant, text)
      all.came()
    })
    await all.promise
    await runner.stop()
    return all.durationsMs
  }

  /** It orders by the time alone, which jobs of one call share: these come due one after another. */
  let dueMs = 0
  const specOf = (task: string, tenant: string, text: string) => {
    dueMs = Math.max(dueMs + 1, Date.now() - AN_HOUR_MS)
    return {
      identifier: task,
      payload: { tenant, text },
      queueName: tenant,
      runAt: new Date(dueMs),
    }
  }
  const inBatches = (size: number) => ({ localQueue: { size }, completeJobBatchDelay: 0 })

  return {
    async push(queue, texts) {
      const [only] = texts
      if (texts.length === 1 && only !== undefined) {
        await utils.addJob(queue, { tenant: queue, text: only })
      } else {
        const payloads = texts.map((text) => ({ tenant: queue, text }))
        await utils.addJobs(payloads.map((payload) => ({ identifier: queue, payload })))
      }
    },
    drain: (queue, items, batch, onItem) =>
      work(queue, items, [1, batch > 1 ? inBatches(batch) : {}], onItem),
    openTenants: async () => {},
    pushTo: async (tenant, texts) => {
      await utils.addJobs(texts.map((text) => specOf('tenants', tenant, text)))
    },
    async drainTenants(_tenants, items, onItem) {
      // A worker that looks for a job locks all free tenants. Another that looks meanwhile finds none and sleeps for
      // its poll interval, by default two seconds. Waiting workers keep that default, these do not.
      await work('tenants', items, [AT_ONCE, { pollInterval: 10 }], onItem)
    },
    async wait() {
      const runner = await start('tenants', AT_ONCE, {}, () => {})
      return () => runner.stop()
    },
    tidy: () => vacuum(connectionString),
    requests: () => commitsOf(connectionString),
    stop: () => utils.release(),
  }
}

type BossJob = {
  readonly id: string
  readonly data: { readonly tenant: string; readonly text: string }
}
type Boss = {
  on(event: 'error', listener: (error: unknown) => void): void
  start(): Promise<void>
  stop(options: { graceful: boolean }): Promise<void>
  createQueue(name: string, options?: { policy?: string }): Promise<void>
  send(name: string, data: BossJob['data'], options?: { singletonKey: string }): Promise<string>
  insert(
    name: string,
    jobs: readonly { id?: string; data: BossJob['data']; singletonKey?: string }[],
  ): Promise<void>
  fetch(name: string, options: { batchSize: number }): Promise<readonly BossJob[]>
  complete(name: string, ids: readonly string[]): Promise<void>
  work(
    name: string,
    options: object,
    handler: (jobs: readonly BossJob[]) => Promise<void>,
  ): Promise<string>
  offWork(name: string): Promise<void>
}

const TENANTS = 'tenants'
const FETCHERS = 4

/**
 * pg-boss: `send` and `insert`, `fetch` and `complete`. Strict order for each tenant is its queue policy
 * `key_strict_fifo`, with the tenant as key: one queue for all of them.
 */
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

type Client = {
  connect(): Promise<void>
  query(text: string): Promise<{ readonly rows: readonly { readonly count: string }[] }>
  end(): Promise<void>
}

const databaseUrl = (postgres: Addresses['postgres']): string =>
  `postgres://bench@127.0.0.1:${postgres?.port}/postgres`

/** Transactions so far: each statement outside of one counts as one. */
const commitsOf = (connectionString: string): Promise<number> =>
  connected(connectionString, async (client) => {
    const { rows } = await client.query(
      'SELECT xact_commit AS count FROM pg_stat_database WHERE datname = current_database()',
    )
    return Number(rows[0]?.count)
  })

/**
 * As autovacuum would: with the statistics of an empty table, pg-boss takes 100 jobs of thousands at a twentieth of
 * its rate.
 */
const vacuum = (connectionString: string): Promise<void> =>
  connected(connectionString, async (client) => {
    await client.query('VACUUM ANALYZE')
  })

async function connected<T>(
  connectionString: string,
  act: (client: Client) => Promise<T>,
): Promise<T> {
  const { Client } = load<{ Client: new (options: object) => Client }>('pg')
  const client = new Client({ connectionString })
  await client.connect()
  try {
    return await act(client)
  } finally {
    await client.end()
  }
}
