// The rate limiter's verbs: what is sent, and what comes of each answer. What is sent again is in
// retries.test.ts, and how a turn is waited for in rate-wait.test.ts.

import { describe, expect, test } from 'vitest'
import type { Client, RateLimit } from '../../client/index.ts'
import { go, later, no, rateOf, ticket, window } from './rate-answers.ts'
import { answers, type Reply, refuses, succeeds } from './scripted.ts'

type Verb = (limit: RateLimit, client: Client) => Promise<unknown>

const settings = {
  maxRequests: 9,
  maxRequestsInQueue: 8,
  windowMillis: 700,
  algorithm: 'smooth',
  burst: 6,
  shards: 5,
  allowOverrides: true,
} as const
const settingsBody = {
  max_requests: 9,
  max_requests_in_queue: 8,
  window_millis: 700,
  algorithm: 'smooth',
  burst: 6,
  shards: 5,
  allow_overrides: true,
}
describe('each verb is a request of the contract:', () => {
  const etag = { ifMatch: '"4"' }
  const limits = { maxRequests: 5, maxRequestsInQueue: 0, windowMillis: 100 }
  const rows: [string, Verb, (object | undefined)?, string?][] = [
    ['POST /rate/k', (k) => k.decide()],
    [
      'POST /rate/k?cost=2&canWait=true&maxWaitMs=0&caller=a+b&maxRequests=5&maxRequestsInQueue=0&windowMillis=100',
      (k) => k.decide({ cost: 2, canWait: true, maxWaitMs: 0, caller: 'a b', ...limits }),
    ],
    ['POST /rate/k?cost=2&canWait=true&maxWaitMs=0', (k) => k.wait({ cost: 2 })],
    ['POST /rate/a%2Fb%3Fc', (_, c) => c.rate('a/b?c').decide()],
    ['GET /rate/k', (k) => k.state()],
    ['GET /rate/k/tickets/a.b', (k) => k.verify('a.b')],
    ['GET /rate/k/tickets/a%2Fb', (k) => k.verify('a/b')],
    ['DELETE /rate/k/tickets/a.b', (k) => k.giveUp('a.b')],
    ['GET /rate/k/config', (k) => k.configuration()],
    ['PUT /rate/k/config', (k) => k.configure(settings), settingsBody],
    ['PUT /rate/k/config', (k) => k.configure({ shards: 2 }, etag), { shards: 2 }, '"4"'],
    ['DELETE /rate/k/config', (k) => k.unconfigure()],
    ['DELETE /rate/k/config', (k) => k.unconfigure(etag), undefined, '"4"'],
    ['GET /rate-config', (_, c) => c.ratePatterns()],
    [
      'PUT /rate-config',
      (_, c) => c.configureRatePatterns([{ prefix: 'p-', settings }], etag),
      { patterns: [{ prefix: 'p-', ...settingsBody }] },
      '"4"',
    ],
  ]
  test.each(rows)('%s', async (line, call, body, ifMatch) => {
    const { client, limit, requests, asked } = rateOf(succeeds)
    await call(limit, client)
    expect(asked()).toEqual([line.replace(' ', ' /stage')])
    const [sent] = requests
    expect(sent?.body === undefined ? undefined : JSON.parse(sent.body)).toEqual(body)
    expect(sent?.headers.get('if-match') ?? undefined).toBe(ifMatch)
  })

  test.each(['', '.', '..'])(
    'key or ticket "%s" would go elsewhere, and is refused',
    async (it) => {
      const { client, limit, asked } = rateOf(succeeds)
      const wrongKey = expect.objectContaining({ code: 'INVALID_PARAMETER', field: 'key' })
      expect(() => client.rate(it)).toThrow(wrongKey)
      await expect(limit.verify(it)).rejects.toMatchObject({ code: 'TICKET_NOT_FOUND' })
      await expect(limit.giveUp(it)).rejects.toMatchObject({ code: 'TICKET_NOT_FOUND' })
      expect(asked()).toEqual([])
    },
  )
})

describe('each answer is a value in the words of the engine:', () => {
  const turn = { notBeforeMs: 12_250, goodUntilMs: 22_500 }
  const windowMs = { startMs: 10_001, endMs: 11_001 }
  const shard = { shard: 0, limit: 4, remaining: 3, waiting: 2 }
  const tagged = (body: object) => answers(200, body, { etag: '"4"' })
  const rows: [string, Reply, Verb, unknown][] = [
    [
      'go',
      go,
      (k) => k.decide(),
      { kind: 'allowed', remaining: 3, window: windowMs, waitedMs: 40 },
    ],
    ['no', no, (k) => k.decide(), { kind: 'denied', retryAfterMs: 640 }],
    [
      'a place in line',
      later(9_000),
      (k) => k.decide({ canWait: true }),
      {
        kind: 'promised',
        ticket: 'a.b',
        turn: { notBeforeMs: 12_250 },
        waitMs: 9_000,
        position: 7,
      },
    ],
    [
      'a ticket that waits',
      ticket('waiting', 5),
      (k) => k.verify('a.b'),
      { kind: 'waiting', turn, retryAfterMs: 5 },
    ],
    ...(['ready', 'over'] as const).map((kind): (typeof rows)[number] => [
      `a ticket that is ${kind}`,
      ticket(kind),
      (k) => k.verify('a.b'),
      { kind, turn },
    ]),
    [
      'a place that is given up',
      answers(200, { given_up: true }),
      (k) => k.giveUp('a.b'),
      { kind: 'given-up' },
    ],
    [
      'a place that stays',
      answers(200, { given_up: false, reason: 'others_wait_behind' }),
      (k) => k.giveUp('a.b'),
      { kind: 'kept' },
    ],
    [
      'a turn that has come',
      answers(200, { given_up: false, reason: 'too_late' }),
      (k) => k.giveUp('a.b'),
      { kind: 'too-late' },
    ],
    ['a configuration', tagged(settingsBody), (k) => k.configuration(), { settings, etag: '"4"' }],
    [
      'a configuration that was set',
      tagged(settingsBody),
      (k) => k.configure({}),
      { settings, etag: '"4"' },
    ],
    [
      'patterns',
      tagged({ patterns: [{ prefix: 'p-', ...settingsBody }] }),
      (_, c) => c.ratePatterns(),
      { patterns: [{ prefix: 'p-', settings }], etag: '"4"' },
    ],
    [
      'a state',
      answers(200, {
        key: 'k',
        from: 'pattern',
        configuration: settingsBody,
        shards: [
          { ...shard, window, last_turn: null },
          { ...shard, window, last_turn: 12.25 },
        ],
      }),
      (k) => k.state(),
      {
        key: 'k',
        from: 'pattern',
        settings,
        shards: [
          { ...shard, window: windowMs },
          { ...shard, window: windowMs, lastTurnMs: 12_250 },
        ],
      },
    ],
  ]
  test.each(rows)('%s', async (_, reply, call, value) => {
    const { client, limit, asked } = rateOf(reply)
    expect(await call(limit, client)).toStrictEqual(value)
    expect(asked()).toHaveLength(1)
  })

  test.each([
    [403, 'OVERRIDE_REFUSED'],
    [404, 'TICKET_NOT_FOUND'],
    [412, 'VERSION_MISMATCH'],
  ])('and what nobody expects is thrown: %i %s', async (status, code) => {
    const { limit } = rateOf(refuses(status, code))
    await expect(limit.decide()).rejects.toMatchObject({ code, status, outcome: undefined })
  })
})
