import { AccountPrincipal, Role } from 'aws-cdk-lib/aws-iam'
import { Duration } from 'aws-cdk-lib/core'
import { describe, expect, it } from 'vitest'
import type { PushPop } from '../../lib/constructs/push-pop.ts'
import type { PushPopProps } from '../../lib/constructs/service-props.ts'
import { rightsOfRole, withoutHashes } from './rights.ts'
import { aService, lookInto } from './synthesised.ts'

/** Another app's stack with a caller in it. */
function shop(props: PushPopProps = {}) {
  const { app, stack, service: orders, look } = aService(props, 'Orders')
  const caller = new Role(stack, 'Caller', { assumedBy: new AccountPrincipal('123456789012') })
  const rights = () => {
    const id = stack.getLogicalId(caller.node.defaultChild as never)
    return withoutHashes(rightsOfRole(look().resources, id))
  }
  return { app, stack, orders, caller, rights }
}

const route = (path: string) =>
  `execute-api:Invoke on arn:Partition:execute-api:Region:AccountId:OrdersApi/$default/${path}`

type Granting = (orders: PushPop, caller: Role) => unknown
const some = ['orders', 'tenant-7.*']
const keys = ['user-7', 'tenant-7.*']

describe('The construct', () => {
  it('can be in one stack twice.', () => {
    const { ofType } = aService({}, 'Orders', 'Mails').look()
    expect(ofType('AWS::DynamoDB::Table')).toHaveLength(2)
    const functions = ofType('AWS::Lambda::Function')
    expect(functions).toHaveLength(22)
    const services = functions.map(
      ([, { Properties }]) => Properties.Environment.Variables.PUSHPOP_SERVICE,
    )
    expect(new Set(services)).toEqual(new Set(['Shop-Orders', 'Shop-Mails']))
    const alarms = ofType('AWS::CloudWatch::Alarm').map(
      ([, { Properties }]) => Properties.AlarmName,
    )
    expect(new Set(alarms).size).toBe(alarms.length)
  })

  it.each<[string, Granting, string]>([
    ['pushing', (orders, caller) => orders.grantPush(caller), 'POST/queue/*/push'],
    [
      'popping, with all that settles what was popped',
      (orders, caller) => orders.grantPop(caller),
      'POST/queue/*/acknowledge POST/queue/*/dead-letter POST/queue/*/extend-lock POST/queue/*/pop POST/queue/*/release',
    ],
    [
      'inspecting',
      (orders, caller) => orders.grantInspect(caller),
      'GET/queue/* GET/queue/*/config GET/queue-config GET/queue/*/items GET/queue/*/scheduled GET/queue/*/schedules GET/queue/*/schedules/* GET/queues GET/rate/*',
    ],
    [
      'managing',
      (orders, caller) => orders.grantManage(caller),
      'DELETE/queue/*/config DELETE/queue/*/schedules/* DELETE/rate/*/config GET/rate-config GET/rate/*/config POST/queue/*/cancel POST/queue/*/move POST/queue/*/purge POST/queue/*/redrive POST/queue/*/schedules/*/pause POST/queue/*/schedules/*/resume POST/queue/*/schedules/*/run PUT/queue-config PUT/queue/*/config PUT/queue/*/schedules/* PUT/rate-config PUT/rate/*/config',
    ],
    [
      'inspecting some queues, and then not the list of all',
      (orders, caller) => orders.grantInspect(caller, some),
      some
        .flatMap((id) =>
          ['', '/config', '/items', '/scheduled', '/schedules', '/schedules/*'].map(
            (end) => `GET/queue/${id}${end}`,
          ),
        )
        .join(' '),
    ],
    [
      'rate limits with their tickets',
      (orders, caller) => orders.grantRate(caller),
      'DELETE/rate/*/tickets/* GET/rate/*/tickets/* POST/rate/*',
    ],
    [
      'some rate limits',
      (orders, caller) => orders.grantRate(caller, keys),
      keys
        .flatMap((key) => [
          `DELETE/rate/${key}/tickets/*`,
          `GET/rate/${key}/tickets/*`,
          `POST/rate/${key}`,
        ])
        .join(' '),
    ],
  ])('grants calls to the routes of a duty, and to no other: %s.', (_, grant, paths) => {
    const { orders, caller, rights } = shop()
    grant(orders, caller)
    expect(rights()).toEqual(paths.split(' ').map(route).sort())
  })

  it('says so if a grant by IAM would grant nothing.', () => {
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
        'dynamodb:DeleteItem on OrdersStorageTable',
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

  it('hands settings of prefixes to the sweeper, and to no other function.', () => {
    const queueConfig = [{ prefix: 'tenant-7.', maxDeliveries: 5 }]
    const { ofType } = aService({ queueConfig }, 'Orders').look()
    const told = ofType('AWS::Lambda::Function').flatMap(([id, { Properties }]) => {
      const text: unknown = Properties.Environment.Variables.PUSHPOP_QUEUE_CONFIG
      return text === undefined ? [] : [[id, JSON.parse(String(text))]]
    })
    expect(told).toEqual([[expect.stringContaining('ReturnExpiredLocks'), queueConfig]])
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
