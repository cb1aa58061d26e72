// The rate limiter's verbs in time: which 429 is asked again, how long an answer may take that is held,
// and how a turn is waited for.

import { describe, expect, test, vi } from 'vitest'
import { PushPopError } from '../../client/index.ts'
import { go, later, no, rateOf, throttle, ticket } from './rate-answers.ts'
import { answers, clientOf, hangs, type Reply, refuses, succeeds, useFakeTime } from './scripted.ts'

useFakeTime()

test('the gateway’s own 429 is asked again, the limiter’s is not', async () => {
  const { limit, asked } = rateOf(throttle, throttle, no, go)
  const decision = limit.decide()
  await vi.runAllTimersAsync()
  expect(await decision).toEqual({ kind: 'denied', retryAfterMs: 640 })
  expect(asked()).toHaveLength(3)
})

test('a 429 of the limiter that answers another verb is a refusal', async () => {
  const { client, asked } = rateOf(no, no, succeeds)
  const pushed = client.queue('q').push(1)
  await vi.runAllTimersAsync()
  expect(await pushed).toEqual({ id: 'i1' })
  expect(asked()).toHaveLength(3)
})

test.each([
  { timeoutMs: 5_000, options: {}, waits: 5_000 },
  { timeoutMs: 5_000, options: { maxWaitMs: 20_000 }, waits: 5_000 },
  { timeoutMs: 5_000, options: { canWait: true }, waits: 15_000 },
  { timeoutMs: 5_000, options: { canWait: true, maxWaitMs: 20_000 }, waits: 25_000 },
  { timeoutMs: 5_000, options: { canWait: true, maxWaitMs: 0 }, waits: 5_000 },
  { timeoutMs: 31_000, options: { canWait: true, maxWaitMs: 20_000 }, waits: 31_000 },
  { timeoutMs: 60_000, options: { canWait: true, maxWaitMs: 20_000 }, waits: 60_000 },
])('an answer has its time and that of the hold: $options of $timeoutMs', async (row) => {
  const { limit } = clientOf([hangs], { timeoutMs: row.timeoutMs })
  const decision = limit.decide({ ...row.options, repeatLost: false })
  const failure = decision.catch((error: unknown) => error)
  const startedAtMs = performance.now()
  await vi.runAllTimersAsync()
  expect(await failure).toMatchObject({ code: 'TIMEOUT', outcome: 'unknown' })
  expect(performance.now() - startedAtMs).toBe(row.waits)
})

describe('wait', () => {
  /** What came of it, when, and the requests with the times they were sent at. */
  async function waited(options: object, ...replies: Reply[]) {
    const startedAtMs = performance.now()
    const times: number[] = []
    const timed = replies.map((reply): Reply => {
      return (...call) => {
        times.push(performance.now() - startedAtMs)
        return reply(...call)
      }
    })
    const { limit, requests } = rateOf(...timed)
    const outcome = limit.wait(options).catch((error: unknown) => error)
    await vi.runAllTimersAsync()
    const names = requests.map(({ method }) => method)
    return { outcome: await outcome, asked: names.map((name, i) => `${name} ${times[i]}`) }
  }

  test.each([
    ['goes at once where there is room', {}, [go], { kind: 'allowed' }, ['POST 0']],
    ['is told no', {}, [no], { kind: 'denied', retryAfterMs: 640 }, ['POST 0']],
    [
      'sleeps until its turn, and has its ticket verified',
      {},
      [later(9_000), ticket('ready')],
      { kind: 'allowed' },
      ['POST 0', 'GET 9000'],
    ],
    [
      'sleeps on where it woke too soon',
      {},
      [later(9_000), ticket('waiting', 30), ticket('ready')],
      { kind: 'allowed' },
      ['POST 0', 'GET 9000', 'GET 9030'],
    ],
    [
      'asks again where it woke too late',
      {},
      [later(9_000), ticket('over'), later(500), ticket('ready')],
      { kind: 'allowed' },
      ['POST 0', 'GET 9000', 'POST 9000', 'GET 9500'],
    ],
    [
      'may be told no then',
      {},
      [later(9_000), ticket('over'), no],
      { kind: 'denied', retryAfterMs: 640 },
      ['POST 0', 'GET 9000', 'POST 9000'],
    ],
    [
      'waits for a minute, not longer',
      {},
      [later(60_000), ticket('ready')],
      { kind: 'allowed' },
      ['POST 0', 'GET 60000'],
    ],
    [
      'hands over the ticket of a turn that is later',
      {},
      [later(60_001)],
      expect.objectContaining({ kind: 'promised', ticket: 'a.b', waitMs: 60_001 }),
      ['POST 0'],
    ],
    [
      'counts all the time it has waited',
      { maxWaitMs: 10_000 },
      [later(9_000), ticket('over'), later(1_001)],
      expect.objectContaining({ kind: 'promised', waitMs: 1_001 }),
      ['POST 0', 'GET 9000', 'POST 9000'],
    ],
    [
      'sleeps longer than a timer can',
      { maxWaitMs: 2 ** 32 },
      [later(2 ** 31), ticket('waiting', 1), ticket('ready')],
      { kind: 'allowed' },
      ['POST 0', `GET ${2 ** 31 - 1}`, `GET ${2 ** 31}`],
    ],
  ] as [string, object, Reply[], unknown, string[]][])(
    '%s',
    async (_, options, replies, outcome, asked) => {
      expect(await waited(options, ...replies)).toEqual({ outcome, asked })
    },
  )

  test('that fails says so', async () => {
    const { outcome } = await waited({}, later(9_000), refuses(500, 'INTERNAL'))
    expect(outcome).toMatchObject({ code: 'INTERNAL' })
    expect(outcome).toBeInstanceOf(PushPopError)
  })

  test.each([
    ['gives its place up', answers(200, { given_up: true })],
    ['does not wait for that', hangs],
    ['nor fails by it', refuses(400, 'INVALID_PARAMETER')],
  ])('that is aborted %s', async (_, reply) => {
    const stop = new AbortController()
    const { limit, asked } = rateOf(later(9_000), reply)
    const outcome = limit.wait({ signal: stop.signal }).catch((error: unknown) => error)
    await vi.advanceTimersByTimeAsync(100)
    stop.abort(new Error('enough'))
    await vi.advanceTimersByTimeAsync(0)
    expect(await outcome).toMatchObject({
      code: 'ABORTED',
      outcome: 'unknown',
      cause: new Error('enough'),
    })
    expect(asked()).toEqual([
      'POST /stage/rate/k?canWait=true&maxWaitMs=0',
      'DELETE /stage/rate/k/tickets/a.b',
    ])
    await vi.runAllTimersAsync()
  })

  test('that is aborted while its ticket is verified ends as well, and gives its place up', async () => {
    const stop = new AbortController()
    const { limit, asked } = rateOf(later(9_000), hangs, answers(200, { given_up: true }))
    const outcome = limit.wait({ signal: stop.signal }).catch((error: unknown) => error)
    await vi.advanceTimersByTimeAsync(9_000)
    expect(asked()).toHaveLength(2)
    stop.abort()
    expect(await outcome).toMatchObject({ code: 'ABORTED', outcome: 'unknown' })
    expect(asked().slice(2)).toEqual(['DELETE /stage/rate/k/tickets/a.b'])
  })

  test('that was aborted before takes no place', async () => {
    const { limit, asked } = rateOf(go)
    const wait = limit.wait({ signal: AbortSignal.abort() })
    await expect(wait).rejects.toMatchObject({ code: 'ABORTED', attempts: 0, outcome: undefined })
    expect(asked()).toEqual([])
  })
})
