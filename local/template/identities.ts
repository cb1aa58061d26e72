// What `Ref` and `Fn::GetAtt` return for a local resource: names made from the logical ids, and ARNs of an account
// that does not exist.

import { StartError } from '../start-error.ts'
import type { Resource } from './assembly.ts'

export const REGION = 'us-east-1'
/** The one of AWS's own examples. */
export const ACCOUNT = '123456789012'

export type Identity = {
  readonly ref: string
  readonly arn: string
  readonly attributes: Readonly<Record<string, string>>
}

/** Which property holds the name that the template gives a resource, if it gives one. */
const nameProperties: Readonly<Record<string, string>> = {
  'AWS::DynamoDB::Table': 'TableName',
  'AWS::Events::EventBus': 'Name',
  'AWS::Events::Rule': 'Name',
  'AWS::IAM::Role': 'RoleName',
  'AWS::Lambda::Function': 'FunctionName',
  'AWS::Logs::LogGroup': 'LogGroupName',
  'AWS::S3::Bucket': 'BucketName',
  'AWS::SNS::Topic': 'TopicName',
  'AWS::SQS::Queue': 'QueueName',
}

/** `name` has been resolved; it is absent where CloudFormation would make one up. */
export function identify(
  stackName: string,
  logicalId: string,
  { Type, Properties }: Pick<Resource, 'Type' | 'Properties'>,
  given?: string,
): Identity {
  const name = given ?? `${stackName}-${logicalId}`
  switch (Type) {
    case 'AWS::DynamoDB::Table': {
      const arn = arnOf('dynamodb', `table/${name}`)
      return { ref: name, arn, attributes: { StreamArn: `${arn}/stream/local` } }
    }
    case 'AWS::S3::Bucket': {
      const bucket = name.toLowerCase()
      const domain = { DomainName: `${bucket}.s3.amazonaws.com` }
      return { ref: bucket, arn: `arn:aws:s3:::${bucket}`, attributes: domain }
    }
    case 'AWS::Lambda::Function':
      return { ref: name, arn: arnOf('lambda', `function:${name}`), attributes: {} }
    case 'AWS::Events::EventBus':
      return { ref: name, arn: arnOf('events', `event-bus/${name}`), attributes: { Name: name } }
    case 'AWS::Events::Rule':
      return { ref: name, arn: arnOf('events', `rule/${name}`), attributes: {} }
    case 'AWS::SQS::Queue': {
      const suffix = String(Properties?.FifoQueue) === 'true' ? '.fifo' : ''
      // The end of a logical id is what makes it unique.
      const queue = given ?? name.slice(suffix.length - QUEUE_NAME_MAX) + suffix
      const url = `${QUEUES_URL}/${ACCOUNT}/${queue}`
      const attributes = { QueueName: queue, QueueUrl: url }
      return { ref: url, arn: arnOf('sqs', queue), attributes }
    }
    case 'AWS::SNS::Topic': {
      const arn = arnOf('sns', name)
      return { ref: arn, arn, attributes: { TopicArn: arn, TopicName: name } }
    }
    case 'AWS::ApiGatewayV2::Api': {
      const id = name.toLowerCase()
      const attributes = {
        ApiId: id,
        ApiEndpoint: apiEndpoint(id),
      }
      return { ref: id, arn: arnOf('apigateway', `/apis/${id}`), attributes }
    }
    case 'AWS::IAM::Role':
      return { ref: name, arn: `arn:aws:iam::${ACCOUNT}:role/${name}`, attributes: {} }
    case 'AWS::Logs::LogGroup':
      return { ref: name, arn: arnOf('logs', `log-group:${name}:*`), attributes: {} }
    default:
      // Nothing here uses it; it only needs a name and an ARN for the resources that mention it.
      return { ref: name, arn: arnOf('local', name), attributes: {} }
  }
}

/** SQS's own. */
const QUEUE_NAME_MAX = 80

/** The address that queues have on AWS. */
export const QUEUES_URL = `https://sqs.${REGION}.amazonaws.com`

/** The address that an HTTP API would have on AWS. */
export const apiEndpoint = (id: string): string =>
  `https://${id}.execute-api.${REGION}.amazonaws.com`

export const nameProperty = (type: string): string | undefined => nameProperties[type]

export function attributeOf(identity: Identity, logicalId: string, name: string): string {
  if (name === 'Arn') return identity.arn
  const value = identity.attributes[name]
  if (value !== undefined) return value
  throw new StartError(
    `Cannot run the template because the local stack knows no attribute ${name} of ${logicalId}`,
  )
}

function arnOf(service: string, resource: string): string {
  return `arn:aws:${service}:${REGION}:${ACCOUNT}:${resource}`
}
