import { describe, expect, test } from 'vitest'
import { planStack } from '../../../local/template/plan.ts'
import { rule, shopTemplate, streamMapping } from '../an-assembly.ts'

const arn = (name: string) => `arn:aws:sqs:us-east-1:123456789012:${name}`

const plan = (resources: Readonly<Record<string, unknown>>) =>
  planStack([
    {
      stackName: 'Shop',
      directory: '/shop',
      template: shopTemplate({ functions: { Work: { code: '' } }, resources }) as never,
    },
  ])

const queue = (Properties: object = {}) => ({ Type: 'AWS::SQS::Queue', Properties })
const fifo = queue({ FifoQueue: true })
const ofInbox = { EventSourceArn: { 'Fn::GetAtt': ['Inbox', 'Arn'] } }
const mapping = (properties: object = {}) => streamMapping('Work', { ...ofInbox, ...properties })

describe('the queues of a template', () => {
  test('with their attributes as SQS takes them', () => {
    const { queues, leftOut } = plan({
      Letters: queue({ QueueName: 'letters.fifo', FifoQueue: true }),
      Inbox: queue({
        FifoQueue: true,
        VisibilityTimeout: 90,
        ContentBasedDeduplication: true,
        KmsMasterKeyId: 'alias/aws/sqs',
        RedrivePolicy: {
          deadLetterTargetArn: { 'Fn::GetAtt': ['Letters', 'Arn'] },
          maxReceiveCount: 5,
        },
      }),
      Policy: { Type: 'AWS::SQS::QueuePolicy', Properties: { Queues: [{ Ref: 'Inbox' }] } },
    })
    expect(queues).toEqual([
      {
        logicalId: 'Letters',
        name: 'letters.fifo',
        arn: arn('letters.fifo'),
        url: 'https://sqs.us-east-1.amazonaws.com/123456789012/letters.fifo',
        isFifo: true,
        attributes: {},
      },
      {
        logicalId: 'Inbox',
        name: 'Shop-Inbox.fifo',
        arn: arn('Shop-Inbox.fifo'),
        url: 'https://sqs.us-east-1.amazonaws.com/123456789012/Shop-Inbox.fifo',
        isFifo: true,
        attributes: {
          ContentBasedDeduplication: 'true',
          RedrivePolicy: `{"deadLetterTargetArn":"${arn('letters.fifo')}","maxReceiveCount":5}`,
          VisibilityTimeout: '90',
        },
      },
    ])
    expect(leftOut).toEqual([])
  })

  test('with a name that SQS takes, however long the logical id is', () => {
    const { queues } = plan({ [`${'Long'.repeat(30)}0123ABCD`]: fifo })
    expect(queues[0]?.name).toMatch(/0123ABCD\.fifo$/)
    expect(queues[0]?.name).toHaveLength(80)
  })

  test('and the functions that read them', () => {
    const { queueMappings, streams } = plan({
      Inbox: queue({ FifoQueue: true, VisibilityTimeout: 60 }),
      Read: mapping({
        BatchSize: 7,
        FunctionResponseTypes: ['ReportBatchItemFailures'],
        ScalingConfig: { MaximumConcurrency: 20 },
        FilterCriteria: { Filters: [{ Pattern: '{"body":{"a":[1]}}' }] },
      }),
      Off: mapping({ Enabled: false }),
    })
    expect(streams).toEqual([])
    expect(queueMappings).toEqual([
      {
        id: 'Read',
        functionArn: 'arn:aws:lambda:us-east-1:123456789012:function:Shop-Work',
        queueUrl: 'https://sqs.us-east-1.amazonaws.com/123456789012/Shop-Inbox.fifo',
        queueArn: arn('Shop-Inbox.fifo'),
        isFifo: true,
        patterns: [{ body: { a: [1] } }],
        batchSize: 7,
        windowMs: 0,
        reportsItemFailures: true,
        concurrencyMax: 20,
      },
    ])
  })

  const toInbox = (target: object = {}) =>
    rule('Work', {
      EventPattern: { source: ['a'] },
      Targets: [{ Id: 'T', Arn: { 'Fn::GetAtt': ['Inbox', 'Arn'] }, ...target }],
    })

  test('and the rules that send to them', () => {
    const { eventRules } = plan({
      Inbox: fifo,
      Rule: toInbox({ SqsParameters: { MessageGroupId: 'orders' }, InputPath: '$.detail' }),
    })
    expect(eventRules[0]?.targets).toEqual([
      {
        queueUrl: 'https://sqs.us-east-1.amazonaws.com/123456789012/Shop-Inbox.fifo',
        messageGroupId: 'orders',
        inputPath: '$.detail',
      },
    ])
  })

  test.each([
    [
      'a queue whose messages are visible before its function ends',
      { Inbox: queue({ VisibilityTimeout: 5 }), Read: mapping() },
      'Cannot run Read because messages of Inbox are visible again after 5 s, while its function may take 10 s',
    ],
    [
      'a batch of a FIFO queue with more than ten',
      { Inbox: fifo, Read: mapping({ BatchSize: 11 }) },
      'Cannot run Read because its BatchSize is 11, and must be between 1 and 10',
    ],
    [
      'a batching window of a FIFO queue',
      { Inbox: fifo, Read: mapping({ MaximumBatchingWindowInSeconds: 1 }) },
      'Cannot run Read because a FIFO queue has no batching window',
    ],
    [
      'a large batch without a window',
      { Inbox: queue(), Read: mapping({ BatchSize: 100 }) },
      'Cannot run Read because its BatchSize is 100, and a batch of more than 10 needs a batching window',
    ],
    [
      'a concurrency of one',
      { Inbox: queue(), Read: mapping({ ScalingConfig: { MaximumConcurrency: 1 } }) },
      'Cannot run Read because its MaximumConcurrency is 1, and must be between 2 and 1,000',
    ],
    [
      'a rule without a group for a FIFO queue',
      { Inbox: fifo, Rule: toInbox() },
      'Cannot run the rule Rule because its target is a FIFO queue and has no MessageGroupId',
    ],
  ])('%s is one sentence', (_, resources, sentence) => {
    expect(() => plan(resources)).toThrow(sentence)
  })
})
