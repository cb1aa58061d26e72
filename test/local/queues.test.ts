// Queues through a running stack: functions that read them, and what sends to them.

import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { LocalStack } from '../../local/start-local-stack.ts'
import { sqsApi } from '../../local/stores/store-api.ts'
import { makeWorkplace, until, type Workplace, withJournal } from './a-stack.ts'
import { rule, type Shop } from './an-assembly.ts'

let workplace: Workplace
beforeEach(() => {
  workplace = makeWorkplace()
})
afterEach(() => workplace.cleanUp())

const fifoQueue = (properties: object = {}) => ({
  Type: 'AWS::SQS::Queue',
  Properties: {
    FifoQueue: true,
    ContentBasedDeduplication: true,
    DeduplicationScope: 'messageGroup',
    FifoThroughputLimit: 'perMessageGroupId',
    VisibilityTimeout: 10,
    ...properties,
  },
})

const queueMapping = (functionId: string, properties: object = {}) => ({
  Type: 'AWS::Lambda::EventSourceMapping',
  Properties: {
    EventSourceArn: { 'Fn::GetAtt': ['Inbox', 'Arn'] },
    FunctionName: { Ref: functionId },
    BatchSize: 10,
    FunctionResponseTypes: ['ReportBatchItemFailures'],
    ...properties,
  },
})

/** Writes down the bodies of each batch, and does what comes after. */
const working = (more = '') =>
  withJournal(
    workplace.directory,
    `export const handler = async ({ Records }) => {
      const bodies = Records.map(({ body }) => body)
      write(bodies)
      ${more}
    }`,
  )

const shop = (code: string, more: Partial<Shop['resources']> = {}, mapping: object = {}): Shop => ({
  functions: { Work: { code } },
  resources: { Inbox: fifoQueue(), Mapping: queueMapping('Work', mapping), ...more },
})

const inbox = 'https://sqs.us-east-1.amazonaws.com/123456789012/Shop-Inbox.fifo'

const call = (stack: LocalStack, action: string, input: object = {}) =>
  sqsApi(stack.sqsEndpoint ?? '')(action, { QueueUrl: inbox, ...input })

const send = (stack: LocalStack, group: string, body: string) =>
  call(stack, 'SendMessage', { MessageGroupId: group, MessageBody: body })

async function left(stack: LocalStack): Promise<number> {
  const { Attributes } = await call(stack, 'GetQueueAttributes', { AttributeNames: ['All'] })
  const counts = Attributes as Record<string, string>
  return (
    Number(counts.ApproximateNumberOfMessages) +
    Number(counts.ApproximateNumberOfMessagesNotVisible)
  )
}

const handled = () => workplace.journal().flat()

test('a function gets the messages of a queue in the order of each group, and they are deleted', async () => {
  const stack = await workplace.start(shop(working()))
  for (let n = 1; n <= 20; n++) await send(stack, n % 2 === 0 ? 'even' : 'odd', String(n))
  await until(() => handled().length >= 20)
  const numbers = handled().map(Number)
  expect(numbers.filter((n) => n % 2 === 0)).toEqual([2, 4, 6, 8, 10, 12, 14, 16, 18, 20])
  expect(numbers.filter((n) => n % 2 === 1)).toEqual([1, 3, 5, 7, 9, 11, 13, 15, 17, 19])
  await until(async () => (await left(stack)) === 0)
})

test('the event is the one of Lambda', async () => {
  const code = withJournal(
    workplace.directory,
    'export const handler = async ({ Records }) => write(Records[0])',
  )
  const stack = await workplace.start(shop(code))
  await call(stack, 'SendMessage', {
    MessageGroupId: 'a',
    MessageDeduplicationId: 'once',
    MessageBody: '{"item":1}',
    MessageAttributes: { 'idempotency-key': { DataType: 'String', StringValue: 'k' } },
  })
  await until(() => workplace.journal().length === 1)
  expect(workplace.journal()).toEqual([
    {
      messageId: expect.stringMatching(/^[\da-f-]{36}$/),
      receiptHandle: expect.any(String),
      body: '{"item":1}',
      attributes: {
        ApproximateReceiveCount: '1',
        SentTimestamp: expect.stringMatching(/^\d{13}$/),
        SequenceNumber: expect.stringMatching(/^\d{20}$/),
        MessageGroupId: 'a',
        SenderId: expect.any(String),
        MessageDeduplicationId: 'once',
        ApproximateFirstReceiveTimestamp: expect.stringMatching(/^\d{13}$/),
      },
      messageAttributes: {
        'idempotency-key': {
          stringValue: 'k',
          stringListValues: [],
          binaryListValues: [],
          dataType: 'String',
        },
      },
      md5OfBody: '9170564767663152221b701c7cc2b6e0',
      md5OfMessageAttributes: expect.stringMatching(/^[\da-f]{32}$/),
      eventSource: 'aws:sqs',
      eventSourceARN: 'arn:aws:sqs:us-east-1:123456789012:Shop-Inbox.fifo',
      awsRegion: 'us-east-1',
    },
  ])
})

test('what a function names as failed comes again, and the rest is deleted', async () => {
  const marker = join(workplace.directory, 'fail')
  writeFileSync(marker, '')
  const code = working(`
    const from = exists('fail') ? bodies.indexOf('bad') : -1
    const failed = from < 0 ? [] : Records.slice(from)
    return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) }`)
  const stack = await workplace.start({
    functions: { Work: { code, properties: { Timeout: 1 } } },
    resources: { Inbox: fifoQueue({ VisibilityTimeout: 2 }), Mapping: queueMapping('Work') },
  })
  const Entries = ['good', 'bad', 'later'].map((MessageBody, Id) => ({
    Id: String(Id),
    MessageBody,
    MessageGroupId: 'a',
  }))
  // On a busy machine a start may take longer than the messages stay invisible, and then they would all come again.
  await stack.invoke('Work', { Records: [] })
  await call(stack, 'SendMessageBatch', { Entries })
  await until(() => handled().length >= 3)
  await send(stack, 'b', 'other')
  rmSync(marker)
  await until(async () => (await left(stack)) === 0)
  expect(handled().filter((body) => body === 'good')).toHaveLength(1)
  expect(handled().lastIndexOf('bad')).toBeLessThan(handled().lastIndexOf('later'))
  expect(handled()).toContain('other')
})

test('a message that no filter lets through is deleted and not delivered', async () => {
  const FilterCriteria = { Filters: [{ Pattern: '{"body":{"kind":["wanted"]}}' }] }
  const stack = await workplace.start(shop(working(), {}, { FilterCriteria }))
  await send(stack, 'a', 'no JSON')
  await send(stack, 'a', '{"kind":"other"}')
  await send(stack, 'a', '{"kind":"wanted"}')
  await until(async () => (await left(stack)) === 0)
  expect(handled()).toEqual(['{"kind":"wanted"}'])
})

test('a rule sends the events of a bus to a FIFO queue, by its group', async () => {
  const put = `export const handler = async (entries) => {
    const response = await fetch(process.env.AWS_ENDPOINT_URL_EVENTBRIDGE, {
      method: 'POST',
      headers: { 'x-amz-target': 'AWSEvents.PutEvents' },
      body: JSON.stringify({ Entries: entries }),
    })
    return response.json()
  }`
  const code = withJournal(
    workplace.directory,
    `export const handler = async ({ Records }) => {
      for (const { body, attributes } of Records) write([attributes.MessageGroupId, body])
    }`,
  )
  const Arn = { 'Fn::GetAtt': ['Inbox', 'Arn'] }
  const stack = await workplace.start({
    functions: { Work: { code }, Put: { code: put } },
    resources: {
      Inbox: fifoQueue(),
      Mapping: queueMapping('Work'),
      Paid: rule('Work', {
        EventPattern: { source: ['till'] },
        Targets: [
          { Id: 'T', Arn, InputPath: '$.detail', SqsParameters: { MessageGroupId: 'orders' } },
        ],
      }),
    },
  })
  await stack.invoke('Put', [{ Source: 'till', DetailType: 'Paid', Detail: '{"item":5}' }])
  await until(() => workplace.journal().length === 1)
  expect(workplace.journal()).toEqual([['orders', '{"item":5}']])
})

test('a function sends to a queue by the address that the template gives it', async () => {
  const code = `
    export const handler = async (body) => {
      const { INBOX, AWS_ENDPOINT_URL_SQS } = process.env
      const response = await fetch(new URL(INBOX).origin, {
        method: 'POST',
        headers: { 'x-amz-target': 'AmazonSQS.SendMessage' },
        body: JSON.stringify({ QueueUrl: INBOX, MessageBody: body, MessageGroupId: 'a' }),
      })
      return response.ok && INBOX.startsWith(AWS_ENDPOINT_URL_SQS)
    }`
  const properties = { Environment: { Variables: { INBOX: { Ref: 'Inbox' } } } }
  const stack = await workplace.start({
    functions: { Work: { code: working() }, Send: { code, properties } },
    resources: { Inbox: fifoQueue(), Mapping: queueMapping('Work') },
  })
  const outcome = await stack.invoke('Send', 'hello')
  expect(outcome).toEqual(expect.objectContaining({ kind: 'answered', payload: 'true' }))
  await until(() => handled().length === 1)
  expect(handled()).toEqual(['hello'])
})

test('messages outlive the stack, and those of a function that ended with it come at once', async () => {
  const hanging = working('await new Promise(() => {})')
  const first = await workplace.start(shop(hanging))
  await send(first, 'a', 'one')
  await send(first, 'a', 'two')
  await until(() => handled().length >= 1)
  await first.stop()
  const second = await workplace.start(shop(working()))
  await until(async () => (await left(second)) === 0)
  expect(handled().lastIndexOf('one')).toBeGreaterThan(0)
  expect(handled()).toContain('two')
})
