// What the functions of a service would refuse when they start, or what nobody would notice, fails the synth.

import { RetentionDays } from 'aws-cdk-lib/aws-logs'
import { Duration, Fn, Lazy, Token } from 'aws-cdk-lib/core'
import { describe, expect, it } from 'vitest'
import type { PushPopProps } from '../../lib/constructs/service-props.ts'
import { aService } from './synthesised.ts'

/** What no compiler has checked. */
const plain = (props: object): PushPopProps => props as PushPopProps

describe('A service', () => {
  it.each([
    [
      { remindAfter: Duration.seconds(9) },
      'the service "Orders" because `remindAfter` must be 10 to 3600 whole seconds, and is 9',
    ],
    [
      {
        queueConfig: [
          { prefix: 'a', maxDeliveries: 5 },
          { prefix: 'b', capacity: 0 },
        ],
      },
      'the service "Orders" because of `queueConfig`: Cannot set patterns[1].capacity to 0 because it must be an integer from 1 to',
    ],
    [
      {
        queueConfig: Array.from({ length: 85 }, (_, n) => ({
          prefix: `tenant-${n}.`,
          capacity: n + 1,
        })),
      },
      "of a function's environment, each quote counted twice, which has room for 3400: put so many patterns after the deployment",
    ],
    [
      { sweepers: 3 as never },
      'the service "Orders" because `sweepers` must be one of 1, 2, 4, 8, 16, and is 3',
    ],
    [
      { rateHold: Duration.seconds(21) },
      'the service "Orders" because `rateHold` must be 0 to 20 seconds, and is 21',
    ],
    [{ concurrency: { Rate: 0 } }, '`concurrency.Rate` must be an integer from 1 to 100000'],
    [{ concurrency: { Push: 1.5 } }, '`concurrency.Push` must be an integer from 1 to 100000'],
    [
      { concurrency: { ReturnExpiredLocks: 15 }, sweepers: 16 },
      '`concurrency.ReturnExpiredLocks` must be 16 or more for `sweepers` of 16, and is 15',
    ],
    [
      { concurrency: { ReturnExpiredLocks: 3 }, sweepers: 2, sweepEvery: Duration.seconds(30) },
      'must be 4 or more for `sweepers` of 2 with `sweepEvery` below 60 seconds, and is 3',
    ],
    [
      { throttle: { perSecond: 0, burst: 1 } },
      '`throttle.perSecond` must be a number above 0, and',
    ],
    [
      { throttle: { perSecond: 1, burst: 0.5 } },
      '`throttle.burst` must be an integer of 1 or more',
    ],
    [{ serviceName: 'My Queues' }, '`serviceName` must be 1 to 256 letters, digits'],
    [{ concurrency: { Announce: 5 }, events: false }, '`concurrency.Announce` is for a function'],
  ] as [PushPopProps, string][])('refuses what it cannot be: %o.', (props, sentence) => {
    expect(() => aService(props, 'Orders')).toThrow(sentence)
  })

  it.each([
    { concurrency: { ReturnExpiredLocks: 16 }, sweepers: 16 },
    { concurrency: { ReturnExpiredLocks: 1 }, sweepEvery: Duration.minutes(1) },
    { concurrency: { ReturnExpiredLocks: 4 }, sweepers: 2, sweepEvery: Duration.seconds(30) },
    { concurrency: { Rate: 1 }, sweepers: 16 },
  ] as PushPopProps[])('lets the sweepers have as many environments as they need: %o.', (props) => {
    expect(() => aService(props, 'Orders')).not.toThrow()
  })

  it.each([
    [
      { idempotencyTtl: Duration.seconds(0) },
      '`idempotencyTtl` must be 60 to 2592000 whole seconds, and is 0',
    ],
    [
      { idempotencyTtl: Duration.millis(90_500) },
      '`idempotencyTtl` must be 60 to 2592000 whole seconds, and is 90.5',
    ],
    [{ sweepEvery: Duration.seconds(0) }, '`sweepEvery` must be 1 to 60 whole seconds, and is 0'],
    [{ sweepEvery: Duration.minutes(2) }, '`sweepEvery` must be 1 to 60 whole seconds, and is 120'],
    [
      { sweepEvery: Duration.millis(1_500) },
      '`sweepEvery` must be 1 to 60 whole seconds, and is 1.5',
    ],
    [
      { remindAfter: Duration.millis(10_500) },
      '`remindAfter` must be 10 to 3600 whole seconds, and is 10.5',
    ],
    [
      { itemAgeAlarm: Duration.seconds(0) },
      '`itemAgeAlarm` must be 1 to 2592000 whole seconds, and is 0',
    ],
    [
      { eventArchive: Duration.hours(12) },
      '`eventArchive` must be 1 to 36500 whole days, and is 0.5',
    ],
    [{ eventArchive: Duration.days(0) }, '`eventArchive` must be 1 to 36500 whole days, and is 0'],
    [
      { sweepEvery: Duration.seconds(Token.asNumber({ Ref: 'Every' })) },
      '`sweepEvery` must be known when the app is run',
    ],
  ])('cannot have a time that its functions would refuse: %o.', (props, sentence) => {
    expect(() => aService(props, 'Orders')).toThrow(
      `Cannot make the service "Orders" because ${sentence}`,
    )
  })

  it.each([
    'https://a.b/x',
    'https://a.b/',
    'nonsense',
    'https://A.b',
    'https://*.a.b',
    'https://a.b:443',
  ])('lets no page of %j call, because a browser sends no such origin.', (origin) => {
    expect(() => aService({ corsOrigins: ['https://a.b', origin] }, 'Orders')).toThrow(
      `because \`corsOrigins[1]\` must be an origin as a browser sends it, without a path, such as https://shop.example, or "https://*" or "*", and is "${origin}"`,
    )
  })

  it.each([
    { corsOrigins: ['https://a.b', 'http://localhost:3000', 'https://*', '*'] },
    { corsOrigins: [`https://${Fn.getAtt('Site', 'DomainName').toString()}`] },
    { rateHold: Duration.seconds(1.1) },
    { rateHold: Duration.seconds(0), waitingPops: 0 },
    { logRetention: RetentionDays.INFINITE, eventArchive: Duration.days(1) },
    { serviceName: Lazy.string({ produce: () => 'queues' }) },
    { sweepEvery: undefined, inbox: undefined, concurrency: { Push: undefined } } as object,
    { authorisation: { kind: 'iam', issuer: undefined } } as object,
    // A list that only the deployment knows, and what the properties of a stack or of a subclass have besides.
    { corsOrigins: Token.asList({ Ref: 'Origins' }) },
    { env: { region: 'eu-west-1' }, stackName: 'Orders', tenant: 'a' } as object,
  ] as PushPopProps[])('may have these: %o.', (props) => {
    expect(() => aService(props, 'Orders').look()).not.toThrow()
  })

  it.each([
    [{ inbxo: true }, 'it has no property "inbxo": write `inbox`'],
    [{ auth: 'none' }, 'it has no property "auth": write `authorisation`'],
    [{ concurrency: { Psh: 3 } }, '`concurrency` has no property "Psh": write `Push`'],
    [{ throttle: { perSecond: 1, brust: 1 } }, '`throttle` has no property "brust": write `burst`'],
    [
      { authorisation: { kind: 'jwt', issuer: 'https://a', audience: ['a'], audiences: ['b'] } },
      '`authorisation` has no property "audiences": write `audience`',
    ],
    [
      { queueConfig: [{ prefix: 'a', max_delivery: 5 }] },
      '`queueConfig[0]` has no property "max_delivery": write `maxDeliveries`',
    ],
    [
      { queueConfig: [{ prefix: 'a' }, { prefix: 'b', popLimit: { max_requests: 1 } }] },
      '`queueConfig[1].popLimit` has no property "max_requests": write `maxRequests`',
    ],
  ])(
    'refuses a property that it does not have, and names the one that is meant: %o.',
    (props, sentence) => {
      expect(() => aService(plain(props), 'Orders')).toThrow(
        `Cannot make the service "Orders" because ${sentence}`,
      )
    },
  )

  it.each([
    [
      { authorisation: 'none' },
      "`authorisation` must be { kind: 'iam' }, { kind: 'none' } or { kind: 'jwt', issuer, audience }, and is \"none\"",
    ],
    [{ authorisation: { kind: 'jtw' } }, 'and has the kind "jtw"'],
    [{ authorisation: { kind: 'iam', issuer: 'https://a' } }, 'and has kind, issuer'],
    [
      { authorisation: { kind: 'jwt', audience: ['a'] } },
      '`authorisation.issuer` must be the https address of who issues the tokens, and is not set',
    ],
    [
      { authorisation: { kind: 'jwt', issuer: 'https://a', audience: 'a' } },
      '`authorisation.audience` must be a list of whom the tokens are for, and is "a"',
    ],
    [
      { idempotencyTtl: 86_400 },
      '`idempotencyTtl` must be a Duration, and is 86400: write Duration.seconds(86400)',
    ],
    [{ eventArchive: 7 }, '`eventArchive` must be a Duration, and is 7: write Duration.days(7)'],
    [{ rateHold: '2s' }, '`rateHold` must be a Duration, and is "2s": write Duration.seconds(0)'],
    [{ throwaway: 'false' }, '`throwaway` must be true or false, and is "false"'],
    [{ inbox: 'true' }, '`inbox` must be true or false, and is "true"'],
    [{ events: null }, '`events` must be true or false, and is null'],
    [{ logLevel: 'INFO' }, '`logLevel` must be one of debug, info, warn, error, and is "INFO"'],
    [
      { logRetention: 'ONE_WEEK' },
      '`logRetention` must be one of RetentionDays, such as RetentionDays.ONE_WEEK, and is "ONE_WEEK"',
    ],
    [{ logRetention: Duration.days(7) }, 'such as RetentionDays.ONE_WEEK, and is a Duration'],
    [{ queueConfig: { prefix: 'a' } }, '`queueConfig` must be a list, and is an object'],
    [{ queueConfig: ['a'] }, '`queueConfig[0]` must be an object with prefix, segmentSize, '],
    [{ corsOrigins: 'https://a.b' }, '`corsOrigins` must be a list, and is "https://a.b"'],
    [
      { alarmTopic: 'arn:aws:sns:eu-central-1:1:a' },
      "`alarmTopic` must be a topic, such as Topic.fromTopicArn(this, 'Operators', arn), and is \"arn:",
    ],
    [{ throttle: 5 }, '`throttle` must be an object with perSecond, burst, and is 5'],
    [
      { throttle: { perSecond: 5 } },
      '`throttle.burst` must be an integer of 1 or more, and is not set',
    ],
    [{ concurrency: 'Rate:50' }, '`concurrency` must be an object with Push, Pop, '],
    [
      { serviceName: 5 },
      '`serviceName` must be 1 to 256 letters, digits, ".", "_" and "-", and is 5',
    ],
  ])('says what a property takes: %o.', (props, sentence) => {
    expect(() => aService(plain(props), 'Orders')).toThrow(sentence)
  })
})
