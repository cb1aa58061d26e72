import { AccountPrincipal, Role } from 'aws-cdk-lib/aws-iam'
import { Duration, Stack } from 'aws-cdk-lib/core'
import { describe, expect, it } from 'vitest'
import { PushPop, type PushPopProps } from '../../lib/constructs/push-pop.ts'
import { rightsOfRole } from './rights.ts'
import { emptyApp, lookInto } from './synthesised.ts'

/** Another app's stack with a caller in it. */
function shop(props: PushPopProps = {}) {
  const app = emptyApp()
  const stack = new Stack(app, 'Shop')
  const orders = new PushPop(stack, 'Orders', props)
  const caller = new Role(stack, 'Caller', { assumedBy: new AccountPrincipal('123456789012') })
  const rights = () => {
    const { resources } = lookInto(app, stack)
    const id = stack.getLogicalId(caller.node.defaultChild as never)
    // CDK's own ids end in a hash, which says nothing here.
    return rightsOfRole(resources, id).map((line) =>
      line.replaceAll(/[0-9A-F]{8}(?=\/|\.|$| )/g, ''),
    )
  }
  return { app, stack, orders, caller, rights }
}

const route = (path: string) =>
  `execute-api:Invoke on arn:Partition:execute-api:Region:AccountId:OrdersApi/$default/${path}`

describe('The construct', () => {
  it('can be in one stack twice.', () => {
    const { app, stack } = shop()
    new PushPop(stack, 'Mails', { authorisation: { kind: 'none' } })
    const { ofType } = lookInto(app, stack)
    expect(ofType('AWS::DynamoDB::Table')).toHaveLength(2)
    const functions = ofType('AWS::Lambda::Function')
    expect(functions).toHaveLength(20)
    const services = functions.map(
      ([, { Properties }]) => Properties.Environment.Variables.PUSHPOP_SERVICE,
    )
    expect(new Set(services)).toEqual(new Set(['Shop-Orders', 'Shop-Mails']))
    const alarms = ofType('AWS::CloudWatch::Alarm').map(
      ([, { Properties }]) => Properties.AlarmName,
    )
    expect(new Set(alarms).size).toBe(alarms.length)
  })

  it('grants calls to the routes of a duty, and to no other.', () => {
    const { orders, caller, rights } = shop()
    orders.grantPush(caller)
    expect(rights()).toEqual([route('POST/queue/*/push')])
  })

  it('grants popping with all that settles what was popped.', () => {
    const { orders, caller, rights } = shop()
    orders.grantPop(caller)
    expect(rights()).toEqual([
      route('POST/queue/*/acknowledge'),
      route('POST/queue/*/dead-letter'),
      route('POST/queue/*/extend-lock'),
      route('POST/queue/*/pop'),
      route('POST/queue/*/release'),
    ])
  })

  it('grants inspecting and managing apart.', () => {
    const inspector = shop()
    inspector.orders.grantInspect(inspector.caller)
    expect(inspector.rights()).toEqual([
      route('GET/queue/*'),
      route('GET/queue/*/config'),
      route('GET/queue/*/items'),
      route('GET/queues'),
      route('GET/rate/*'),
    ])
    const manager = shop()
    manager.orders.grantManage(manager.caller)
    expect(manager.rights()).toEqual([
      route('DELETE/rate/*/config'),
      route('GET/rate-config'),
      route('GET/rate/*/config'),
      route('POST/queue/*/purge'),
      route('POST/queue/*/redrive'),
      route('PUT/queue/*/config'),
      route('PUT/rate-config'),
      route('PUT/rate/*/config'),
    ])
  })

  it('grants some queues only, and then not the list of all.', () => {
    const { orders, caller, rights } = shop()
    orders.grantInspect(caller, ['orders', 'tenant-7.*'])
    expect(rights()).toEqual([
      route('GET/queue/orders'),
      route('GET/queue/orders/config'),
      route('GET/queue/orders/items'),
      route('GET/queue/tenant-7.*'),
      route('GET/queue/tenant-7.*/config'),
      route('GET/queue/tenant-7.*/items'),
    ])
  })

  it('grants rate limits, all or some, with their tickets.', () => {
    const all = shop()
    all.orders.grantRate(all.caller)
    expect(all.rights()).toEqual([
      route('DELETE/rate/*/tickets/*'),
      route('GET/rate/*/tickets/*'),
      route('POST/rate/*'),
    ])
    const some = shop()
    some.orders.grantRate(some.caller, ['user-7', 'tenant-7.*'])
    expect(some.rights()).toEqual([
      route('DELETE/rate/tenant-7.*/tickets/*'),
      route('DELETE/rate/user-7/tickets/*'),
      route('GET/rate/tenant-7.*/tickets/*'),
      route('GET/rate/user-7/tickets/*'),
      route('POST/rate/tenant-7.*'),
      route('POST/rate/user-7'),
    ])
  })

  it('says so where a grant by IAM would grant nothing.', () => {
    const tokens = { kind: 'jwt', issuer: 'https://login.example', audience: ['a'] } as const
    const { orders, caller } = shop({ authorisation: tokens })
    expect(() => orders.grantPop(caller)).toThrow('have the issuer put the scope "pushpop/pop"')
  })

  it('grants the engine itself what a function of that duty has, by the storage.', () => {
    const { orders, caller, rights } = shop()
    orders.storage.grantPop(caller)
    expect(rights()).toEqual(
      [
        'dynamodb:BatchWriteItem on OrdersStorageTable',
        'dynamodb:GetItem on OrdersStorageTable',
        'dynamodb:PutItem on OrdersStorageTable',
        'dynamodb:Query on OrdersStorageTable',
        'dynamodb:UpdateItem on OrdersStorageTable',
        's3:DeleteObject on OrdersStorageSegments/*',
        's3:GetObject on OrdersStorageSegments/*',
        's3:PutObject on OrdersStorageSegments/*',
      ].sort(),
    )
  })

  it.each([
    [
      { remindAfter: Duration.seconds(9) },
      'the service "Orders" because `remindAfter` must be 10 to 3600 seconds, and is 9',
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
    [{ concurrency: { Announce: 5 }, events: false }, '`concurrency.Announce` is for a function'],
  ] as [PushPopProps, string][])('refuses what it cannot be: %o.', (props, sentence) => {
    expect(() => shop(props)).toThrow(sentence)
  })

  it.each([
    { concurrency: { ReturnExpiredLocks: 16 }, sweepers: 16 },
    { concurrency: { ReturnExpiredLocks: 1 }, sweepEvery: Duration.minutes(1) },
    { concurrency: { ReturnExpiredLocks: 4 }, sweepers: 2, sweepEvery: Duration.seconds(30) },
    { concurrency: { Rate: 1 }, sweepers: 16 },
  ] as PushPopProps[])('lets the sweepers have as many environments as they need: %o.', (props) => {
    expect(() => shop(props)).not.toThrow()
  })

  it('does without alarms and dashboard, and takes its limits from its properties.', () => {
    const { app, stack } = shop({
      alarms: false,
      dashboard: false,
      throttle: { perSecond: 5, burst: 7 },
      sweepEvery: Duration.seconds(2),
      rateHold: Duration.millis(1_500),
      concurrency: { Rate: 50 },
    })
    const { ofType } = lookInto(app, stack)
    const rate = ofType('AWS::Lambda::Function').find(([id]) => id.startsWith('OrdersRate'))
    expect(rate?.[1].Properties).toMatchObject({
      ReservedConcurrentExecutions: 50,
      Environment: { Variables: { PUSHPOP_RATE_HOLD_MS: '1500' } },
    })
    expect(ofType('AWS::CloudWatch::Alarm')).toEqual([])
    expect(ofType('AWS::CloudWatch::Dashboard')).toEqual([])
    const [stage] = ofType('AWS::ApiGatewayV2::Stage').map(([, { Properties }]) => Properties)
    expect(stage.DefaultRouteSettings).toEqual({ ThrottlingRateLimit: 5, ThrottlingBurstLimit: 7 })
  })
})
