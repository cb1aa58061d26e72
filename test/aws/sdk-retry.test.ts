import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3'
import {
  BatchWriteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  TransactWriteCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb'
import { HttpResponse } from '@smithy/core/protocols'
import { describe, expect, it } from 'vitest'
import { withoutSdkRetry } from '../../aws/failures.ts'

/** A network on which every request fails the same way, and is counted. */
function failing(how: 'timeout' | 'reset' | 500 | 503 | 400) {
  const requests: unknown[] = []
  const handler = {
    async handle(request: unknown) {
      requests.push(request)
      if (how === 'timeout') throw Object.assign(new Error('late'), { name: 'TimeoutError' })
      if (how === 'reset') {
        throw Object.assign(new Error('reset'), { name: 'TimeoutError', code: 'ECONNRESET' })
      }
      const type = how === 400 ? 'ThrottlingException' : 'InternalServerError'
      const body = Buffer.from(JSON.stringify({ __type: `com.amazonaws#${type}`, message: '' }))
      const headers = { 'content-type': 'application/x-amz-json-1.0' }
      return { response: new HttpResponse({ statusCode: how, headers, body }) }
    },
  }
  const common = {
    region: 'us-east-1',
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    maxAttempts: 5,
    requestHandler: handler as never,
  }
  const dynamodb = DynamoDBDocumentClient.from(new DynamoDBClient(common))
  const s3 = new S3Client({ ...common, retryMode: 'adaptive' })
  return { requests, dynamodb, s3 }
}

const Key = { pk: 'a', sk: 'b' }
const TableName = 'table'
const commands = {
  UpdateCommand: () =>
    new UpdateCommand({
      TableName,
      Key,
      UpdateExpression: 'SET a=:a',
      ExpressionAttributeValues: { ':a': { b: [1, 'x'] } },
    }),
  PutCommand: () => new PutCommand({ TableName, Item: Key }),
  GetCommand: () => new GetCommand({ TableName, Key }),
  BatchWriteCommand: () =>
    new BatchWriteCommand({ RequestItems: { [TableName]: [{ PutRequest: { Item: Key } }] } }),
  TransactWriteCommand: () =>
    new TransactWriteCommand({ TransactItems: [{ Put: { TableName, Item: Key } }] }),
}

describe.each(['timeout', 'reset', 500, 503, 400] as const)('After %s', (how) => {
  it.each(Object.entries(commands))('a %s is sent exactly once.', async (_, command) => {
    const { dynamodb, requests } = failing(how)
    await expect(dynamodb.send(withoutSdkRetry(command()) as never)).rejects.toThrow()
    expect(requests).toHaveLength(1)
  })

  it('an object is asked for exactly once.', async () => {
    const { s3, requests } = failing(how)
    const command = new GetObjectCommand({ Bucket: 'bucket', Key: 'key' })
    await expect(s3.send(withoutSdkRetry(command))).rejects.toThrow()
    expect(requests).toHaveLength(1)
  })
})

it('The client itself goes on as it was set: other commands are repeated.', async () => {
  const { dynamodb, requests } = failing('reset')
  await expect(dynamodb.send(withoutSdkRetry(commands.GetCommand()))).rejects.toThrow()
  expect(requests).toHaveLength(1)
  await expect(dynamodb.send(commands.GetCommand())).rejects.toThrow()
  expect(requests.length).toBeGreaterThan(2)
})

it('A command without middleware, such as a simulated one, stays as it is.', () => {
  const command = { input: {} }
  expect(withoutSdkRetry(command)).toBe(command)
})
