// The engine as the scenarios use it: instances that share nothing but the stores, and
// housekeeping as the table's stream would call it.

import { createQueues, type Queues } from '../engine/queues.ts'
import type { Store } from './bench.ts'
import type { Row } from './metering/commands.ts'

type Options = Parameters<typeof createQueues>[0]
type Surroundings = Pick<Options, 'clock' | 'random' | 'onBackgroundError' | 'linger'>

export function openQueues(store: Omit<Store, 'meter' | 'delay'>, also: Surroundings = {}): Queues {
  return createQueues({
    tableName: store.tableName,
    bucketName: store.bucketName,
    dynamodb: store.dynamodb as unknown as Options['dynamodb'],
    s3: store.s3 as unknown as Options['s3'],
    ...also,
  })
}

export type Housekeeper = {
  /** Called with each written row, like the stream, whose filter asks for `work`. */
  readonly onRow: (row: Row) => void
  /** Resolves when nothing is left to do; throws what went wrong meanwhile. */
  idle(): Promise<void>
  readonly runsMs: readonly number[]
  /** Runs that left something to the sweeper. */
  unfinished(): number
}

/**
 * The stream calls one function at a time for a partition, and hands it whatever was written
 * meanwhile in one batch; so runs for one queue follow each other and writes during a run share
 * the next.
 */
export function createHousekeeper(queues: () => Pick<Queues, 'housekeep'>): Housekeeper {
  const due = new Set<string>()
  const runsMs: number[] = []
  const failures: unknown[] = []
  let unfinished = 0
  let running: Promise<void> | undefined

  async function run() {
    for (let queue = next(); queue !== undefined; queue = next()) {
      const startMs = performance.now()
      try {
        const { finished } = await queues().housekeep(queue)
        if (!finished) unfinished += 1
      } catch (error) {
        failures.push(error)
      }
      runsMs.push(performance.now() - startMs)
    }
    running = undefined
  }

  function next(): string | undefined {
    const [queue] = due
    if (queue !== undefined) due.delete(queue)
    return queue
  }

  return {
    onRow({ pk, work }) {
      if (work === undefined || typeof pk !== 'string' || !pk.startsWith('q#')) return
      due.add(pk.slice(2))
      running ??= run()
    },
    async idle() {
      while (running !== undefined) await running
      if (failures.length > 0) throw failures.splice(0)[0]
    },
    runsMs,
    unfinished: () => unfinished,
  }
}
