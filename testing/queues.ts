// What a test of code around PushPop needs: queues on embedded stores, handlers that are called as AWS calls them, and
// a time that all of them share and the test moves.

import { randomUUID } from 'node:crypto'
import { DeleteTableCommand } from '@aws-sdk/client-dynamodb'
import { createQueues } from '../engine/checked-queues.ts'
import { TIMES_END_MS } from '../engine/core/item.ts'
import type { Queues, QueuesOptions, SweepReport } from '../engine/queues.ts'
import { deleteBucket } from '../local/stores/buckets.ts'
import { storeEnvironment, storesElsewhere } from '../local/stores/store-api.ts'
import { type LogLevel, logLevels } from '../shared/log-levels.ts'
import { type Clock, inWholeMs, systemClock } from '../shared/system.ts'
import { type Embedded, type EmbeddedOptions, startEmbedded } from './embedded.ts'

type Tuning = Omit<QueuesOptions, 'tableName' | 'bucketName' | 'dynamodb' | 's3' | 'clock'>

export type TestQueuesOptions = EmbeddedOptions &
  Tuning & {
    /**
     * The name of the table and the bucket. Default: `pushpop`; on stores that somebody else has started, and that
     * other tests may use too, a name that nobody else has.
     */
    readonly name?: string
    /** As in `fakeContext`, for handlers that `wake` calls. */
    readonly logLevel?: LogLevel | undefined
  }

export type TestQueues = Embedded & {
  /** The engine, to push what a test needs and to look at what is left. */
  readonly queues: Queues
  readonly tableName: string
  readonly bucketName: string
  /**
   * For `process.env`, or for the process that a test starts: handlers made by `consumer(…)`, and clients
   * of the AWS SDK, find the table and the bucket by it.
   */
  readonly environment: Readonly<Record<string, string>>
  /** The id of a queue that no other test uses. */
  newQueue(): string
  /**
   * Wakes a consumer, as EventBridge does when there are items in the queue: calls the handler, and resolves
   * to what it returns. It does not wait for retries that the run itself waits for: there the time moves on at once.
   */
  wake<Run>(queue: string, handler: TestedHandler<Run>): Promise<Run>
  /**
   * Moves the time of `queues`, and of handlers that `wake` calls, and then does what the schedule would do
   * by then: locks that have expired end, and items that died go to their dead-letter queue.
   */
  moveTime(ms: number): Promise<SweepReport>
  /** The time that `moveTime` moves, for a `fakeContext` that you make. */
  readonly clock: Clock
}

/** More than a sweep leaves for the next one in any test. */
const SWEEPS_MAX = 100

/** DynamoDB and S3 on this machine, with a table, a bucket, and queues on them. */
export async function startQueues(options: TestQueuesOptions = {}): Promise<TestQueues> {
  const { directory, environment = process.env, platform, logLevel, ...others } = options
  const elsewhere = storesElsewhere(environment)
  const isShared = elsewhere.dynamodbEndpoint || elsewhere.s3Endpoint
  const ownName = isShared ? `pushpop-${randomUUID()}` : 'pushpop'
  const { name = ownName, ...tuning } = others
  const embedded = await startEmbedded({ directory, environment, platform })
  const { dynamodb, s3 } = embedded
  try {
    const made = [embedded.createTable(name), embedded.createBucket(name)]
    await Promise.all(made.map((one) => (directory === undefined ? one : one.catch(ignoreThere))))
  } catch (error) {
    await embedded.stop()
    throw error
  }
  const clock = movableClock()
  const queues = createQueues({ ...tuning, clock, tableName: name, bucketName: name, dynamodb, s3 })
  let made = 0
  return {
    ...embedded,
    queues,
    clock,
    tableName: name,
    bucketName: name,
    environment: {
      PUSHPOP_TABLE: name,
      PUSHPOP_BUCKET: name,
      ...storeEnvironment(embedded),
    },
    newQueue() {
      made += 1
      return `queue-${made}`
    },
    wake: wakeOn(clock, logLevel),
    async moveTime(ms) {
      clock.move(ms)
      return swept(queues)
    },
    async stop() {
      try {
        // Stores that we have started go with their data. What somebody gave a name to is theirs.
        const isOurs = name === ownName
        if (isOurs && elsewhere.dynamodbEndpoint) {
          await dynamodb.send(new DeleteTableCommand({ TableName: name }))
        }
        if (isOurs && elsewhere.s3Endpoint) await deleteBucket(s3, name)
      } finally {
        await embedded.stop()
      }
    },
  }
}

/** A folder that keeps its data has them from an earlier start. */
function ignoreThere(error: unknown): void {
  const { name } = error as { name?: string }
  if (!there.has(name ?? '')) throw error
}

const there = new Set(['ResourceInUseException', 'BucketAlreadyOwnedByYou', 'BucketAlreadyExists'])

/** Sweeps until nothing is left that is due. */
async function swept(queues: Queues): Promise<SweepReport> {
  let sum = await queues.returnExpiredLocks()
  for (let sweep = 1; sum.more && sweep < SWEEPS_MAX; sweep += 1) {
    const next = await queues.returnExpiredLocks()
    sum = {
      queues: sum.queues + next.queues,
      itemsReturned: sum.itemsReturned + next.itemsReturned,
      itemsDeadLettered: sum.itemsDeadLettered + next.itemsDeadLettered,
      occurrencesPushed: sum.occurrencesPushed + next.occurrencesPushed,
      lagMs: Math.max(sum.lagMs, next.lagMs),
      failed: [...sum.failed, ...next.failed],
      more: next.more,
    }
  }
  return sum
}

export type FakeContextOptions = {
  readonly functionName?: string | undefined
  /** The function's timeout, from which the remaining time counts down. Default: 60. */
  readonly timeoutSeconds?: number | undefined
  readonly memoryMb?: number | undefined
  /** `store.clock` of `startQueues`: a handler of `consumer(…)` then uses the test's time. */
  readonly clock?: Clock | undefined
  /**
   * Which log lines a handler of `consumer(…)` writes: `info` shows the line of each run, with its metrics, as on AWS;
   * `warn` only what failed, and why. Default: `PUSHPOP_LOG_LEVEL`, or else `warn`.
   */
  readonly logLevel?: LogLevel | undefined
}

const logLevelOf = ({ PUSHPOP_LOG_LEVEL: wanted }: NodeJS.ProcessEnv): LogLevel =>
  logLevels.find((known) => known === wanted?.toLowerCase()) ?? 'warn'

/** It has what Lambda's own has, and fits `Context` of `@types/aws-lambda`. */
export type FakeContext = ReturnType<typeof fakeContext>

/** The context of one invocation, for a handler that a test calls. */
export function fakeContext({
  functionName = 'test',
  timeoutSeconds = 60,
  memoryMb = 256,
  clock = systemClock,
  logLevel = logLevelOf(process.env),
}: FakeContextOptions = {}) {
  const endsAtMs = performance.now() + 1_000 * timeoutSeconds
  const arn = `arn:aws:lambda:us-east-1:123456789012:function:${functionName}`
  return {
    functionName,
    functionVersion: '$LATEST',
    invokedFunctionArn: arn,
    memoryLimitInMB: String(memoryMb),
    awsRequestId: randomUUID(),
    logGroupName: `/aws/lambda/${functionName}`,
    logStreamName: 'test',
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => Math.max(0, Math.round(endsAtMs - performance.now())),
    /** Only old handlers call these, and Lambda ignores them for those that return a promise. */
    done() {},
    fail() {},
    succeed() {},
    clock,
    logLevel,
  }
}

type TestedHandler<Run> = (event: ConsumerEvent, context: FakeContext) => Promise<Run>
type ConsumerEvent = { readonly 'detail-type': string; readonly detail: { readonly queue: string } }

/**
 * Calls handlers as EventBridge does. Where a run only waits for the retry of what failed, the time moves on at once,
 * unless another run is at work: nobody would have extended its lock meanwhile.
 */
function wakeOn(time: MovableClock, logLevel: LogLevel | undefined): TestQueues['wake'] {
  let atWork = 0
  let skippedMs = 0
  const clock: Clock = {
    nowMs: time.nowMs,
    sleep: time.sleep,
    async skip(ms, signal) {
      if (atWork > 1) return time.sleep(ms, signal)
      time.move(ms)
      skippedMs += ms
    },
  }
  return async (queue, handler) => {
    const context = fakeContext({ clock, logLevel })
    const beforeMs = skippedMs
    // Without this, a handler that always fails would be tried for a minute.
    const getRemainingTimeInMillis = () =>
      Math.max(0, context.getRemainingTimeInMillis() - (skippedMs - beforeMs))
    atWork += 1
    try {
      const event = { 'detail-type': 'Items Available', detail: { queue } }
      return await handler(event, { ...context, getRemainingTimeInMillis })
    } finally {
      atWork -= 1
    }
  }
}

type MovableClock = Clock & { move(ms: number): void }

/**
 * The system's time, and as much later as a test has moved it. It runs on between moves, and its sleeps are
 * real: code that pauses for a moment before it tries again does so here too.
 */
function movableClock(): MovableClock {
  let movedMs = 0
  const clock = inWholeMs({
    nowMs: () => systemClock.nowMs() + movedMs,
    sleep: systemClock.sleep,
  })
  const refusal = (ms: number): string | undefined => {
    if (!(ms >= 0)) return 'time only goes on'
    return clock.nowMs() + ms < TIMES_END_MS ? undefined : "PushPop's times end on 2059-05-25"
  }
  return {
    ...clock,
    move(ms) {
      const why = refusal(ms)
      if (why !== undefined) throw new RangeError(`Cannot move the time by ${ms} ms because ${why}`)
      movedMs += ms
    },
  }
}
