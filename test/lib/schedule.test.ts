import { Queue } from 'aws-cdk-lib/aws-sqs'
import { Fn, Intrinsic, Lazy, ResolutionTypeHint, Stack, Token } from 'aws-cdk-lib/core'
import { describe, expect, it } from 'vitest'
import {
  PushPopSchedule,
  type PushPopScheduleProps,
} from '../../lib/constructs/push-pop-schedule.ts'
import type { PushPopProps } from '../../lib/constructs/service-props.ts'
import { aService } from './synthesised.ts'

type Props = Omit<PushPopScheduleProps, 'service'>

const weekly: Props = {
  queue: 'reports',
  cron: '0 9 * * 1',
  timeZone: 'Europe/Berlin',
  item: { report: 'sales' },
}

function schedules(service: PushPopProps, all: Readonly<Record<string, Props>>) {
  const made = aService(service, 'Orders')
  for (const [id, props] of Object.entries(all)) {
    new PushPopSchedule(made.stack, id, { service: made.service, ...props })
  }
  return made
}

/** What each function is told, by the variable of schedules. */
const told = ({ look }: ReturnType<typeof aService>) =>
  look()
    .ofType('AWS::Lambda::Function')
    .flatMap(([id, { Properties }]) => {
      const text: unknown = Properties.Environment.Variables.PUSHPOP_SCHEDULES
      return text === undefined ? [] : [{ id, text }]
    })

const textOf = (made: ReturnType<typeof aService>) => String(told(made)[0]?.text)

describe('A schedule in code', () => {
  it('is told to the sweeper, and to no other function, with all that was said of it.', () => {
    const made = schedules(
      {},
      {
        EveryMonday: {
          ...weekly,
          priority: 3,
          startsAt: new Date('2027-01-01T00:00Z'),
          endsAt: new Date('2028-01-01T00:00Z'),
          missed: 'all',
        },
        Often: { queue: 'a', name: 'every-minute', everySeconds: 60, item: null },
      },
    )
    expect(told(made)).toHaveLength(1)
    expect(told(made)[0]?.id).toContain('ReturnExpiredLocks')
    expect(JSON.parse(textOf(made))).toEqual([
      { queue: 'a', name: 'every-minute', everySeconds: 60, item: null },
      {
        queue: 'reports',
        name: 'EveryMonday',
        cron: '0 9 * * 1',
        timeZone: 'Europe/Berlin',
        item: { report: 'sales' },
        priority: 3,
        startsAtMs: Date.parse('2027-01-01T00:00Z'),
        endsAtMs: Date.parse('2028-01-01T00:00Z'),
        missed: 'all',
      },
    ])
  })

  it('is nowhere where there is none.', () => {
    expect(told(aService({}, 'Orders'))).toEqual([])
  })

  it('says its queue and its name.', () => {
    const { stack, service } = aService({}, 'Orders')
    const { queue, scheduleName } = new PushPopSchedule(stack, 'Weekly', { service, ...weekly })
    expect([queue, scheduleName]).toEqual(['reports', 'Weekly'])
  })

  it('comes to the sweeper in one order, whatever the order of the app.', () => {
    const [a, b] = [
      { ...weekly, name: 'a' },
      { ...weekly, name: 'b' },
    ]
    expect(textOf(schedules({}, { a, b }))).toBe(textOf(schedules({}, { b, a })))
  })

  it('brings its item as JSON has it, whatever is in it.', () => {
    const item = {
      ...{ text: 'a "b" \\ \n ü $' + '{x}', nothing: null, yes: true, n: 1.5e-7, empty: '' },
      ...{ list: [[], {}, null, 'x'], at: new Date(0) },
      left: undefined,
    }
    const [schedule] = JSON.parse(textOf(schedules({}, { Weekly: { ...weekly, item } })))
    expect(schedule.item).toEqual(JSON.parse(JSON.stringify(item)))
    for (const plain of [null, 0, '', [], false]) {
      const [only] = JSON.parse(textOf(schedules({}, { Weekly: { ...weekly, item: plain } })))
      expect(only.item).toEqual(plain)
    }
  })

  it.each([
    [{ at: new URL('https://example.com/x') }, { at: 'https://example.com/x' }],
    [{ list: [1, undefined, 2] }, { list: [1, null, 2] }],
    [{ x: { toJSON: () => 'seven', y: 7 } }, { x: 'seven' }],
    [new Map([['a', 1]]), {}],
    [{ n: Number.NaN }, { n: null }],
    [new Date(0), '1970-01-01T00:00:00.000Z'],
  ])('brings its item as JSON.stringify writes it: %o.', (item, expected) => {
    const [schedule] = JSON.parse(textOf(schedules({}, { Weekly: { ...weekly, item } })))
    expect(schedule.item).toEqual(expected)
  })

  it('may have values in its item that are no text in the template.', () => {
    const made = aService({}, 'Orders')
    const item = {
      number: Token.asNumber({ Ref: 'Count' }),
      resolvable: Fn.getAtt('Any', 'Arn'),
      lazy: Lazy.any({ produce: () => ({ a: [1] }) }),
    }
    new PushPopSchedule(made.stack, 'Weekly', { service: made.service, ...weekly, item })
    const [{ text } = { text: {} }] = told(made)
    const [, parts] = (text as { 'Fn::Join': [string, unknown[]] })['Fn::Join']
    const resolved = parts.map((part) => (typeof part === 'string' ? part : '7')).join('')
    expect(JSON.parse(resolved)).toMatchObject([
      { item: { number: 7, resolvable: '7', lazy: { a: [1] } } },
    ])
  })

  it.each([
    ['in one value', new Intrinsic({ Ref: 'L' }, { typeHint: ResolutionTypeHint.STRING_LIST })],
    ['as a list', Token.asList({ Ref: 'L' })],
  ])('is refused with a list that only the deployment knows, %s.', (_, list) => {
    const all = { Weekly: { ...weekly, item: { list } } }
    expect(() => schedules({}, all)).toThrow('`item` has a list that only the deployment knows')
  })

  it('may have names in its item that only the deployment knows.', () => {
    const made = aService({}, 'Orders')
    const { queueArn } = new Queue(made.stack, 'Queue')
    new PushPopSchedule(made.stack, 'Weekly', {
      service: made.service,
      ...weekly,
      item: { region: made.stack.region, queueArn },
    })
    const [{ text } = { text: {} }] = told(made)
    const [, parts] = (text as { 'Fn::Join': [string, unknown[]] })['Fn::Join']
    const arn = parts.find((part) => typeof part === 'object' && 'Fn::GetAtt' in (part as object))
    expect(parts).toContainEqual({ Ref: 'AWS::Region' })
    expect(arn).toBeDefined()
    const resolved = parts.map((part) => (typeof part === 'string' ? part : 'x')).join('')
    expect(JSON.parse(resolved)).toMatchObject([{ item: { region: 'x', queueArn: 'x' } }])
  })

  it('can be in another stack of the app than its service.', () => {
    const made = aService({}, 'Orders')
    const other = new Stack(made.app, 'Reports')
    new PushPopSchedule(other, 'Weekly', { service: made.service, ...weekly })
    expect(JSON.parse(textOf(made))).toMatchObject([{ name: 'Weekly' }])
  })

  it.each([
    [{ queue: 'no/queue' }, 'of `queue`: A queue id must be'],
    [{ name: 'every monday' }, 'of `name`: The name of a schedule must be 1 to 100'],
    [{ cron: '0 9 * *' }, 'of `cron`: cron must be five fields'],
    [{ cron: '0 25 * * *' }, 'of `cron`: cron "0 25 * * *" cannot be read'],
    [{ cron: '0 0 30 2 *' }, 'of `cron`: cron "0 0 30 2 *" names no time that ever comes'],
    [{ timeZone: 'Europe/Nowhere' }, 'of `timeZone`: timeZone "Europe/Nowhere" is not known'],
    [{ everySeconds: 60 }, 'of `everySeconds`: say either cron or everySeconds'],
    [{ cron: undefined }, 'of `cron`: say either cron or everySeconds'],
    [
      { cron: undefined, timeZone: undefined, everySeconds: 9 },
      'of `everySeconds`: everySeconds must be an integer from 10 to',
    ],
    [{ cron: undefined, everySeconds: 60 }, 'of `timeZone`: timeZone goes with cron alone'],
    [{ priority: -1 }, 'of `priority`: priority must be an integer from 0 to'],
    [{ missed: 'two' }, 'of `missed`: missed must be skip, one or all'],
    [{ startsAt: new Date(1_500) }, 'of `startsAt`: startsAt must be whole seconds'],
    [{ endsAt: new Date('soon') }, 'of `endsAt`: endsAt must be a time'],
    [
      { startsAt: new Date(1_800_000_000) },
      'of `startsAt`: startsAt takes milliseconds in code, and 1800000000 looks like seconds',
    ],
    [
      { startsAt: new Date('2027-01-01'), endsAt: new Date('2026-01-01') },
      'of `endsAt`: endsAt must not be before startsAt',
    ],
    [
      { startsAt: new Date('2027-01-01'), endsAt: new Date('2027-01-02') },
      'of `endsAt`: endsAt must not be before the first time at which the schedule is due',
    ],
    [{ item: undefined }, 'because `item` must be a JSON value'],
    [{ item: 1n }, 'because `item` must be a JSON value'],
    [{ item: 'x'.repeat(300_000) }, 'of `item`'],
  ] as [Partial<Props>, string][])('is refused if it cannot be: %o.', (props, sentence) => {
    const all = { Weekly: { ...weekly, ...props } as Props }
    expect(() => schedules({}, all)).toThrow(`Cannot make the schedule "Weekly" because`)
    expect(() => schedules({}, all)).toThrow(sentence)
  })

  it('is refused if its queue is known to the deployment alone.', () => {
    const { stack, service } = aService({}, 'Orders')
    const props = { service, ...weekly, queue: stack.stackId }
    expect(() => new PushPopSchedule(stack, 'Weekly', props)).toThrow(
      'Cannot make the schedule "Weekly" because `queue` must be known when the app is run',
    )
  })

  it('may have ended.', () => {
    const all = { Weekly: { ...weekly, endsAt: new Date('2020-01-01') } }
    expect(() => schedules({}, all)).not.toThrow()
  })

  it('is refused beside one of the same queue and name.', () => {
    const all = { A: { ...weekly, name: 'weekly' }, B: { ...weekly, name: 'weekly' } }
    expect(() => schedules({}, all)).toThrow(
      'Cannot make the schedule "B" because "Shop/A" is schedule "weekly" of queue "reports" too',
    )
  })

  it('is refused if the environment has no room for it, which the patterns of queues share.', () => {
    const item = 'x'.repeat(2_000)
    expect(() => schedules({}, { Weekly: { ...weekly, item } })).not.toThrow()
    const two = { Weekly: { ...weekly, item }, Daily: { ...weekly, item } }
    expect(() => schedules({}, two)).toThrow(
      /Cannot make the schedule "Daily" because the schedules of its service take 4\d+ bytes of the sweeper's environment with it, each quote counted twice, which has room for 3400 /,
    )
    const quotes = { Weekly: { ...weekly, item: '"'.repeat(900) } }
    expect(() => schedules({}, quotes)).toThrow('each quote counted twice')
    const queueConfig = Array.from({ length: 40 }, (_, n) => ({ prefix: `t${n}.`, capacity: 9 }))
    expect(() => schedules({ queueConfig }, { Weekly: { ...weekly, item } })).toThrow(
      'beside `queueConfig`',
    )
  })
})
