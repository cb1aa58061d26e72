import { randomUUID } from 'node:crypto'
import { DeleteTableCommand } from '@aws-sdk/client-dynamodb'
import { createQueues } from '../engine/checked-queues.ts'
import type { Queues, QueuesOptions, SweepReport } from '../engine/queues.ts'
import { deleteBucket } from '../local/stores/buckets.ts'
import { storeEnvironment, storesElsewhere } from '../local/stores/store-api.ts'
import type { Clock } from '../shared/system.ts'
import { movableClock } from './clock.ts'
import { type Embedded, type EmbeddedOptions, startEmbedded } from './embedded.ts'
import type { LogLevel } from './fake-context.ts'
import { type TestedHandler, wakeOn } from './wake.ts'

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
