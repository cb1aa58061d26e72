// Runs histories: forks the workers, lets all of them loose on one queue after the other, a few
// queues at a time, and drains each queue at the end so that the last state is checked too.

import { type Connections, connectEmbedded } from '../../../testing/embedded.ts'
import { Random } from '../../../testing/random.ts'
import { startWorker } from '../../support/worker-process.ts'
import { watchBackground } from './background.ts'
import type { Style } from './player.ts'
import { createRecorder, type RecordedCall, type Recorder } from './recorder.ts'
import type { CreateQueues, Play, Played, WorkerSetting } from './worker.ts'

export type Workers = {
  /** Each with a seed of its own, and a clock that is wrong by so much. */
  play(
    message: Omit<Play, 'clockSkewMs'>,
    clockSkewMs: (worker: number) => number,
  ): Promise<readonly Played[]>
  stop(): Promise<void>
}

export type HistoryPlan = {
  readonly queue: string
  readonly seed: number
  readonly style: Style
  readonly configuration: {
    readonly segmentSize: number
    readonly bufferSegments: number
    readonly maxDeliveries?: number
    readonly capacity?: number
  }
  /** Items that are there before the workers come. */
  readonly prefilled: number
  readonly operationsEach: number
}

export type History = {
  readonly plan: HistoryPlan
  readonly calls: readonly RecordedCall[]
  readonly faults: readonly string[]
  readonly failures: Readonly<Record<string, number>>
  readonly injected: number
  readonly backgroundFailed: number
}

export async function startWorkers(
  count: number,
  setting: Omit<WorkerSetting, 'name'>,
): Promise<Workers> {
  const workers = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      startWorker<Play, Played>(new URL('./worker.ts', import.meta.url), {
        ...setting,
        name: `w${index}`,
      }),
    ),
  )
  return {
    play: (message, clockSkewMs) =>
      Promise.all(
        workers.map((worker, index) =>
          worker.ask({
            ...message,
            seed: message.seed + index,
            clockSkewMs: clockSkewMs(index),
          }),
        ),
      ),
    async stop() {
      await Promise.all(workers.map((worker) => worker.stop()))
    },
  }
}

export type Coordinator = {
  run(plan: HistoryPlan): Promise<History>
  stop(): void
}

/** Prepares queues before the workers come, and drains them when they have gone. */
export async function createCoordinator(
  setting: Omit<WorkerSetting, 'name'>,
  workers: Workers,
  clockSkewMs: (worker: number) => number,
): Promise<Coordinator> {
  const { createQueues } = (await import(setting.engine)) as { createQueues: CreateQueues }
  const connections: Connections = connectEmbedded(setting)
  const background = watchBackground()
  const queues = createQueues({
    tableName: setting.tableName,
    bucketName: setting.bucketName,
    dynamodb: connections.dynamodb,
    s3: connections.s3,
    onBackgroundError: background.onBackgroundError,
  })
  return {
    async run(plan) {
      const { queue, style } = plan
      const recorder = createRecorder(queues, queue, 'coordinator', style.characters)
      await queues.configure(queue, plan.configuration)
      await prefill(plan, recorder)
      const { seed, operationsEach: operations } = plan
      const played = await workers.play({ queue, seed, operations, style }, clockSkewMs)
      const isDrained = await drain(recorder, style)

      const failures: Record<string, number> = {}
      for (const part of [recorder, ...played]) {
        for (const [code, n] of Object.entries(part.failures)) {
          failures[code] = (failures[code] ?? 0) + n
        }
      }
      return {
        plan,
        calls: [...recorder.calls, ...played.flatMap(({ calls }) => calls)],
        faults: [
          ...(isDrained
            ? []
            : [`${queue}: could not be drained: ${JSON.stringify(recorder.failures)}`]),
          ...recorder.faults,
          ...background.faults.splice(0),
          ...played.flatMap(({ engineFaults }) => engineFaults),
        ],
        backgroundFailed: played.reduce((sum, part) => sum + part.backgroundFailed, 0),
        failures,
        injected: played.reduce((sum, { injected }) => sum + injected, 0),
      }
    },
    stop: connections.disconnect,
  }
}

async function prefill({ prefilled, seed, style }: HistoryPlan, recorder: Recorder) {
  const random = new Random(seed)
  for (let made = 0; made < prefilled; ) {
    const count = Math.min(prefilled - made, 1 + random.integer(8))
    const names = Array.from({ length: count }, (_, index) => `c-${made + index}`)
    made += count
    await recorder.push(names.map((name) => ({ name, priority: random.pick(style.priorities) })))
  }
  if (prefilled > 0) await recorder.housekeep()
}

const ROUNDS_MAX = 30

/** Whether it came to an end: an item that cannot be read is as good as lost. */
async function drain(recorder: Recorder, style: Style): Promise<boolean> {
  const waitsForLocks = style.ttlSeconds <= 2
  for (let round = 0; round < ROUNDS_MAX && style.byId; round++) {
    const scheduled = await recorder.listScheduled()
    if (scheduled.length === 0) break
    await recorder.cancel(scheduled)
  }
  await recorder.inspect()
  if (waitsForLocks) {
    await new Promise((resolve) => setTimeout(resolve, style.ttlSeconds * 1000 + 50))
    await recorder.returnExpiredLocks()
  }
  // A call that fails says that nothing happened; the next may succeed.
  let isEmpty = false
  for (let round = 0; round < ROUNDS_MAX && !isEmpty; round++) {
    const popped = await recorder.pop({ count: 100, competing: true })
    isEmpty = popped.kind === 'empty'
  }
  await recorder.inspect()
  if (style.burying) {
    for (let round = 0; round < ROUNDS_MAX; round++) if (await recorder.housekeep()) break
    await recorder.drainDeadLetters()
  }
  return isEmpty
}

/** What a history is like, from its seed alone. */
export function planHistory(index: number, seed: number): HistoryPlan {
  const random = new Random(seed * 7919 + index * 104_729)
  const burying = random.chance(0.25)
  const prefilled = random.chance(0.4) ? 12 + random.integer(20) : random.integer(6)
  const isSmall = !burying && random.chance(0.2)
  const byId = !burying && !isSmall && index % 5 === 0
  const style: Style = {
    popping: random.pick(['competing', 'competing', 'both', 'exclusive']),
    priorities: random.pick([[0], [0], [0, 1, 2], [5, 1000, 2_147_483_647]]),
    characters: random.pick([30, 200, 400, 400, 700]),
    ttlSeconds: 300,
    lossy: random.chance(0.5) ? 0.12 : 0,
    pauseMs: random.pick([0, 4, 15]),
    requestDelayMs: random.pick([0, 2, 10]),
    holdMs: 5,
    purging: random.chance(0.2) && !byId,
    burying,
    keyed: random.chance(0.3) && !byId,
    taking: random.chance(0.6),
    byId,
  }
  return {
    queue: `history-${index}`,
    seed: Math.floor(random.next() * 2 ** 31),
    style,
    configuration: {
      segmentSize: 2 + random.integer(4),
      bufferSegments: 1,
      ...(burying && { maxDeliveries: 2 }),
      ...(isSmall && { capacity: prefilled + 1 + random.integer(8) }),
    },
    prefilled,
    operationsEach: 4 + random.integer(4),
  }
}

/** Short locks, held for longer than they live now and then. */
export function planShortLocks(index: number, seed: number): HistoryPlan {
  const plan = planHistory(index, seed + 1)
  const random: Random = new Random(plan.seed)
  return {
    ...plan,
    queue: `short-${index}`,
    style: {
      ...plan.style,
      popping: random.pick(['competing', 'exclusive']),
      ttlSeconds: 1,
      lossy: 0,
      pauseMs: 60,
      holdMs: random.pick([20, 1300]),
      purging: false,
      keyed: false,
      byId: false,
    },
    operationsEach: 12,
  }
}
