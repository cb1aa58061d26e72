import { createQueues, type Queues, type QueuesOptions } from '../lambdas/engine/queues.ts'
import { storeEnvironment } from '../local/stores/store-environment.ts'
import { type Embedded, type EmbeddedOptions, startEmbedded } from './embedded.ts'

type Tuning = Omit<QueuesOptions, 'tableName' | 'bucketName' | 'dynamodb' | 's3'>

export type TestQueuesOptions = EmbeddedOptions &
  Tuning & {
    /** What the table and the bucket are called; `pushpop` unless set. */
    readonly name?: string
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
}

/** DynamoDB and S3 on this machine, with a table, a bucket, and queues on them. */
export async function startQueues(options: TestQueuesOptions = {}): Promise<TestQueues> {
  const { name = 'pushpop', directory, environment, platform, ...tuning } = options
  const embedded = await startEmbedded({ directory, environment, platform })
  const { dynamodb, s3 } = embedded
  try {
    await Promise.all([embedded.createTable(name), embedded.createBucket(name)])
  } catch (error) {
    await embedded.stop()
    throw error
  }
  let made = 0
  return {
    ...embedded,
    queues: createQueues({ ...tuning, tableName: name, bucketName: name, dynamodb, s3 }),
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
  }
}
