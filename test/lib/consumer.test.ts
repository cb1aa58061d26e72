import { join } from 'node:path'
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { RetentionDays } from 'aws-cdk-lib/aws-logs'
import { Topic } from 'aws-cdk-lib/aws-sns'
import { Duration, Stack } from 'aws-cdk-lib/core'
import { describe, expect, it } from 'vitest'
import type { PushPopConsumerProps } from '../../lib/constructs/consumer-props.ts'
import { PushPopConsumer } from '../../lib/constructs/push-pop-consumer.ts'
import type { PushPopProps } from '../../lib/constructs/service-props.ts'
import { objections, objectionsOfNag2, packs } from './objections.ts'
import { rightsOfRole, withoutHashes } from './rights.ts'
import { aService, lookInto } from './synthesised.ts'

const ship = join(import.meta.dirname, '../../examples/orders/ship.ts')

type Given = Partial<Omit<PushPopConsumerProps, 'service'>>

/** Another app's stack with a service in it, and a consumer. */
function shop(given: Given | ((stack: Stack) => Given) = {}, service: PushPopProps = {}) {
  const made = aService(service, 'Queues')
  const consumer = new PushPopConsumer(made.stack, 'Ship', {
    service: made.service,
    queues: 'orders',
    function: ship,
    ...(typeof given === 'function' ? given(made.stack) : given),
  })
  return { ...made, consumer }
}

const only = <T>(list: readonly T[]): T => {
  expect(list).toHaveLength(1)
  return list[0] as T
}

/** The parts that this consumer made, by type. */
function partsOf({ look }: ReturnType<typeof shop>) {
  const { ofType } = look()
  const own = (type: string) =>
    only(ofType(type).filter(([id]) => id.startsWith('Ship')))[1].Properties
  return {
    rule: own('AWS::Events::Rule'),
    function: own('AWS::Lambda::Function'),
    invoke: own('AWS::Lambda::EventInvokeConfig'),
    queue: own('AWS::SQS::Queue'),
    alarm: own('AWS::CloudWatch::Alarm'),
  }
}

describe('A consumer', () => {
  it('is called by what comes into its queues, and by what its own runs have left.', () => {
    const { rule, function: made } = partsOf(shop())
    const name = made.Environment.Variables.PUSHPOP_CONSUMER_NAME
    expect(rule.EventPattern).toEqual({
      source: ['pushpop', 'pushpop.consumer'],
      'detail-type': ['Items Available', 'Run Continued'],
      detail: { queue: ['orders'], consumer: [{ exists: false }, name] },
    })
    expect(rule.EventBusName).toBeDefined()
  })

  it.each([
    ['one by its id', 'orders', ['orders']],
    ['several by their ids', ['a', 'b'], ['a', 'b']],
    ['all that begin so', { prefix: 'tenant-' }, [{ prefix: 'tenant-' }]],
    [
      'whatever EventBridge can match',
      { pattern: [{ wildcard: 'tenant-*-mails' }, 'mails'] },
      [{ wildcard: 'tenant-*-mails' }, 'mails'],
    ],
  ] as const)('works %s.', (_, queues, matchers) => {
    const { rule } = partsOf(shop({ queues }))
    expect(rule.EventPattern.detail.queue).toEqual(matchers)
  })

  it('leaves dead-letter queues alone, unless they are named.', () => {
    const setting = (queues: PushPopConsumerProps['queues']) =>
      partsOf(shop({ queues })).function.Environment.Variables.PUSHPOP_CONSUMER_DEAD_LETTERS
    expect(setting({ prefix: 'tenant-' })).toBe('no')
    expect(setting('orders')).toBe('no')
    expect(setting(['orders', 'orders-deadletter'])).toBe('yes')
  })

  it('loses no event in silence: what cannot be delivered goes to a queue with an alarm.', () => {
    const made = shop()
    const { rule, invoke, alarm } = partsOf(made)
    const failures = { 'Fn::GetAtt': [made.stack.getLogicalId(nodeOf(made.consumer)), 'Arn'] }
    expect(only<{ DeadLetterConfig: object }>(rule.Targets).DeadLetterConfig).toEqual({
      Arn: failures,
    })
    expect(invoke).toMatchObject({
      MaximumRetryAttempts: 2,
      MaximumEventAgeInSeconds: 6 * 3600,
      DestinationConfig: { OnFailure: { Destination: failures } },
    })
    expect(alarm).toMatchObject({ MetricName: 'ApproximateNumberOfMessagesVisible', Threshold: 0 })
    expect(alarm.AlarmActions).toBeUndefined()
    const arn = 'arn:aws:sns:eu-central-1:123456789012:ops'
    const told = partsOf(shop((stack) => ({ alarmTopic: Topic.fromTopicArn(stack, 'Ops', arn) })))
    expect([told.alarm.AlarmActions, told.alarm.OKActions]).toEqual([[arn], [arn]])
  })

  it('hands its properties to the function as its environment.', () => {
    const { function: made } = partsOf(
      shop({
        batchSize: 10,
        lockTtl: Duration.minutes(2),
        locksAtOnce: 4,
        maxDeliveries: 3,
        queuesAtOnce: 7,
        competing: true,
      }),
    )
    expect(made.Environment.Variables).toMatchObject({
      PUSHPOP_SERVICE: 'Shop-Queues',
      PUSHPOP_CONSUMER_BATCH_SIZE: '10',
      PUSHPOP_CONSUMER_LOCK_TTL_SECONDS: '120',
      PUSHPOP_CONSUMER_LOCKS: '4',
      PUSHPOP_CONSUMER_MAX_DELIVERIES: '3',
      PUSHPOP_CONSUMER_COMPETING: 'yes',
    })
    expect(made.ReservedConcurrentExecutions).toBe(7)
    const plain = partsOf(shop()).function
    expect(plain.ReservedConcurrentExecutions).toBeUndefined()
    expect(plain.Environment.Variables).not.toHaveProperty('PUSHPOP_CONSUMER_BATCH_SIZE')
  })

  it('may pop and settle by the engine and call its next run, and nothing else.', () => {
    const { look } = shop()
    const { resources, ofType } = look()
    const [role] = only(ofType('AWS::IAM::Role').filter(([id]) => id.startsWith('ShipFunction')))
    expect(withoutHashes(rightsOfRole(resources, role))).toEqual(
      [
        'dynamodb:BatchWriteItem on QueuesStorageTable',
        'dynamodb:DeleteItem on QueuesStorageTable',
        'dynamodb:GetItem on QueuesStorageTable',
        'dynamodb:PutItem on QueuesStorageTable',
        'dynamodb:Query on QueuesStorageTable',
        'dynamodb:UpdateItem on QueuesStorageTable',
        'events:PutEvents on QueuesEventsBus',
        'logs:CreateLogStream on ShipFunctionLogs',
        'logs:PutLogEvents on ShipFunctionLogs',
        's3:DeleteObject on QueuesStorageSegments/*',
        's3:GetObject on QueuesStorageSegments/*',
        's3:PutObject on QueuesStorageSegments/*',
        'sqs:SendMessage on ShipFailures',
        'xray:PutTelemetryRecords on *',
        'xray:PutTraceSegments on *',
      ].sort(),
    )
  })

  it('takes a function of your own, which it calls and equips.', () => {
    const { stack, service, look } = aService({}, 'Queues')
    const own = new LambdaFunction(stack, 'Own', {
      runtime: Runtime.NODEJS_24_X,
      handler: 'index.handler',
      code: Code.fromInline('exports.handler = () => {}'),
      timeout: Duration.seconds(30),
      environment: { MINE: 'yes' },
    })
    const made = new PushPopConsumer(stack, 'Ship', { service, queues: 'orders', function: own })
    expect(made.function).toBe(own)
    const [, { Properties }] = only(
      look()
        .ofType('AWS::Lambda::Function')
        .filter(([id]) => id.startsWith('Own')),
    )
    expect(Properties.Environment.Variables).toMatchObject({
      MINE: 'yes',
      PUSHPOP_CONSUMER_NAME: expect.any(String),
      PUSHPOP_TABLE: expect.anything(),
    })
  })
})

const nodeOf = ({ failures }: PushPopConsumer) => failures.node.defaultChild as never

it.each(packs)('The rules of %s find nothing in a consumer.', (pack) => {
  const found = objections(shop(), pack)
  expect(found.filter((objection) => objection.includes('/Ship/'))).toEqual([])
})

describe('A consumer in somebody’s app', () => {
  const inline = (stack: Stack) =>
    new LambdaFunction(stack, 'Own Function', {
      runtime: Runtime.NODEJS_24_X,
      handler: 'index.handler',
      code: Code.fromInline('exports.handler = async () => {}'),
      timeout: Duration.seconds(30),
    })

  it('may have its function in another stack, which then needs the service’s and not the other way round.', () => {
    const { app, stack, service } = aService({}, 'My Queues')
    const workers = new Stack(app, 'Workers')
    const made = new PushPopConsumer(stack, 'Ship', {
      service,
      queues: 'orders',
      function: inline(workers),
    })
    expect([made.rule, made.failures].map((part) => Stack.of(part))).toEqual([workers, workers])
    const { stacks } = app.synth()
    const needs = stacks.find(({ id }) => id === 'Shop')?.dependencies.map(({ id }) => id)
    expect(needs).not.toContain('Workers')
    expect(
      lookInto(app, workers)
        .ofType('AWS::Events::Rule')
        .map(([, { Properties }]) => Properties.Targets.length),
    ).toEqual([1])
  })

  it('may have spaces in its ids, which names do without.', () => {
    const { stack, service, look } = aService({}, 'My Queues')
    new PushPopConsumer(stack, 'My Consumer', { service, queues: 'a', function: inline(stack) })
    const names = look().ofType('AWS::Events::EventBus')
    expect(only(names)[1].Properties.Name).toBe('Shop-My-Queues')
    const alarms = look().ofType('AWS::CloudWatch::Alarm')
    const lost = alarms.map(([, { Properties }]) => String(Properties.AlarmName))
    expect(lost.filter((name) => /\s/.test(name))).toEqual([])
  })

  it('is traced, logged and thrown away as its service is.', () => {
    const { look } = shop(
      {},
      { tracing: false, throwaway: true, logRetention: RetentionDays.ONE_DAY },
    )
    const { resources } = look()
    const own = Object.entries(resources).filter(([id]) => id.startsWith('Ship'))
    const ofType = (type: string) => only(own.filter(([, { Type }]) => Type === type))[1]
    expect(ofType('AWS::Lambda::Function').Properties).not.toHaveProperty('TracingConfig')
    const logs = ofType('AWS::Logs::LogGroup')
    expect(logs).toMatchObject({ DeletionPolicy: 'Delete', Properties: { RetentionInDays: 1 } })
  })

  it('has source maps that Node reads, unless they are turned off.', () => {
    const environment = (given: Given) => partsOf(shop(given)).function.Environment.Variables
    const entry = { entry: ship, environment: { NODE_OPTIONS: '--no-deprecation' } }
    expect(environment({ function: entry }).NODE_OPTIONS).toBe(
      '--no-deprecation --enable-source-maps',
    )
    const without = { entry: ship, bundling: { sourceMap: false } }
    expect(environment({ function: without })).not.toHaveProperty('NODE_OPTIONS')
  })

  it('breaks no rule of cdk-nag 2 but by its own function.', () => {
    expect(objectionsOfNag2(shop())).toEqual([])
  })
})
