import { describe, expect, it } from 'vitest'
import { nameOf } from './rights.ts'
import { synthesised } from './synthesised.ts'

const { ofType, resources } = synthesised()

/** Types that were looked at here. Another one is a question to be answered first. */
const known = [
  'AWS::ApiGatewayV2::Api',
  'AWS::ApiGatewayV2::Integration',
  'AWS::ApiGatewayV2::Route',
  'AWS::ApiGatewayV2::Stage',
  'AWS::CloudWatch::Alarm',
  'AWS::CloudWatch::Dashboard',
  'AWS::DynamoDB::Table',
  'AWS::Events::Archive',
  'AWS::Events::EventBus',
  'AWS::Events::Rule',
  'AWS::IAM::Policy',
  'AWS::IAM::Role',
  'AWS::Lambda::EventInvokeConfig',
  'AWS::Lambda::EventSourceMapping',
  'AWS::Lambda::Function',
  'AWS::Lambda::Permission',
  'AWS::Logs::LogGroup',
  'AWS::S3::Bucket',
  'AWS::S3::BucketPolicy',
  'AWS::SQS::Queue',
  'AWS::SQS::QueuePolicy',
]

describe('Nothing is public:', () => {
  it('the stack is made of these kinds of resources alone.', () => {
    const types = new Set(Object.values(resources).map(({ Type }) => Type))
    expect([...types].sort()).toEqual(known)
  })

  it('policies of resources allow nobody anything; they only refuse what is not encrypted.', () => {
    const policies = [...ofType('AWS::S3::BucketPolicy'), ...ofType('AWS::SQS::QueuePolicy')]
    expect(policies).toHaveLength(5)
    for (const [, { Properties }] of policies) {
      expect(Properties.PolicyDocument.Statement).toEqual([
        expect.objectContaining({
          Effect: 'Deny',
          Condition: { Bool: { 'aws:SecureTransport': 'false' } },
        }),
      ])
    }
  })

  it('functions may be called by this API and this schedule, and by nobody else.', () => {
    const callers = ofType('AWS::Lambda::Permission').map(([, { Properties }]) => {
      expect(Properties.Action).toBe('lambda:InvokeFunction')
      return [
        nameOf(Properties.FunctionName),
        Properties.Principal as string,
        nameOf(Properties.SourceArn),
      ]
    })
    const api = 'arn:Partition:execute-api:Region:AccountId:Api/*/*'
    const gateway = (name: string) => [name, 'apigateway.amazonaws.com', api]
    expect(callers).toEqual([
      gateway('Push'),
      gateway('Pop'),
      gateway('Settle'),
      gateway('Inspect'),
      gateway('Manage'),
      gateway('Rate'),
      ['ReturnExpiredLocks', 'events.amazonaws.com', 'SweepSchedule'],
      gateway('Health'),
    ])
  })

  it('nothing has a name that somebody else could have taken, or that stands in the way of a second.', () => {
    const named = Object.entries(resources).filter(([, { Properties }]) =>
      ['TableName', 'BucketName', 'FunctionName', 'QueueName', 'RoleName', 'LogGroupName'].some(
        (name) => typeof Properties?.[name] === 'string',
      ),
    )
    expect(named).toEqual([])
  })
})
