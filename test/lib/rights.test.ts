import { describe, expect, it } from 'vitest'
import { rightsOf } from './rights.ts'
import { synthesised } from './synthesised.ts'

/** Every right of every function, whole: one more, or one less, is a decision to be made here. */

const { resources, ofType } = synthesised()

const own = (name: string) => [
  `logs:CreateLogStream on ${name}Logs`,
  `logs:PutLogEvents on ${name}Logs`,
  // These two know no resources.
  'xray:PutTelemetryRecords on *',
  'xray:PutTraceSegments on *',
]
const readItems = ['dynamodb:GetItem on StorageTable', 'dynamodb:Query on StorageTable']
const changeRecords = ['dynamodb:UpdateItem on StorageTable']
const writeRows = ['dynamodb:BatchWriteItem on StorageTable', 'dynamodb:PutItem on StorageTable']
const readObjects = ['s3:GetObject on StorageSegments/*']
const writeObjects = ['s3:DeleteObject on StorageSegments/*', 's3:PutObject on StorageSegments/*']
const readStream = [
  'dynamodb:DescribeStream on StorageTable.StreamArn',
  'dynamodb:GetRecords on StorageTable.StreamArn',
  'dynamodb:GetShardIterator on StorageTable.StreamArn',
  'dynamodb:ListStreams on StorageTable.StreamArn',
]
const sendTo = (queue: string) =>
  ['GetQueueAttributes', 'GetQueueUrl', 'SendMessage'].map((action) => `sqs:${action} on ${queue}`)
const callWake = 'lambda:InvokeFunction on Wake'
const moveItems = [...readItems, ...changeRecords, ...writeRows, ...readObjects, ...writeObjects]

const rights: Readonly<Record<string, readonly string[]>> = {
  Wake: [
    ...moveItems,
    'dynamodb:BatchGetItem on StorageTable',
    'dynamodb:DeleteItem on StorageTable',
    'dynamodb:Query on StorageTable/index/check',
  ],
  Push: [...moveItems, ...sendTo('Inbox')],
  Pop: [...moveItems, 'dynamodb:DeleteItem on StorageTable'],
  Settle: moveItems,
  Inspect: [
    ...readItems,
    'dynamodb:BatchGetItem on StorageTable',
    'dynamodb:Query on StorageTable/index/directory',
    ...readObjects,
  ],
  Manage: [...moveItems, 'dynamodb:DeleteItem on StorageTable'],
  Rate: ['dynamodb:GetItem on StorageTable', ...changeRecords, 'dynamodb:PutItem on StorageTable'],
  ReturnExpiredLocks: [
    ...moveItems,
    'dynamodb:BatchGetItem on StorageTable',
    'dynamodb:DeleteItem on StorageTable',
    'dynamodb:Query on StorageTable/index/check',
    'dynamodb:Query on StorageTable/index/directory',
    callWake,
  ],
  Housekeep: [
    ...moveItems,
    ...readStream,
    'sqs:SendMessage on HousekeepingStreamFailures',
    callWake,
  ],
  Health: [],
  /** Not one on the table: what it knows is in the stream. */
  Announce: [...readStream, 'events:PutEvents on EventsBus', 'sqs:SendMessage on EventsFailures'],
  ApplyInbox: [
    ...moveItems,
    'dynamodb:BatchGetItem on StorageTable',
    ...['ChangeMessageVisibility', 'DeleteMessage', 'ReceiveMessage'].map(
      (it) => `sqs:${it} on Inbox`,
    ),
    'sqs:GetQueueAttributes on Inbox',
    'sqs:GetQueueUrl on Inbox',
    ...sendTo('InboxFailures'),
  ],
}

describe('Rights', () => {
  it.each(Object.entries(rights))('of %s are these and no others.', (name, expected) => {
    expect(rightsOf(resources, name)).toEqual([...own(name), ...expected].sort())
  })

  it('are stated here for every function there is.', () => {
    expect(ofType('AWS::Lambda::Function').map(([id]) => id)).toEqual(Object.keys(rights))
  })

  it('are of a role of its own for each function, which only Lambda can take.', () => {
    const roles = ofType('AWS::IAM::Role')
    const used = ofType('AWS::Lambda::Function').map(([, { Properties }]) => Properties.Role)
    expect(used.map((role) => role['Fn::GetAtt'][0]).sort()).toEqual(roles.map(([id]) => id).sort())
    for (const [, { Properties }] of roles) {
      expect(Properties.AssumeRolePolicyDocument.Statement).toEqual([
        {
          Action: 'sts:AssumeRole',
          Effect: 'Allow',
          Principal: { Service: 'lambda.amazonaws.com' },
        },
      ])
    }
  })

  it('end without tracing where tracing does.', () => {
    const { resources } = synthesised({ tracing: 'false' })
    expect(rightsOf(resources, 'Health')).toEqual(own('Health').slice(0, 2))
    expect(resources.Push?.Properties.TracingConfig).toBeUndefined()
  })
})
