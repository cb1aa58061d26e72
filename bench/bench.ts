// What every scenario gets: the embedded stores behind metered clients, and the amount of work.

import { randomBytes } from 'node:crypto'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { type Embedded, startEmbedded } from '../testing/embedded.ts'
import { createMeter, type Meter, type Reading } from './meter.ts'
import {
  createDelay,
  type Delay,
  meterDynamodb,
  meterS3,
  type Sender,
  type StoredRow,
} from './metered-stores.ts'
import type { Row } from './report.ts'

export type Scenario = {
  readonly name: string
  readonly title: string
  run(bench: Bench): Promise<readonly Row[]>
}

export type Store = {
  readonly tableName: string
  readonly bucketName: string
  readonly dynamodb: Sender
  readonly s3: Sender
  readonly meter: Meter
  readonly delay: Delay
}

export type StoreOptions = {
  /** Absent: the benchmark's own. 'none' is for filling queues that are measured later. */
  readonly latency?: 'none'
  readonly onRow?: (row: StoredRow) => void
}

export type Bench = {
  readonly quick: boolean
  readonly embedded: Embedded
  /** New clients of the same stores, with their own counters. */
  store(options?: StoreOptions): Store
  /** A name that no other scenario has. */
  queueName(prefix: string): string
  /** A tenth of it when quick. */
  count(full: number): number
  seconds(full: number): number
  progress(text: string): void
  /** Reports where the units of so many operations went; printed below the table on request. */
  explain(heading: string, reading: Reading, count: number): void
}

type BenchOptions = {
  readonly quick: boolean
  progress(text: string): void
  explain(heading: string, reading: Reading, count: number): void
}

export const tableName = 'pushpop-bench'
export const bucketName = 'pushpop-bench'

export async function startBench(options: BenchOptions): Promise<Bench> {
  const { quick, progress, explain } = options
  const embedded = await startEmbedded()
  await Promise.all([embedded.createTable(tableName), embedded.createBucket(bucketName)])
  return {
    quick,
    embedded,
    store: (storeOptions) => openStore(embedded, storeOptions),
    queueName: (prefix) => `${prefix}-${randomBytes(4).toString('hex')}`,
    count: (full) => (quick ? Math.ceil(full / 10) : full),
    seconds: (full) => (quick ? full / 4 : full),
    progress,
    explain,
  }
}

export function openStore(
  connections: Pick<Embedded, 'dynamodb' | 's3'>,
  { latency, onRow }: StoreOptions = {},
): Store {
  const meter = createMeter()
  const delay = createDelay()
  const wait = latency === 'none' ? () => Promise.resolve() : delay.wait
  const documents = DynamoDBDocumentClient.from(connections.dynamodb, {
    marshallOptions: { removeUndefinedValues: true },
  })
  return {
    tableName,
    bucketName,
    dynamodb: meterDynamodb(documents as unknown as Sender, {
      meter,
      wait,
      ...(onRow && { onRow }),
    }),
    s3: meterS3(connections.s3 as unknown as Sender, { meter, wait }),
    meter,
    delay,
  }
}
