// rate-limiter-flexible on DynamoDB as its manual describes it, on the same store, behind the same meter.

import {
  type DynamoDBClient,
  UpdateItemCommand,
  type UpdateItemCommandInput,
} from '@aws-sdk/client-dynamodb'
import { RateLimiterDynamo, RateLimiterRes } from 'rate-limiter-flexible'
import { createTable } from '../baselines/create-table.ts'
import type { Bench } from '../bench.ts'
import type { Sender } from '../metering/commands.ts'
import { createDelay } from '../metering/delay.ts'
import { createMeter, type Meter } from '../metering/meter.ts'
import { meterDynamodb } from '../metering/metered-dynamodb.ts'

type FlexibleLimiter = {
  readonly meter: Meter
  /** Whether the request may go. */
  consume(key: string): Promise<boolean>
}

export const createFlexibleTable = (dynamodb: DynamoDBClient, name: string): Promise<unknown> =>
  createTable(dynamodb, name, { attributes: { key: 'S' }, keys: ['key'] })

/** `remembers`: with its option to block a caller in memory once the points are used up. */
export function openFlexible(
  bench: Bench,
  tableName: string,
  options: { readonly points: number; readonly seconds: number; readonly remembers: boolean },
  latencyMs: number,
): FlexibleLimiter {
  const { points, seconds, remembers } = options
  const meter = createMeter()
  const delay = createDelay()
  const metered = meterDynamodb(bench.embedded.dynamodb as unknown as Sender, {
    meter,
    latency: () => delay.wait(latencyMs),
  })
  const limiter = new RateLimiterDynamo({
    // All that it asks of the SDK's aggregated client, once its table is there.
    storeClient: {
      updateItem: (input: UpdateItemCommandInput) => metered.send(new UpdateItemCommand(input)),
    },
    tableName,
    tableCreated: true,
    ttlSet: true,
    points,
    duration: seconds,
    ...(remembers && { inMemoryBlockOnConsumed: points }),
  })
  return {
    meter,
    async consume(key) {
      try {
        await limiter.consume(key)
        return true
      } catch (error) {
        // It denies by throwing an object with the current state.
        if (error instanceof RateLimiterRes) return false
        throw error
      }
    },
  }
}
