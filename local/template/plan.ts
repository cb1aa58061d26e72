// What to run, read out of the templates as plain data, so that the rest of the local stack knows nothing of
// CloudFormation. We refuse a resource that would exist on AWS but not work here although somebody calls or reads it.
// If it merely does nothing here, we name it at the start.

import { StartError } from '../start-error.ts'
import { isObject, type StackTemplate } from './assembly.ts'
import { type ApiPlan, planApis } from './plan-api.ts'
import { type FunctionPlan, planFunctions } from './plan-functions.ts'
import {
  type EventRulePlan,
  planQueueMappings,
  planRules,
  planStreams,
  type QueueMappingPlan,
  type SchedulePlan,
  type StreamPlan,
} from './plan-sources.ts'
import { objectOf, type ResolvedResource, Resources } from './resources.ts'

export type Plan = {
  readonly functions: readonly FunctionPlan[]
  readonly tables: readonly TablePlan[]
  /** Their names. */
  readonly buckets: readonly string[]
  readonly queues: readonly QueuePlan[]
  readonly apis: readonly ApiPlan[]
  readonly schedules: readonly SchedulePlan[]
  /** Names of the event buses, the default one included. */
  readonly buses: readonly string[]
  readonly eventRules: readonly EventRulePlan[]
  readonly streams: readonly StreamPlan[]
  readonly queueMappings: readonly QueueMappingPlan[]
  /** What the template asks for but the local stack does not do, one sentence each. */
  readonly leftOut: readonly string[]
}

export function planStack(stacks: readonly StackTemplate[]): Plan {
  const resources = new Resources(stacks)
  const leftOut: string[] = []
  checkResources(resources, leftOut)
  const functions = planFunctions(resources, leftOut)
  const apis = planApis(resources, leftOut)
  const { schedules, eventRules } = planRules(resources, leftOut)
  return {
    functions,
    tables: planTables(resources),
    buckets: planBuckets(resources),
    queues: planQueues(resources),
    apis,
    schedules,
    buses: ['default', ...resources.ofType('AWS::Events::EventBus').map(({ ref }) => ref)],
    eventRules,
    streams: planStreams(resources, leftOut),
    queueMappings: planQueueMappings(resources),
    leftOut,
  }
}

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
function checkResources(resources: Resources, leftOut: string[]): void {
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

export type TablePlan = {
  readonly logicalId: string
  readonly name: string
  /** The input of CreateTable. */
  readonly definition: Readonly<Record<string, unknown>>
  readonly timeToLiveAttribute?: string | undefined
  readonly hasStream: boolean
}

function planTables(resources: Resources): TablePlan[] {
  return resources.ofType('AWS::DynamoDB::Table').map((table) => {
    const { StreamViewType } = objectOf(table, 'StreamSpecification')
    const { AttributeName, Enabled } = objectOf(table, 'TimeToLiveSpecification')
    return {
      logicalId: table.logicalId,
      name: table.ref,
      definition: definitionOf(table, StreamViewType),
      ...(AttributeName !== undefined &&
        Enabled !== false &&
        Enabled !== 'false' && { timeToLiveAttribute: String(AttributeName) }),
      hasStream: StreamViewType !== undefined,
    }
  })
}

/**
 * The settings that the embedded DynamoDB can use. The rest (encryption, recovery, protection, tags) makes
 * no difference on one machine, or is unknown there.
 */
function definitionOf(table: ResolvedResource, streamViewType: unknown) {
  return {
    TableName: table.ref,
    AttributeDefinitions: table.property('AttributeDefinitions'),
    KeySchema: table.property('KeySchema'),
    ...indexes(table, 'GlobalSecondaryIndexes'),
    ...indexes(table, 'LocalSecondaryIndexes'),
    BillingMode: 'PAY_PER_REQUEST',
    ...(streamViewType !== undefined && {
      StreamSpecification: { StreamEnabled: true, StreamViewType: streamViewType },
    }),
  }
}

function indexes(table: ResolvedResource, name: string) {
  const list = table.property(name)
  if (!Array.isArray(list) || list.length === 0) return {}
  return {
    [name]: list.filter(isObject).map(({ IndexName, KeySchema, Projection }) => ({
      IndexName,
      KeySchema,
      Projection,
    })),
  }
}

function planBuckets(resources: Resources): string[] {
  return resources.ofType('AWS::S3::Bucket').map(({ ref }) => ref)
}

export type QueuePlan = {
  readonly logicalId: string
  readonly name: string
  readonly arn: string
  /** On AWS. */
  readonly url: string
  readonly isFifo: boolean
  /** As SQS takes them. */
  readonly attributes: Readonly<Record<string, string>>
}

/** The rest (encryption, tags) makes no difference on one machine. */
const attributeNames = [
  'ContentBasedDeduplication',
  'DeduplicationScope',
  'DelaySeconds',
  'FifoThroughputLimit',
  'MaximumMessageSize',
  'MessageRetentionPeriod',
  'ReceiveMessageWaitTimeSeconds',
  'RedriveAllowPolicy',
  'RedrivePolicy',
  'VisibilityTimeout',
]

const planQueues = (resources: Resources): QueuePlan[] =>
  resources.ofType('AWS::SQS::Queue').map(planQueue)

function planQueue(queue: ResolvedResource): QueuePlan {
  const attributes = attributeNames.flatMap((name): [string, string][] => {
    const value = queue.property(name)
    if (value === undefined) return []
    return [[name, isObject(value) ? JSON.stringify(value) : String(value)]]
  })
  return {
    logicalId: queue.logicalId,
    name: String(queue.attributes.QueueName),
    arn: queue.arn,
    url: queue.ref,
    isFifo: String(queue.property('FifoQueue')) === 'true',
    attributes: Object.fromEntries(attributes),
  }
}
