// What the template says of storage, streams, schedule and bus: a sentence, a resource, and the values
// at these places in it.

import { Duration } from 'aws-cdk-lib/core'
import { expect, it } from 'vitest'
import { tableDefinition } from '../../aws/table.ts'
import { GROUP_DELAY_SECONDS_MAX } from '../../lambdas/inbox/apply.ts'
import { aLane, aRecord } from '../engine/core/a-record.ts'
import { storedOf } from '../engine/requests/an-update.ts'
import { nameOf } from './rights.ts'
import { aService, at, type Resources, synthesised } from './synthesised.ts'

const made = synthesised()
const { resources: kept } = made
const { resources: trial } = synthesised({ stage: 'trial' })
const thrown = synthesised({ throwaway: 'true' })

const keys = (partition: string, sort: string) => [
  { AttributeName: partition, KeyType: 'HASH' },
  { AttributeName: sort, KeyType: 'RANGE' },
]
const { partitionKey, sortKey, indexes } = tableDefinition
const named = [partitionKey, sortKey, ...indexes.flatMap((i) => [i.partitionKey, i.sortKey])]

/** Of every function behind the table's stream, from its beginning. */
const reader = {
  EventSourceArn: { 'Fn::GetAtt': ['StorageTable', 'StreamArn'] },
  StartingPosition: 'TRIM_HORIZON',
  BatchSize: 100,
  ParallelizationFactor: 4,
  FunctionResponseTypes: ['ReportBatchItemFailures'],
  BisectBatchOnFunctionError: true,
  MaximumRecordAgeInSeconds: 6 * 3_600,
}
const failures = (id: string) => ({
  'DestinationConfig.OnFailure.Destination': { 'Fn::GetAtt': [id, 'Arn'] },
})
const failureQueue = { '': { MessageRetentionPeriod: 14 * 86_400, SqsManagedSseEnabled: true } }
const once = { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 }
const exists = { S: [{ exists: true }] }
const isMissing = { S: [{ exists: false }] }

type Fact = [sentence: string, resources: Resources, id: string, values: Record<string, unknown>]

const facts: readonly Fact[] = [
  [
    'The table has the keys and the sparse indexes that the engine asks for, and no other',
    kept,
    'StorageTable',
    {
      KeySchema: keys(partitionKey.name, sortKey.name),
      GlobalSecondaryIndexes: indexes.map(({ name, partitionKey, sortKey }) => ({
        IndexName: name,
        KeySchema: keys(partitionKey.name, sortKey.name),
        // A write that changes none of the keys costs nothing there.
        Projection: { ProjectionType: 'KEYS_ONLY' },
      })),
      AttributeDefinitions: [...new Map(named.map(({ name, type }) => [name, type]))].map(
        ([AttributeName, AttributeType]) => ({ AttributeName, AttributeType }),
      ),
    },
  ],
  [
    'The table is paid for by the request, lets receipts expire, streams both images, and can be restored to any second of 35 days',
    kept,
    'StorageTable',
    {
      BillingMode: 'PAY_PER_REQUEST',
      TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true },
      StreamSpecification: { StreamViewType: 'NEW_AND_OLD_IMAGES' },
      PointInTimeRecoverySpecification: {
        PointInTimeRecoveryEnabled: true,
        RecoveryPeriodInDays: 35,
      },
    },
  ],
  [
    // Nor by CloudFormation, where the first deployment fails: the rollback would be stuck.
    'The table outlives its stack and nobody deletes it by mistake',
    kept,
    'StorageTable',
    {
      DeletionProtectionEnabled: true,
      '^DeletionPolicy': 'Retain',
      '^UpdateReplacePolicy': 'Retain',
    },
  ],
  [
    'The table goes with its stack where that is for throwing away',
    thrown.resources,
    'StorageTable',
    { DeletionProtectionEnabled: false, '^DeletionPolicy': 'Delete' },
  ],
  [
    'The bucket is closed to the public, and encrypted',
    kept,
    'StorageSegments',
    {
      PublicAccessBlockConfiguration: {
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      },
      'BucketEncryption.ServerSideEncryptionConfiguration': [
        { ServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } },
      ],
    },
  ],
  [
    'The bucket refuses what does not come over TLS, and its policy allows nothing',
    kept,
    'StorageSegmentsPolicy',
    {
      'PolicyDocument.Statement': [
        expect.objectContaining({
          Effect: 'Deny',
          Action: 's3:*',
          Principal: { AWS: '*' },
          Condition: { Bool: { 'aws:SecureTransport': 'false' } },
        }),
      ],
    },
  ],
  [
    'The bucket keeps deleted segments as long as the table can be restored, and no upload unfinished',
    kept,
    'StorageSegments',
    {
      VersioningConfiguration: { Status: 'Enabled' },
      'LifecycleConfiguration.Rules': [
        {
          Id: 'unfinished-uploads',
          Status: 'Enabled',
          AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 },
        },
        {
          Id: 'deleted-segments',
          Status: 'Enabled',
          NoncurrentVersionExpiration: { NoncurrentDays: 35 },
          ExpiredObjectDeleteMarker: true,
        },
      ],
    },
  ],
  [
    // Where the first deployment fails it is empty, and goes.
    'The bucket outlives its stack',
    kept,
    'StorageSegments',
    { '^DeletionPolicy': 'RetainExceptOnCreate', '^UpdateReplacePolicy': 'Retain' },
  ],
  [
    'The bucket goes with a stack for throwing away',
    thrown.resources,
    'StorageSegments',
    { '^DeletionPolicy': 'Delete', VersioningConfiguration: undefined },
  ],
  [
    'The schedule calls the sweeper once a minute, each time once',
    kept,
    'SweepSchedule',
    {
      ScheduleExpression: 'rate(1 minute)',
      State: 'ENABLED',
      Targets: [
        expect.objectContaining({
          Arn: { 'Fn::GetAtt': ['ReturnExpiredLocks', 'Arn'] },
          RetryPolicy: once,
        }),
      ],
    },
  ],
  ['A call of Wake that fails is not repeated', kept, 'WakeEventInvokeConfig', once],
  [
    'A run of the sweeper that fails is not repeated',
    kept,
    'ReturnExpiredLocksEventInvokeConfig',
    once,
  ],
  [
    'The stream wakes housekeeping, in batches that it collects for a second, for records that have work, and whose timers become near',
    kept,
    'HousekeepingStream',
    {
      ...reader,
      ...failures('HousekeepingStreamFailures'),
      FunctionName: { Ref: 'Housekeep' },
      MaximumBatchingWindowInSeconds: 1,
      MaximumRetryAttempts: 5,
      'FilterCriteria.Filters': [
        { Pattern: JSON.stringify({ dynamodb: { NewImage: { work: exists } } }) },
        {
          Pattern: JSON.stringify({
            dynamodb: { NewImage: { wk: exists }, OldImage: { wk: isMissing } },
          }),
        },
      ],
    },
  ],
  [
    'What housekeeping gave up is kept for two weeks',
    kept,
    'HousekeepingStreamFailures',
    failureQueue,
  ],
  [
    'The stream wakes the announcer at once',
    kept,
    'EventsStream',
    {
      ...reader,
      ...failures('EventsFailures'),
      FunctionName: { Ref: 'Announce' },
      MaximumBatchingWindowInSeconds: undefined,
      MaximumRetryAttempts: 10,
    },
  ],
  ['Events that were given up are kept for two weeks', kept, 'EventsFailures', failureQueue],
  ['The bus has the service’s name', kept, 'EventsBus', { Name: 'PushPop' }],
  ['Two services in an account have two buses', trial, 'EventsBus', { Name: 'PushPop-trial' }],
  [
    'The bus keeps other accounts out, whatever is added to it',
    kept,
    'EventsBus',
    {
      'Policy.Statement': [
        {
          Sid: 'OtherAccountsStayOut',
          Effect: 'Deny',
          Principal: { AWS: '*' },
          Action: 'events:PutEvents',
          Resource: expect.anything(),
          Condition: {
            StringNotEquals: { 'aws:PrincipalAccount': { Ref: 'AWS::AccountId' } },
            BoolIfExists: { 'aws:PrincipalIsAWSService': 'false' },
          },
        },
      ],
    },
  ],
  [
    'Events of the service’s own are kept for a week, to be replayed',
    kept,
    'EventsArchive',
    { SourceArn: { 'Fn::GetAtt': ['EventsBus', 'Arn'] }, RetentionDays: 7 },
  ],
  [
    // Sequence numbers are in the records of queues, and what was accepted is nowhere else.
    'The inbox is a FIFO queue in which groups do not wait for each other, and outlives its stack',
    kept,
    'Inbox',
    {
      FifoQueue: true,
      FifoThroughputLimit: 'perMessageGroupId',
      DeduplicationScope: 'messageGroup',
      ContentBasedDeduplication: true,
      MessageRetentionPeriod: 14 * 86_400,
      SqsManagedSseEnabled: true,
      RedrivePolicy: {
        deadLetterTargetArn: { 'Fn::GetAtt': ['InboxFailures', 'Arn'] },
        maxReceiveCount: 1_000,
      },
      '^DeletionPolicy': 'RetainExceptOnCreate',
      '^UpdateReplacePolicy': 'Retain',
    },
  ],
  [
    'What the inbox gave up is kept in its order for two weeks, and outlives the stack',
    kept,
    'InboxFailures',
    {
      MessageRetentionPeriod: 14 * 86_400,
      FifoQueue: true,
      RedrivePolicy: undefined,
      '^DeletionPolicy': 'RetainExceptOnCreate',
    },
  ],
  [
    'The inbox goes with a stack for throwing away',
    thrown.resources,
    'Inbox',
    { '^DeletionPolicy': 'Delete' },
  ],
  [
    'The inbox is applied in batches of ten, by five environments, message by message',
    kept,
    'InboxMapping',
    {
      EventSourceArn: { 'Fn::GetAtt': ['Inbox', 'Arn'] },
      FunctionName: { Ref: 'ApplyInbox' },
      BatchSize: 10,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      'ScalingConfig.MaximumConcurrency': 5,
      MaximumBatchingWindowInSeconds: undefined,
    },
  ],
  [
    'The stage limits calls by default',
    kept,
    'ApiStage',
    { DefaultRouteSettings: { ThrottlingRateLimit: 1_000, ThrottlingBurstLimit: 2_000 } },
  ],
]

it.each(facts)('%s.', (_, resources, id, values) => {
  const found = Object.keys(values).map((path) => [
    path,
    path.startsWith('^') ? at(resources[id], path.slice(1)) : at(resources[id]?.Properties, path),
  ])
  expect(Object.fromEntries(found)).toEqual(values)
})

it('Only a bucket for throwing away is emptied with its stack.', () => {
  expect(made.ofType('Custom::S3AutoDeleteObjects')).toEqual([])
  expect(thrown.ofType('Custom::S3AutoDeleteObjects')).toHaveLength(1)
})

it('The stream has no more readers than DynamoDB allows, and the bus no policy that lets anybody in.', () => {
  const readers = made
    .ofType('AWS::Lambda::EventSourceMapping')
    .filter(([, { Properties }]) => nameOf(Properties.EventSourceArn).startsWith('StorageTable'))
  expect(readers).toHaveLength(2)
  expect(made.ofType('AWS::Events::EventBusPolicy')).toEqual([])
})

it('The engine writes `work` as the filter of housekeeping wants it.', () => {
  const record = aRecord({ 0: aLane() })
  expect(typeof storedOf({ ...record, work: true }).work).toBe('string')
  expect(storedOf({ ...record, work: false })).not.toHaveProperty('work')
})

it('Each service in one stack has its own bus, and an archive as long as its settings say.', () => {
  const { look } = aService({ eventArchive: Duration.days(30) }, 'Orders', 'Mails')
  const properties = (type: string, name: string) =>
    look()
      .ofType(type)
      .map(([, { Properties }]) => Properties[name])
  expect(properties('AWS::Events::EventBus', 'Name')).toEqual(['Shop-Orders', 'Shop-Mails'])
  expect(properties('AWS::Events::Archive', 'RetentionDays')).toEqual([30, 30])
})

it('Several sweepers are called side by side, each for its part of the shards, and all shards have one.', () => {
  const { ofType } = synthesised({ sweepers: '4' })
  const rules = ofType('AWS::Events::Rule').filter(([id]) => id.startsWith('SweepSchedule'))
  expect(rules).toHaveLength(4)
  const parts = rules.map(([, { Properties }]) => {
    expect(nameOf(Properties.Targets[0].Arn)).toBe('ReturnExpiredLocks')
    return JSON.parse(Properties.Targets[0].Input).shards as number[]
  })
  expect(parts[1]).toEqual([1, 5, 9, 13])
  expect(parts.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: 16 }, (_, n) => n))
  const callers = ofType('AWS::Lambda::Permission')
    .filter(([, { Properties }]) => nameOf(Properties.FunctionName) === 'ReturnExpiredLocks')
    .map(([, { Properties }]) => nameOf(Properties.SourceArn))
  expect(new Set(callers)).toEqual(new Set(rules.map(([id]) => id)))
})

it('The inbox hides a batch for as long as AWS advises, and as long as the function waits by itself.', () => {
  const { Timeout } = kept.ApplyInbox?.Properties ?? {}
  const { VisibilityTimeout } = kept.Inbox?.Properties ?? {}
  expect(VisibilityTimeout).toBeGreaterThanOrEqual(6 * Timeout)
  expect(VisibilityTimeout).toBe(GROUP_DELAY_SECONDS_MAX)
})

it('Messages for a function that cannot start stay in the inbox for twelve days, and are then kept before SQS deletes them.', () => {
  const { VisibilityTimeout, MessageRetentionPeriod, RedrivePolicy } = kept.Inbox?.Properties ?? {}
  const givenOutForSeconds = RedrivePolicy.maxReceiveCount * VisibilityTimeout
  expect(givenOutForSeconds).toBeGreaterThan(12 * 86_400)
  // A poll may come two minutes late each time.
  const lateSeconds = RedrivePolicy.maxReceiveCount * 120
  expect(givenOutForSeconds + lateSeconds).toBeLessThan(MessageRetentionPeriod)
})
