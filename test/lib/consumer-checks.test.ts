// A consumer that would not start, or that nobody would ever call, fails the synth.

import { join } from 'node:path'
import {
  Alias,
  Code,
  type IVersion,
  Function as LambdaFunction,
  Runtime,
} from 'aws-cdk-lib/aws-lambda'
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs'
import { Aws, Duration, type Stack } from 'aws-cdk-lib/core'
import { describe, expect, it } from 'vitest'
import type { PushPopConsumerProps } from '../../lib/constructs/consumer-props.ts'
import { PushPopConsumer } from '../../lib/constructs/push-pop-consumer.ts'
import type { PushPopProps } from '../../lib/constructs/service-props.ts'
import { aService } from './synthesised.ts'

const ship = join(import.meta.dirname, '../../examples/orders/ship.ts')

/** Values that no compiler has checked. */
type Given = { readonly [Name in keyof PushPopConsumerProps]?: unknown } & object

function made(given: Given | ((stack: Stack) => Given), props: PushPopProps = {}) {
  const { stack, service } = aService(props, 'Queues')
  const all = {
    service,
    queues: 'orders',
    function: ship,
    ...(typeof given === 'function' ? given(stack) : given),
  }
  return new PushPopConsumer(stack, 'Ship', all as PushPopConsumerProps)
}

const own = (stack: Stack, timeout?: Duration) =>
  new LambdaFunction(stack, 'Own', {
    runtime: Runtime.NODEJS_24_X,
    handler: 'index.handler',
    code: Code.fromInline('exports.handler = () => {}'),
    ...(timeout !== undefined && { timeout }),
  })

describe('A consumer', () => {
  it.each([
    [
      '`function.timeout` must be 10 to 900 whole seconds, and is 9',
      { function: { entry: ship, timeout: Duration.seconds(9) } },
    ],
    [
      '`function.timeout` must be 10 to 900 whole seconds, and is 1800',
      { function: { entry: ship, timeout: Duration.minutes(30) } },
    ],
    [
      '`function.memoryMb` must be an integer from 128 to 10240, and is 64',
      { function: { entry: ship, memoryMb: 64 } },
    ],
    ['`lockTtl` must be 5 to 300 whole seconds, and is 4', { lockTtl: Duration.seconds(4) }],
    ['`lockTtl` must be 5 to 300 whole seconds, and is 600', { lockTtl: Duration.minutes(10) }],
    ['`lockTtl` must be 5 to 300 whole seconds, and is 5.5', { lockTtl: Duration.millis(5_500) }],
    ['`batchSize` must be an integer from 1 to 100, and is 0', { batchSize: 0 }],
    ['`queuesAtOnce` must be an integer from 1', { queuesAtOnce: 0 }],
    ['`locksAtOnce` must be an integer from 1 to 100', { locksAtOnce: 101 }],
    ['`maxDeliveries` must be an integer from 1 to 1000', { maxDeliveries: 0 }],
    ['`competing: false` allows one lock', { competing: false, locksAtOnce: 2 }],
  ] as [string, Given][])('is refused if its function would not start: %s.', (sentence, given) => {
    expect(() => made(given)).toThrow(`Cannot make the consumer "Ship" because ${sentence}`)
  })

  it('is refused if its service has no events, which would wake it.', () => {
    expect(() => made({}, { events: false })).toThrow(
      'Cannot make the consumer "Ship" because its service has `events: false`',
    )
  })

  it('is refused if a function of your own has too little time.', () => {
    expect(() => made((stack) => ({ function: own(stack) }))).toThrow(
      'Cannot make the consumer "Ship" because the `timeout` of its function must be at least 10 seconds, and is 3',
    )
  })

  it.each([
    [{ queues: [] }, '`queues` selects none: write the ids of queues, or how they begin'],
    [{ queues: {} }, '`queues` selects none'],
    [{ queues: { prefix: '' } }, '`queues` selects none'],
    [{ queues: { prefix: undefined } }, '`queues` selects none'],
    [{ queues: { pattern: [] } }, '`queues` selects none'],
    [
      { queues: ['a/b'] },
      '`queues` has "a/b", which is not a queue id: an id is 1 to 100 of the characters',
    ],
    [
      { queues: 'device.*' },
      '`queues` has "device.*", which is not a queue id: write { prefix: "device." }',
    ],
    [
      { queues: { prefix: 'device.*' } },
      '`queues.prefix` is "device.*", and no queue id has a "*": write "device."',
    ],
    [
      { queues: { prefix: 'device:' } },
      '`queues.prefix` must be the beginning of queue ids, in the characters A-Z a-z 0-9 . _ -, and is "device:"',
    ],
    [
      { queues: { prefix: '*-mails' } },
      '`queues.prefix` must be the beginning of queue ids, in the characters A-Z a-z 0-9 . _ -, and is "*-mails": write { pattern: [{ wildcard: "*-mails" }] }',
    ],
    [
      { queues: { prefix: 5 } },
      '`queues.prefix` must be the beginning of queue ids, in the characters A-Z a-z 0-9 . _ -, and is 5',
    ],
    [{ queues: { prefx: 'device.' } }, '`queues` has no property "prefx": write `prefix`'],
    [
      { queues: { prefix: 'a', pattern: ['b'] } },
      '`queues` has a prefix and a pattern: write one of them',
    ],
    [
      { queues: { pattern: ['a', 'device.*'] } },
      '`queues.pattern` has "device.*", which is not a queue id: write { prefix: "device." }',
    ],
    [
      { queues: { pattern: [{ prefix: 'device:' }] } },
      '`queues.pattern[0].prefix` must be the beginning of queue ids',
    ],
    [
      { queues: 5 },
      '`queues` must be a queue id, a list of them, { prefix } or { pattern }, and is 5',
    ],
    [
      { queues: undefined },
      '`queues` must be a queue id, a list of them, { prefix } or { pattern }, and is not set',
    ],
  ] as [Given, string][])('is refused if nobody would ever call it: %o.', (given, sentence) => {
    expect(() => made(given)).toThrow(`Cannot make the consumer "Ship" because ${sentence}`)
  })

  it.each([{ prefix: `${Aws.STACK_NAME}.` }, { pattern: [Aws.STACK_NAME, { suffix: ':' }] }])(
    'may work queues whose names only the deployment knows: %o.',
    (queues) => {
      expect(() => made({ queues })).not.toThrow()
    },
  )

  it.each([
    [{ bachSize: 5 }, 'it has no property "bachSize": write `batchSize`'],
    [
      { function: { entry: ship, timeOut: Duration.minutes(1) } },
      '`function` has no property "timeOut": write `timeout`',
    ],
    [
      { function: { entry: ship, bundling: { externals: [] } } },
      '`function.bundling` has no property "externals": write `external`',
    ],
    [{ lockTtl: 30 }, '`lockTtl` must be a Duration, and is 30: write Duration.seconds(30)'],
    [
      { function: undefined },
      '`function` must be the file with the handler, { entry } or a Function that your app makes, and is not set',
    ],
    [{ function: {} }, '`function.entry` must be the file with the handler, and is not set'],
    [{ service: undefined }, '`service` must be a PushPop, and is not set'],
    [{ competing: 'no' }, '`competing` must be true or false, and is "no"'],
    [{ alarmTopic: 'arn:' }, '`alarmTopic` must be a topic, such as Topic.fromTopicArn('],
  ] as [Given, string][])('says what its properties take: %o.', (given, sentence) => {
    expect(() => made(given)).toThrow(`Cannot make the consumer "Ship" because ${sentence}`)
  })

  it('says so if its service is a stack, or its function an alias.', () => {
    expect(() => made((stack) => ({ service: stack }))).toThrow(
      '`service` must be a PushPop, and is a Stack',
    )
    const alias = (stack: Stack) =>
      new Alias(stack, 'Alias', {
        aliasName: 'live',
        version: own(stack).currentVersion as IVersion,
      })
    expect(() => made((stack) => ({ function: alias(stack) }))).toThrow(
      '`function` must be the file with the handler, { entry } or a Function that your app makes, and is an Alias',
    )
  })

  it('takes whatever properties the CDK has for a function of your own.', () => {
    const timeout = Duration.minutes(1)
    const consumer = made((stack) => ({ function: own(stack, timeout) }))
    expect(consumer.function.timeout).toBe(timeout)
    const nodejs = (stack: Stack) =>
      new NodejsFunction(stack, 'Node', { entry: ship, timeout, awsSdkConnectionReuse: true })
    expect(made((stack) => ({ function: nodejs(stack) })).function.timeout).toBe(timeout)
  })
})
