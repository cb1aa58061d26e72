// The same commands through the SDK and through the lean client: what leaves this machine is the same, and so is what
// comes back.

import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import {
  BatchGetCommand,
  BatchWriteCommand,
  DeleteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  ScanCommand,
  TransactWriteCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb'
import { describe, expect, it } from 'vitest'
import type { RequestHandler } from '../../../aws/connections.ts'
import { createLeanDynamodb } from '../../../aws/lean-client.ts'

type Sent = { readonly headers: Record<string, string>; readonly body: string }

/** A client of each kind, and what it sends; all are answered alike. */
function open(answer: object, statusCode = 200) {
  const sent: Sent[] = []
  const requestHandler = {
    answerTimeoutMs: 1,
    metadata: { handlerProtocol: 'http/1.1' },
    async handle(request: Sent) {
      sent.push({ ...request, body: Buffer.from(request.body).toString() })
      const bytes = new TextEncoder().encode(JSON.stringify(answer))
      const headers = { 'x-amzn-requestid': 'ID' }
      return { response: { statusCode, reason: '', headers, body: bytes } }
    },
    destroy() {},
    updateHttpClientConfig() {},
    httpHandlerConfigs: () => ({}),
  } as unknown as RequestHandler
  const options = {
    region: 'us-east-1',
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    requestHandler,
  }
  return {
    sent,
    sdk: DynamoDBDocumentClient.from(new DynamoDBClient({ ...options, maxAttempts: 1 })),
    lean: createLeanDynamodb(options),
  }
}

const row = { pk: 'p', sk: 's' }
const attributes = { pk: { S: 'p' }, sk: { S: 's' }, n: { N: '1' }, b: { B: 'AQID' } }
const rich = { ...row, n: 1, l: ['a', { b: null }], bytes: new Uint8Array([1, 2]), left: undefined }
const values = { ':a': 1, ':b': ['x'], ':left': undefined }
const TableName = 'table'

const cases: readonly (readonly [object, object])[] = [
  [new GetCommand({ TableName, Key: row, ConsistentRead: true }), { Item: attributes }],
  [new GetCommand({ TableName, Key: row }), {}],
  [new PutCommand({ TableName, Item: rich, ReturnValues: undefined }), {}],
  [
    new PutCommand({
      TableName,
      Item: rich,
      ConditionExpression: 'a = :a',
      ExpressionAttributeValues: values,
      ReturnValues: 'ALL_OLD',
    }),
    { Attributes: attributes, ConsumedCapacity: { TableName, CapacityUnits: 1.5 } },
  ],
  [
    new UpdateCommand({
      TableName,
      Key: row,
      UpdateExpression: 'SET #a = :a',
      ExpressionAttributeNames: { '#a': 'a' },
      ExpressionAttributeValues: values,
      ReturnValues: 'ALL_NEW',
    }),
    { Attributes: attributes },
  ],
  [
    new DeleteCommand({ TableName, Key: row, ExpressionAttributeValues: values }),
    { Attributes: attributes },
  ],
  [
    new QueryCommand({
      TableName,
      KeyConditionExpression: 'pk = :a',
      ExpressionAttributeValues: values,
      ExclusiveStartKey: row,
      Limit: 3,
    }),
    { Items: [attributes, attributes], LastEvaluatedKey: attributes, Count: 2, ScannedCount: 2 },
  ],
  [
    new BatchGetCommand({ RequestItems: { table: { Keys: [row, row], ConsistentRead: true } } }),
    {
      Responses: { table: [attributes] },
      UnprocessedKeys: { table: { Keys: [{ pk: { S: 'p' } }], ConsistentRead: true } },
    },
  ],
  [
    new BatchGetCommand({ RequestItems: { table: { Keys: [row] } } }),
    { Responses: {}, UnprocessedKeys: {} },
  ],
  [
    new BatchWriteCommand({
      RequestItems: {
        table: [{ PutRequest: { Item: rich } }, { DeleteRequest: { Key: row } }],
      },
    }),
    {
      UnprocessedItems: {
        table: [{ PutRequest: { Item: attributes } }, { DeleteRequest: { Key: attributes } }],
      },
    },
  ],
  [
    new TransactWriteCommand({
      ClientRequestToken: 'token',
      TransactItems: [
        { Put: { TableName, Item: rich } },
        {
          Update: {
            TableName,
            Key: row,
            UpdateExpression: 'SET a = :a',
            ExpressionAttributeValues: values,
          },
        },
        { Delete: { TableName, Key: row } },
        {
          ConditionCheck: {
            TableName,
            Key: row,
            ConditionExpression: 'a = :a',
            ExpressionAttributeValues: values,
          },
        },
      ],
    }),
    {},
  ],
]

describe('The lean client', () => {
  it.each(
    cases.map(([command, answer], at) => [at, command.constructor.name, command, answer] as const),
  )(
    'sends what the SDK sends, and reads what it reads (case %i, %s).',
    async (_at, _name, command, answer) => {
      const { sent, sdk, lean } = open(answer)
      const { $metadata: _ours, ...ours } = (await lean.send(command as never)) as Record<
        string,
        unknown
      >
      const { $metadata: _theirs, ...theirs } = (await sdk.send(
        command as never,
      )) as unknown as Record<string, unknown>
      expect(ours).toEqual(theirs)
      const [mine, other] = sent.map(({ headers, body }) => [
        headers['x-amz-target'],
        headers['content-type'],
        JSON.parse(body),
      ])
      expect(mine).toEqual(other)
    },
  )

  it('gives a transaction without a token one of its own, as the SDK does.', async () => {
    const { sent, lean } = open({})
    for (let i = 0; i < 2; i += 1) {
      await lean.send(
        new TransactWriteCommand({ TransactItems: [{ Delete: { TableName, Key: row } }] }) as never,
      )
    }
    const tokens = sent.map(({ body }) => JSON.parse(body).ClientRequestToken)
    expect(new Set(tokens).size).toBe(2)
    for (const token of tokens) expect(token).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('sends a transaction once more with the same token.', async () => {
    const { sent, lean } = open({ __type: 'x#ExpiredTokenException' }, 400)
    const command = new TransactWriteCommand({
      TransactItems: [{ Delete: { TableName, Key: row } }],
    })
    await expect(lean.send(command)).rejects.toThrow()
    expect(sent).toHaveLength(2)
    expect(sent[0]?.body).toBe(sent[1]?.body)
  })

  it('refuses a command that the engine never sends, before anything leaves.', async () => {
    const { sent, lean } = open({})
    await expect(lean.send(new ScanCommand({ TableName }) as never)).rejects.toThrow(
      'Cannot send a ScanCommand',
    )
    expect(sent).toEqual([])
  })

  it.each([
    [
      'a condition',
      {
        __type: 'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException',
        message: 'no',
        Item: attributes,
      },
    ],
    [
      'a condition without its item',
      { __type: 'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException', message: 'no' },
    ],
    [
      'a transaction',
      {
        __type: 'com.amazonaws.dynamodb.v20120810#TransactionCanceledException',
        Message: 'cancelled',
        CancellationReasons: [
          { Code: 'None' },
          {
            Code: 'ConditionalCheckFailed',
            Item: { ...attributes, bytes: { BS: ['AQID', 'BA=='] } },
            Message: 'm',
          },
        ],
      },
    ],
    [
      'throughput',
      {
        __type: 'com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException',
        message: 'slow',
      },
    ],
    [
      'throttling',
      { __type: 'com.amazon.coral.availability#ThrottlingException', message: 'slow' },
    ],
    [
      'a limit',
      { __type: 'com.amazonaws.dynamodb.v20120810#RequestLimitExceeded', message: 'slow' },
    ],
    [
      'a conflict',
      { __type: 'com.amazonaws.dynamodb.v20120810#TransactionConflictException', message: 'busy' },
    ],
    ['a failure of its own', { __type: 'x#InternalServerError', message: 'oh' }, 500],
    ['validation', { __type: 'com.amazon.coral.validate#ValidationException', message: 'wrong' }],
    ['access', { __type: 'com.amazon.coral.service#AccessDeniedException', Message: 'no' }],
    [
      'a name with an address',
      { __type: 'com.x#ThrottlingException:http://internal/x', message: 'slow' },
    ],
  ])('throws what the SDK throws: %s.', async (_, answer, status = 400) => {
    const { sdk, lean } = open(answer, status as number)
    const get = () => new GetCommand({ TableName, Key: row }) as never
    const told = async (sending: Promise<unknown>) => {
      const error = (await sending.catch((thrown: unknown) => thrown)) as Record<string, unknown> &
        Error
      const { name, message, Item, CancellationReasons, $fault, $metadata } = error
      const { httpStatusCode, requestId } = $metadata as Record<string, unknown>
      return { name, message, Item, CancellationReasons, $fault, httpStatusCode, requestId }
    }
    expect(await told(lean.send(get()))).toEqual(await told(sdk.send(get())))
  })
})
