// Which resources a template may contain in addition to those that we run. We refuse a resource that would exist on AWS
// but not work here although somebody calls or reads it. If it merely does nothing here, we name it at the start.

import { StartError } from '../start-error.ts'
import type { Resources } from './resources.ts'

/** The other files of this folder read these. */
const run = new Set([
  'AWS::ApiGatewayV2::Api',
  'AWS::ApiGatewayV2::Integration',
  'AWS::ApiGatewayV2::Route',
  'AWS::ApiGatewayV2::Stage',
  'AWS::DynamoDB::Table',
  'AWS::Events::EventBus',
  'AWS::Events::Rule',
  'AWS::Lambda::EventInvokeConfig',
  'AWS::Lambda::EventSourceMapping',
  'AWS::Lambda::Function',
  'AWS::S3::Bucket',
  'AWS::SQS::Queue',
])

/**
 * On one machine they make no difference: rights, keys, logs, alarms, copies, and the topics that hear of
 * failures. A program that calls one of them here calls AWS, and gets its refusal.
 */
const noDifference =
  /^AWS::(?:CDK::|CloudWatch::|IAM::|KMS::|Logs::|SNS::Topic|SQS::Queue(?:Inline)?Policy$|SSM::Parameter$|SecretsManager::|Events::(?:Archive|EventBusPolicy)$|Lambda::(?:Permission|Version)$|S3::BucketPolicy$|ApiGatewayV2::Authorizer$)|^Custom::(?:LogRetention|S3AutoDeleteObjects)$/

const ONLY_HTTP_APIS = 'the local stack serves functions by HTTP APIs only (AWS::ApiGatewayV2::Api)'

/** Why each is refused. */
const refused: Readonly<Record<string, string>> = {
  'AWS::Lambda::Url': `it is a function URL, and ${ONLY_HTTP_APIS}`,
  'AWS::ApiGateway::RestApi': `it is a REST API, and ${ONLY_HTTP_APIS}`,
  'AWS::AppSync::Api': `it is an AppSync API, and ${ONLY_HTTP_APIS}`,
  'AWS::AppSync::GraphQLApi': `it is an AppSync API, and ${ONLY_HTTP_APIS}`,
  'AWS::DynamoDB::GlobalTable':
    'it is a global table (TableV2), and the local stack makes only AWS::DynamoDB::Table (Table)',
  'AWS::CloudFormation::Stack':
    'it is a nested stack, and the local stack runs only stacks that stand by themselves',
  'AWS::Serverless::Function':
    'SAM makes it when it deploys, and the local stack runs no transforms',
  'AWS::Lambda::Alias': 'the local stack has no aliases: use the function itself',
}

/** A network alone has nine. */
const KINDS_NAMED = 4

/** Throws for a resource that we refuse; names in `leftOut` those that do nothing here. */
export function checkResources(resources: Resources, leftOut: string[]): void {
  const idle = new Map<string, string[]>()
  for (const { type, logicalId } of resources.all) {
    const reason = refused[type]
    if (reason !== undefined) throw new StartError(`Cannot run ${logicalId} because ${reason}`)
    if (run.has(type) || noDifference.test(type)) continue
    idle.set(type, [...(idle.get(type) ?? []), logicalId])
  }
  if (idle.size === 0) return
  const named = [...idle].map(([type, [first, ...more]]) =>
    more.length === 0 ? `${type} (${first})` : `${type} (${first} and ${more.length} more)`,
  )
  const more = named.splice(KINDS_NAMED).length
  const others = more > 0 ? `, and ${more} more kinds of resources` : ''
  leftOut.push(`The local stack leaves out ${named.join(', ')}${others}.`)
}
