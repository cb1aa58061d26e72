// Graphile Worker: `addJob` and `addJobs`, and a runner with a task. `queueName` keeps a tenant's jobs in
// order. For batches its page on performance says: a local queue, and completions that wait for each other.

import { load } from './packages.ts'
import { type Addresses, AT_ONCE, countdown, type OnItem, type Peer } from './peer.ts'
import { commitsOf, databaseUrl, vacuum } from './postgres.ts'

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
