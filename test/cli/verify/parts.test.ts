// The pure parts of `pushpop verify`: verdicts, claims, latencies, costs, reports.

import { describe, expect, test } from 'vitest'
import { allChecks } from '../../../cli/commands/verify.ts'
import { Broken, refused, Skipped, same } from '../../../cli/verify/claims.ts'
import { turnstile } from '../../../cli/verify/estate.ts'
import type { Call } from '../../../cli/verify/meter.ts'
import { costOf, latenciesOf, operationOf } from '../../../cli/verify/meter.ts'
import type { Played } from '../../../cli/verify/play.ts'
import { verdictOn, worstOf } from '../../../cli/verify/play.ts'
import { duration, markdownReport, verdictSentence } from '../../../cli/verify/report.ts'
import { type Check, type Needs, ruledOutBy } from '../../../cli/verify/stage.ts'
import { type Configuration, PushPopError } from '../../../client/index.ts'
import { prices } from '../../../lib/prices.ts'

const call = (more: Partial<Call> = {}): Call => ({
  operation: 'pop',
  ms: 10,
  bytesSent: 0,
  status: 200,
  ...more,
})

test('Every check has a name that fits into a queue id, and its own sentences.', () => {
  const names = allChecks.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  for (const { name, steps } of allChecks) {
    expect(name).toMatch(/^[a-z-]{1,13}$/)
    expect(Object.keys(steps).length).toBeGreaterThan(0)
  }
})

describe('A verdict', () => {
  const settings: Configuration = {
    segmentSize: 100,
    bufferSegments: 1,
    source: { from: 'default' },
  }
  const running = { halt: new AbortController().signal, settings }
  const error = (code: ConstructorParameters<typeof PushPopError>[0], more: object = {}) =>
    new PushPopError(code, 'because', { status: 400, ...more })

  test.each([
    ['what is not as promised', 'broken', new Broken('because')],
    ['a refusal', 'broken', error('LOCK_NOT_FOUND', { status: 404 })],
    ['a lock of nobody', 'broken', error('QUEUE_LOCKED', { status: 423, retryable: true })],
    ['a fault of the service', 'broken', error('INTERNAL', { status: 500 })],
    ['a store out of reach', 'undecided', error('STORE_UNAVAILABLE', { status: 503 })],
    ['the gateway’s throttle', 'undecided', error('RATE_LIMITED', { status: 429 })],
    ['a missing right', 'undecided', error('FORBIDDEN', { status: 403 })],
    ['no answer', 'undecided', new PushPopError('TIMEOUT', 'late')],
    ['a fault of the check', 'undecided', new TypeError('oops')],
    ['what cannot be seen', 'skipped', new Skipped('because')],
  ])('on %s is "%s"', (_, kind, error) => {
    expect(verdictOn(error, running).kind).toBe(kind)
  })

  test('on what ended with the run says why', () => {
    const why = (halt: AbortSignal) => verdictOn(new Error('stopped'), { halt, settings })
    expect(why(AbortSignal.abort())).toMatchObject({ reason: 'it was interrupted' })
    const over = AbortSignal.abort(new DOMException('over', 'TimeoutError'))
    expect(why(over)).toMatchObject({ kind: 'undecided', reason: 'its time was over' })
    expect(verdictOn(new Broken('seen before'), { halt: over, settings }).kind).toBe('broken')
  })

  test('on the operator’s own limit is that the step cannot be tried', () => {
    const limit = { maxRequests: 10, windowMillis: 1_000 }
    const limited: Configuration = {
      ...settings,
      popLimit: { ...limit, algorithm: 'window', burst: 1 },
      source: { from: 'pattern', prefix: 'push' },
    }
    const under = (more: object) =>
      verdictOn(error('RATE_LIMITED', { status: 429, ...more }), { ...running, settings: limited })
    expect(under({ retryAfterMs: 300 })).toEqual({
      kind: 'skipped',
      reason: 'the prefix "push" limits it: because',
    })
    expect(under({}).kind).toBe('undecided')
    expect(verdictOn(error('RATE_LIMITED', { retryAfterMs: 300 }), running).kind).toBe('undecided')
  })

  test('of a check is that of its worst step; what was skipped does not count', () => {
    expect(worstOf(['holds', 'undecided', 'broken'])).toBe('broken')
    expect(worstOf(['holds', 'undecided', 'skipped'])).toBe('undecided')
    expect(worstOf(['holds', 'skipped'])).toBe('holds')
    expect(worstOf(['skipped'])).toBe('skipped')
  })
})

describe('A claim', () => {
  test('names the first of many that differ', () => {
    const promised = Array.from({ length: 30 }, (_, n) => n)
    expect(() => same('the items', promised.with(7, 70), promised)).toThrow(
      'the items: promised 7 at 7, found 70 (30 promised, 30 found)',
    )
    expect(() => same('the items', [...promised, 30], promised)).toThrow(
      'promised 30 of them, found 31',
    )
    expect(() => same('the items', [2, 1], [1, 2])).toThrow('promised [1,2], found [2,1]')
  })

  test('of a refusal is broken by an answer, another code, and an open outcome', async () => {
    const full = { code: 'QUEUE_FULL', status: 429 } as const
    const failing = (error: PushPopError) => refused(Promise.reject(error), full)
    await expect(refused(Promise.resolve({}), full)).rejects.toThrow(Broken)
    await expect(failing(new PushPopError('BODY_TOO_LARGE', 'x', { status: 413 }))).rejects.toThrow(
      Broken,
    )
    const open = { status: 429, outcome: 'unknown' } as const
    await expect(failing(new PushPopError('QUEUE_FULL', 'x', open))).rejects.toThrow(Broken)
    const lost = new PushPopError('NETWORK_ERROR', 'x')
    await expect(failing(lost)).rejects.toBe(lost)
  })
})

test('Latencies are those that half and 99 of 100 calls do not exceed.', () => {
  const pops = Array.from({ length: 200 }, (_, n) => call({ ms: n + 1 }))
  expect(latenciesOf([...pops, call({ operation: 'push', ms: 5 })])).toEqual([
    { operation: 'pop', calls: 200, p50Ms: 100, p99Ms: 198 },
    { operation: 'push', calls: 1, p50Ms: 5, p99Ms: 5 },
  ])
})

test.each([
  ['POST', '/queue/orders/push', 'push'],
  ['GET', '/queue/orders', 'inspect'],
  ['GET', '/queue/orders/items', 'browse'],
  ['DELETE', '/rate/k/tickets/t', 'giveUpTicket'],
  ['DELETE', '/queue/orders', 'other'],
  ['GET', '/nothing/here', 'other'],
])('%s %s is counted as %s', (method, path, operation) => {
  expect(operationOf(method, path)).toBe(operation)
})

test('A cost is that of gateway, Lambda and table; what was refused stored nothing.', () => {
  const { gatewayDollars, lambdaDollars, tableDollars, dollars } = costOf([call({ ms: 1_000 })])
  expect(gatewayDollars).toBe(prices.httpApiRequest)
  expect(lambdaDollars).toBe(prices.lambdaRequest + prices.lambdaGigabyteSecond)
  expect(tableDollars).toBe(prices.writeUnit + prices.readUnit)
  expect(dollars).toBe(gatewayDollars + lambdaDollars + tableDollars)
  const large = { operation: 'push', bytesSent: 1_000_000 } as const
  const [stored, refusal] = [costOf([call(large)]), costOf([call({ ...large, status: 413 })])]
  expect(stored.dollars / refusal.dollars).toBeGreaterThan(100)
})

test('A turnstile lets so many go at once, in order, and the next one also after a failure.', async () => {
  const pass = turnstile(2)
  const begun: number[] = []
  let most = 0
  let running = 0
  const works = [0, 1, 2, 3, 4].map((n) =>
    pass(async () => {
      begun.push(n)
      running += 1
      most = Math.max(most, running)
      await new Promise((resolve) => setImmediate(resolve))
      running -= 1
      if (n === 1) throw new Error('failed')
    }),
  )
  await Promise.allSettled(works)
  expect({ begun, most }).toEqual({ begun: [0, 1, 2, 3, 4], most: 2 })
})

describe('A report', () => {
  const check: Check = { name: 'order', promise: 'First in, first out', steps: {} }
  const reason = 'promised [1], found `[2]` | @somebody\n# heading'
  const played: Played = {
    results: [
      {
        check,
        verdict: 'broken',
        steps: [{ name: 'In order', verdict: { kind: 'broken', reason } }],
        calls: [call()],
        ms: 95_400,
      },
    ],
    calls: [call()],
    ms: 95_400,
    seen: new Map([['segment_size', '100']]),
    kept: [],
    leftBehind: ['pushpop-verify-1 (No answer)'],
  }

  test('shows what was found as it is, on one line and in code', () => {
    const text = markdownReport({
      played,
      cost: costOf(played.calls),
      version: '1.2.3',
      startedAtMs: Date.UTC(2026, 10, 19, 12),
      where: 'eu-west-1',
      auth: 'iam',
    })
    expect(text).toContain(
      'pushpop 1.2.3 · eu-west-1 · auth iam · 2026-11-19 12:00 UTC · 1 call in 1 min 35 s',
    )
    expect(text).toContain(
      '- **order** ✗ In order: `` promised [1], found `[2]` | @somebody # heading ``',
    )
    expect(text).toContain('- Not cleaned up: pushpop-verify-1 (No answer)')
  })

  test.each([
    [{}, '0 of 1 promise holds; 1 is broken'],
    [{ verdict: 'holds' }, '1 of 1 promise holds'],
    [{ verdict: 'undecided' }, '0 of 1 promise holds; 1 could not be decided'],
  ] as const)('says in a sentence how it went: %j', (more, sentence) => {
    const results = played.results.map((result) => ({ ...result, ...more }))
    expect(verdictSentence({ ...played, results })).toBe(sentence)
  })

  test.each([
    [40, '0.0 s'],
    [9_940, '9.9 s'],
    [9_960, '10 s'],
    [59_400, '59 s'],
    [59_700, '1 min 0 s'],
    [125_000, '2 min 5 s'],
  ])('says %d ms as %s', (ms, text) => expect(duration(ms)).toBe(text))
})

const limitOf = (maxRequests: number, windowMillis: number) =>
  ({ maxRequests, windowMillis, algorithm: 'window', burst: 1 }) as const

describe('A step', () => {
  test.each<[string, Needs, Partial<Configuration>, RegExp | undefined]>([
    [
      'that pushes more than fits',
      { items: 60 },
      { capacity: 59 },
      /capacity of 59.* pushes 60 items/,
    ],
    ['that pushes as much as fits', { items: 60 }, { capacity: 60 }, undefined],
    ['that pushes a few where fewer fit', {}, { capacity: 3 }, /capacity of 3/],
    [
      'whose items come back where none does',
      { returns: true },
      { maxDeliveries: 1 },
      /max_deliveries/,
    ],
    ['whose items come back', { returns: true }, { maxDeliveries: 2 }, undefined],
    ['whose items do not come back', {}, { maxDeliveries: 1 }, undefined],
    ['whose items may expire', {}, { itemTtlSeconds: 60 }, /item_ttl_seconds of 60/],
    ['whose items expire later', {}, { itemTtlSeconds: 300 }, undefined],
    [
      'that needs S3',
      { offloads: 500 },
      { segmentSize: 200 },
      /segment_size 200 and buffer_segments 1/,
    ],
    [
      'that needs S3, where much is kept',
      { offloads: 500 },
      { bufferSegments: 4 },
      /buffer_segments 4/,
    ],
    ['that needs S3, where that is enough', { offloads: 500 }, { segmentSize: 150 }, undefined],
    ['that would wait', {}, { popLimit: limitOf(1, 2_000) }, /a pop_limit of less than one call/],
    ['that would wait for pushes', {}, { pushLimit: limitOf(3, 60_000) }, /a push_limit of less/],
    ['that is slow', {}, { popLimit: limitOf(5, 5_000) }, undefined],
  ])('%s', (_, needs, settings, why) => {
    const found = ruledOutBy(
      {
        segmentSize: 100,
        bufferSegments: 1,
        source: { from: 'pattern', prefix: '' },
        ...settings,
      },
      needs,
    )
    if (why === undefined) expect(found).toBeUndefined()
    else expect(found).toMatch(why)
  })
})
