// What is decided apart from the loop: tables first, then what holds for whatever comes.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HELD_TTL_SECONDS_MIN, queueOf, settingsOf } from '../../../lambdas/consumer/settings.ts'
import { isOverdue, partsOf, verdictsOf } from '../../../shared/worker/batch.ts'
import {
  type AgainOptions,
  END_MS,
  mayTakeMore,
  retryDelayMs,
  retryOf,
  sitsOut,
  TROUBLES_MAX,
  troublePauseMs,
} from '../../../shared/worker/retries.ts'
import type { Item } from '../../../shared/worker/run.ts'

describe('Another batch', () => {
  it.each([
    ['is begun by a fresh run.', 60_000, 0, true],
    ['is begun by a run with little time that has done nothing yet.', END_MS + 1, 0, true],
    ['is not begun in the time kept for the end.', END_MS, 0, false],
    ['is begun where half as much again as the longest fits.', END_MS + 15_001, 10_000, true],
    ['is not begun where less fits.', END_MS + 15_000, 10_000, false],
  ] as const)('%s', (_, remainingMs, longestMs, may) => {
    expect(mayTakeMore(remainingMs, longestMs)).toBe(may)
  })
})

describe('What failed', () => {
  it.each([
    [1, 1_000],
    [2, 2_000],
    [5, 16_000],
    [9, 256_000],
    [10, 300_000],
    [1_000, 300_000],
  ])('after %i deliveries waits for %i ms, or up to a quarter less.', (deliveries, ms) => {
    expect(retryDelayMs(retryOf(), deliveries, () => 1)).toBe(ms)
    expect(retryDelayMs(retryOf(), deliveries, () => 0)).toBe(ms * 0.75)
  })

  const of = (options: AgainOptions, random = 0) =>
    [1, 2, 3, 4, 50].map((deliveries) => retryDelayMs(retryOf(options), deliveries, () => random))

  it('waits for the delay of its delivery, and for the last one ever after.', () => {
    expect(of({ delays: ['1m', '5m', '1h'] })).toEqual([
      60_000, 300_000, 3_600_000, 3_600_000, 3_600_000,
    ])
    expect(of({ delays: [90] })).toEqual([90_000, 90_000, 90_000, 90_000, 90_000])
  })

  it('waits ever longer if a backoff is given, up to its end.', () => {
    const backoff = { first: '10s', factor: 3, most: '1d' } as const
    expect(of({ backoff }, 1)).toEqual([10_000, 30_000, 90_000, 270_000, 86_400_000])
    expect(of({ backoff: { factor: 1 }, jitter: 0 })).toEqual(Array(5).fill(1_000))
  })

  it('waits for as much less as is left to chance.', () => {
    expect(of({ delays: ['10s'], jitter: 0.5 }, 0)[0]).toBe(5_000)
    expect(of({ delays: ['10s'], jitter: 0.5 }, 1)[0]).toBe(10_000)
  })

  it.each([
    ['delays', { delays: [] }],
    ['delays', { delays: ['5x'] as never }],
    ['delays', { delays: ['2d'] }],
    ['delays', { delays: [0] }],
    ['delays', { delays: '1m' as never }],
    ['delays', { delays: ['1m'], backoff: {} }],
    ['backoff.first', { backoff: { first: '0s' } }],
    ['backoff.factor', { backoff: { factor: 0.5 } }],
    ['backoff.most', { backoff: { most: Number.NaN } }],
    ['jitter', { jitter: 2 }],
    ['{ delays: ["2s","5s"] }', ['2s', '5s'] as never],
    ['delay', { delay: 1 } as never],
    ['often', { backoff: { often: 1 } } as never],
  ] as const)('cannot wait for what no %s says.', (name, options) => {
    expect(() => retryOf(options)).toThrow(name)
  })

  it.each([
    ['is waited for by a run, if that is soon.', 4_000, 60_000, true],
    ['is left to an event otherwise.', 8_000, 60_000, false],
    ['is left to an event where the run has not so much time.', 4_000, 6_000, false],
  ] as const)('%s', (_, delayMs, remainingMs, waits) => {
    expect(sitsOut(delayMs, remainingMs)).toBe(waits)
  })
})

it('Trouble is sat out for some seconds, and not for longer than any lock lives.', () => {
  const all = Array.from({ length: TROUBLES_MAX }, (_, i) => troublePauseMs(i + 1, () => 1))
  const sum = all.reduce((total, ms) => total + ms, 0)
  expect(sum).toBeGreaterThan(3_000)
  expect(sum).toBeLessThan(10_000)
})

it('A lock that is not extended any more outlives the process that holds it.', () => {
  const leftMs = HELD_TTL_SECONDS_MIN * 1000 * 0.6
  expect(leftMs).toBeGreaterThan(END_MS)
})

const item = (n: number, deliveries = 1): Item => ({
  value: n,
  text: String(n),
  id: `id-${n}`,
  priority: 0,
  pushedAtMs: 0,
  deliveries,
})

describe('Verdicts', () => {
  const noMarks = { dead: new Map<string, string>(), back: new Set<string>() }
  const returned = (...failed: string[]) => ({ kind: 'returned', result: { failed } }) as const
  const threw = { kind: 'threw', error: new Error('full') } as const
  const short = ({ done, dead, back }: ReturnType<typeof verdictsOf>) => ({
    done,
    dead: Object.fromEntries(dead),
    back: back.map(({ id }) => id),
  })

  it.each([
    ['all done', returned(), 3, { done: ['id-1', 'id-2'], dead: {}, back: [] }],
    ['all back', threw, 3, { done: [], dead: {}, back: ['id-1', 'id-2'] }],
    [
      'all back, for nobody knows which of them failed',
      threw,
      1,
      { done: [], dead: {}, back: ['id-1', 'id-2'] },
    ],
    ['one back', returned('id-2'), 3, { done: ['id-1'], dead: {}, back: ['id-2'] }],
    [
      'the last delivery failed',
      returned('id-1', 'id-2'),
      2,
      { done: [], dead: { max_deliveries: ['id-2'] }, back: ['id-1'] },
    ],
  ] as const)('of items on their first and second delivery: %s.', (_, ended, most, expected) => {
    expect(short(verdictsOf([item(1), item(2, 2)], noMarks, ended, most))).toEqual(expected)
  })

  it('put every item into exactly one place, and only what did not fail among the done.', () => {
    const bits = fc.array(
      fc.record({ dead: fc.boolean(), back: fc.boolean(), failed: fc.boolean() }),
    )
    fc.assert(
      fc.property(bits, fc.boolean(), fc.integer({ min: 1, max: 5 }), (flags, threws, most) => {
        const items = flags.map((_, n) => item(n, (n % 6) + 1))
        const where = (flag: 'dead' | 'back' | 'failed') =>
          items.filter((_, n) => flags[n]?.[flag]).map(({ id }) => id)
        const marks = {
          dead: new Map(where('dead').map((id) => [id, 'why'])),
          back: new Set(where('back')),
        }
        const ended = threws ? threw : returned(...where('failed'))
        const { done, dead, back } = verdictsOf(items, marks, ended, most)
        const ids = [...done, ...[...dead.values()].flat(), ...back.map(({ id }) => id)]
        expect(ids.toSorted()).toEqual(items.map(({ id }) => id).toSorted())
        const bad = new Set([...where('dead'), ...where('back'), ...where('failed')])
        expect(done.filter((id) => threws || bad.has(id))).toEqual([])
        const own = new Set([...where('back'), ...(threws ? [] : where('failed'))])
        const isBlamed = ({ id }: Item) => own.has(id) || items.length === 1
        expect(back.filter((it) => isBlamed(it) && it.deliveries >= most)).toEqual([])
        const buried = [...dead].flatMap(([why, buriedIds]) => (why === 'why' ? [] : buriedIds))
        expect(items.filter((it) => buried.includes(it.id) && !isBlamed(it))).toEqual([])
      }),
    )
  })

  it('of a lone item that threw for the last time: dead.', () => {
    const { dead } = verdictsOf([item(1, 2)], noMarks, threw, 2)
    expect([...dead]).toEqual([['max_deliveries: full', ['id-1']]])
  })

  it('of one of several, which failed for the last time: dead without an error that may be another’s.', () => {
    const marks = { ...noMarks, back: new Set(['id-1']) }
    const { dead } = verdictsOf([item(1, 2), item(2)], marks, threw, 2)
    expect([...dead]).toEqual([['max_deliveries', ['id-1']]])
  })

  it.each([
    ['once', false, 1, [1, 2, 3], [2, 3]],
    ['once, and among others six times', true, 1, [2, 6, 7], [7]],
    ['four times, and among others twice as often', true, 4, [5, 8, 9], [9]],
  ])('are not asked for of one that died that often: %s.', (_, isAmongOthers, most, all, late) => {
    const isLate = (deliveries: number) =>
      isOverdue([item(1, deliveries)], { isAmongOthers, deliveriesMax: most })
    expect(all.filter(isLate)).toEqual(late)
  })

  it('are asked for of all that come together, however often they came.', () => {
    const limits = { isAmongOthers: true, deliveriesMax: 1 }
    expect(isOverdue([item(1, 9), item(2, 9)], limits)).toBe(false)
  })
})

it('The handler gets the fresh items of a lot together, and returned items one by one, in order.', () => {
  const deliveries = [1, 1, 2, 3, 1, 1, 2, 1]
  const parts = partsOf(deliveries.map((times, n) => item(n, times)))
  expect(parts.map((part) => part.map(({ value }) => value))).toEqual([
    [0, 1],
    [2],
    [3],
    [4, 5],
    [6],
    [7],
  ])
})

describe('Settings', () => {
  it('are the defaults, then the variables, then what the code says.', () => {
    expect(settingsOf({}, {})).toEqual({
      batchSize: 1,
      lockTtlSeconds: 30,
      deliveriesMax: Number.POSITIVE_INFINITY,
      retry: retryOf(),
      locks: 1,
      competing: false,
    })
    const variables = {
      PUSHPOP_CONSUMER_BATCH_SIZE: '10',
      PUSHPOP_CONSUMER_LOCK_TTL_SECONDS: '60',
      PUSHPOP_CONSUMER_MAX_DELIVERIES: '3',
      PUSHPOP_CONSUMER_LOCKS: '4',
    }
    expect(settingsOf({ batchSize: 20 }, variables)).toEqual({
      batchSize: 20,
      lockTtlSeconds: 60,
      deliveriesMax: 3,
      retry: retryOf(),
      locks: 4,
      competing: true,
    })
    expect(settingsOf({}, { PUSHPOP_CONSUMER_COMPETING: 'yes' }).competing).toBe(true)
    expect(settingsOf({}, { PUSHPOP_CONSUMER_COMPETING: 'no' }).competing).toBe(false)
  })

  it.each([
    [{ batchSize: 0 }, "The consumer's batchSize must be an integer from 1 to 100, and is 0"],
    [{ batchSize: 101 }, "The consumer's batchSize must be an integer from 1 to 100, and is 101"],
    [{ lockTtlSeconds: 4 }, 'lockTtlSeconds must be an integer from 5 to 300, and is 4'],
    [{ maxDeliveries: 1.5 }, 'maxDeliveries must be an integer from 1 to 1000, and is 1.5'],
    [{ locks: 2, competing: false }, 'Cannot hold 2 locks at once without competing consumers'],
    [{ maxDelivery: 2 } as object, 'Unknown option "maxDelivery": it is maxDeliveries'],
  ])('that cannot be are refused: %j', (options, sentence) => {
    expect(() => settingsOf(options, {})).toThrow(sentence)
  })
})

describe('An event', () => {
  it('names its queue, and nothing else of it matters.', () => {
    expect(queueOf({ detail: { queue: 'orders' } })).toBe('orders')
  })

  it.each([
    [undefined],
    [null],
    ['orders'],
    [{}],
    [{ detail: null }],
    [{ detail: { queue: '../x' } }],
  ])('without one is refused: %j', (event) => {
    expect(() => queueOf(event)).toThrow('its detail.queue is not a queue id')
  })
})
