// What a function gets from a variable that is not set is refused when the queues are made, not at the first call.

import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { expect, test } from 'vitest'
import type { DocumentPort } from '../../aws/dynamo.ts'
import { createQueues } from '../../engine/queues.ts'
import { createRateLimits } from '../../rate/rate-limits.ts'

const dynamodb = { send: async () => ({}) } as unknown as DynamoDBClient | DocumentPort
const stores = { dynamodb, s3: async () => ({}) as never }
const names = { tableName: 'table', bucketName: 'bucket' }

test.each([undefined, ''])('createQueues refuses a name that is %j', (name) => {
  const missing = name as unknown as string
  expect(() => createQueues({ ...names, ...stores, tableName: missing })).toThrow(
    new TypeError(
      "createQueues needs tableName: the name of PushPop's table, which the stack's outputs tell",
    ),
  )
  expect(() => createQueues({ ...names, ...stores, bucketName: missing })).toThrow(
    new TypeError(
      "createQueues needs bucketName: the name of PushPop's bucket, which the stack's outputs tell",
    ),
  )
  createQueues({ ...names, ...stores })
})

test.each([undefined, ''])('createRateLimits refuses a name that is %j', (name) => {
  expect(() => createRateLimits({ dynamodb, tableName: name as unknown as string })).toThrow(
    new TypeError(
      "createRateLimits needs tableName: the name of PushPop's table, which the stack's outputs tell",
    ),
  )
})
