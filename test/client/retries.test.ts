// Every verb against every way to fail: sent again or not, and what the error says.

import { describe, expect, test, vi } from 'vitest'
import { type Client, type ClientOptions, PushPopError } from '../../client/index.ts'
import { lockPauseMs, pauseMs } from '../../client/retry.ts'
import { afterLostAnswer, type Verb } from '../../shared/verbs.ts'
import {
  answers,
  breaks,
  clientOf,
  hangs,
  type Reply,
  refuses,
  succeeds,
  useFakeTime,
} from './scripted.ts'

useFakeTime()

type Row = readonly [Verb, (client: Client) => Promise<unknown>]

const queue = (client: Client) => client.queue('q')
const limit = (client: Client) => client.rate('k')
const lock = 'AAAAAAAAAAA'

async function all(list: AsyncIterable<unknown>) {
  for await (const _ of list);
}

/** By hand, and not from the table of verbs: two who say the same. */
const repeatedWhateverFails: Record<string, Row> = {
  'push, idempotent': ['push', (c) => queue(c).push(1, { idempotent: true })],
  'push with a key': ['push', (c) => queue(c).push(1, { idempotencyKey: 'k' })],
  'pushMany, idempotent': ['push', (c) => queue(c).pushMany([{ item: 1 }], { idempotent: true })],
  'pop with a lock, idempotent': [
    'pop',
    (c) => queue(c).pop({ requireAck: true, idempotent: true }),
  ],
  acknowledge: ['acknowledge', (c) => queue(c).acknowledge(lock)],
  'acknowledge of some': ['acknowledge', (c) => queue(c).acknowledge(lock, { ids: ['i1'] })],
  acknowledgeMany: ['acknowledgeMany', (c) => queue(c).acknowledgeMany([lock])],
  extend: ['extend', (c) => queue(c).extend(lock, 30)],
  release: ['release', (c) => queue(c).release(lock)],
  deadLetter: ['deadLetter', (c) => queue(c).deadLetter(lock, { reason: 'r' })],
  'configure with ifMatch': [
    'configure',
    (c) => queue(c).configure({ capacity: 1 }, { ifMatch: '"1"' }),
  ],
  'unconfigure with ifMatch, of a queue': [
    'unconfigure',
    (c) => queue(c).unconfigure({ ifMatch: '"1"' }),
  ],
  queuePatterns: ['patterns', (c) => c.queuePatterns()],
  'configureQueuePatterns with ifMatch': [
    'configurePatterns',
    (c) => c.configureQueuePatterns([], { ifMatch: '"1"' }),
  ],
  'put of a schedule with ifMatch': [
    'putSchedule',
    (c) => queue(c).schedules.put('s', { item: 1, everySeconds: 60 }, { ifMatch: '"1"' }),
  ],
  'delete of a schedule with ifMatch': [
    'deleteSchedule',
    (c) => queue(c).schedules.delete('s', { ifMatch: '"1"' }),
  ],
  'schedules, listed': ['schedules', (c) => queue(c).schedules.list()],
  'a schedule': ['schedule', (c) => queue(c).schedules.get('s')],
  inspect: ['inspect', (c) => queue(c).inspect()],
  peek: ['browse', (c) => queue(c).peek()],
  scheduled: ['scheduled', (c) => queue(c).scheduled()],
  items: ['browse', (c) => all(queue(c).items())],
  configuration: ['configuration', (c) => queue(c).configuration()],
  queues: ['list', (c) => all(c.queues())],
  health: ['health', (c) => c.health()],
  decide: ['decideRate', (c) => limit(c).decide({ canWait: true })],
  wait: ['decideRate', (c) => limit(c).wait()],
  'state of a rate limit': ['rateState', (c) => limit(c).state()],
  verify: ['verifyTicket', (c) => limit(c).verify('t')],
  'configuration of a rate limit': ['rateConfiguration', (c) => limit(c).configuration()],
  'configure with ifMatch, of a rate limit': [
    'configureRate',
    (c) => limit(c).configure({ burst: 1 }, { ifMatch: '"1"' }),
  ],
  'unconfigure with ifMatch': ['unconfigureRate', (c) => limit(c).unconfigure({ ifMatch: '"1"' })],
  ratePatterns: ['ratePatterns', (c) => c.ratePatterns()],
  'configureRatePatterns with ifMatch': [
    'configureRatePatterns',
    (c) => c.configureRatePatterns([], { ifMatch: '"1"' }),
  ],
}

const repeatedIfRefused: Record<string, Row> = {
  push: ['push', (c) => queue(c).push(1)],
  pushMany: ['push', (c) => queue(c).pushMany([{ item: 1 }])],
  pop: ['pop', (c) => queue(c).pop()],
  'pop with a lock': ['pop', (c) => queue(c).pop({ requireAck: true })],
  'pop that acknowledges': ['pop', (c) => queue(c).pop({ requireAck: true, acknowledge: lock })],
  configure: ['configure', (c) => queue(c).configure({ capacity: 1 })],
  'unconfigure of a queue': ['unconfigure', (c) => queue(c).unconfigure()],
  configureQueuePatterns: ['configurePatterns', (c) => c.configureQueuePatterns([])],
  cancel: ['cancel', (c) => queue(c).cancel(['AAAAAAAA-0-0'])],
  move: ['move', (c) => queue(c).move(['AAAAAAAA-0-0'], { priority: 1 })],
  purge: ['purge', (c) => queue(c).purge()],
  redrive: ['redrive', (c) => queue(c).redrive()],
  'put of a schedule': [
    'putSchedule',
    (c) => queue(c).schedules.put('s', { item: 1, everySeconds: 60 }),
  ],
  'delete of a schedule': ['deleteSchedule', (c) => queue(c).schedules.delete('s')],
  'run of a schedule': ['runSchedule', (c) => queue(c).schedules.run('s')],
  'pause of a schedule': ['pauseSchedule', (c) => queue(c).schedules.pause('s')],
  'resume of a schedule': ['resumeSchedule', (c) => queue(c).schedules.resume('s')],
  'decide, not to be repeated': ['decideRate', (c) => limit(c).decide({ repeatLost: false })],
  giveUp: ['giveUpTicket', (c) => limit(c).giveUp('t')],
  'configure of a rate limit': ['configureRate', (c) => limit(c).configure({ burst: 1 })],
  unconfigure: ['unconfigureRate', (c) => limit(c).unconfigure()],
  configureRatePatterns: ['configureRatePatterns', (c) => c.configureRatePatterns([])],
}

/** Only what reads is certain to have changed nothing. */
const reads: readonly Verb[] = [
  'configuration',
  'health',
  'inspect',
  'browse',
  'scheduled',
  'patterns',
  'list',
  'rateConfiguration',
  'ratePatterns',
  'rateState',
  'schedule',
  'schedules',
  'verifyTicket',
]

const rows = { ...repeatedWhateverFails, ...repeatedIfRefused }

const lostAnswers: Record<string, Reply> = {
  'the connection breaks': breaks,
  'no answer comes in time': hangs,
  'the gateway gave up': answers(503, { message: 'Service Unavailable' }),
  'the function died': answers(500, { message: 'Internal Server Error' }),
  'a proxy timed out': answers(504, '<html>'),
  'the body is cut off': answers(200, '{"items":[1'),
  'the outcome is unknown': refuses(503, 'STORE_UNAVAILABLE', { outcome: 'unknown' }, 1),
}

const refusals: Record<string, Reply> = {
  BUSY: refuses(503, 'BUSY', {}, 1),
  STORE_UNAVAILABLE: refuses(503, 'STORE_UNAVAILABLE', {}, 1),
  QUEUE_FULL: refuses(429, 'QUEUE_FULL', {}, 1),
  'the gateway throttles': answers(429, { message: 'Too Many Requests' }),
}

const final: Record<string, Reply> = {
  INTERNAL: refuses(500, 'INTERNAL'),
  QUEUE_LOCKED: refuses(423, 'QUEUE_LOCKED', { lock_expires_at: 1 }, 1),
  INVALID_ITEM: refuses(400, 'INVALID_ITEM', { field: 'item' }),
  LOCK_EXPIRED: refuses(410, 'LOCK_EXPIRED'),
  VERSION_MISMATCH: refuses(412, 'VERSION_MISMATCH'),
  IDEMPOTENCY_CONFLICT: refuses(422, 'IDEMPOTENCY_CONFLICT'),
  'no signature': answers(401, { message: 'Unauthorized' }),
  'no rights': answers(403, { message: 'Forbidden' }),
  'no such address': answers(404, { message: 'Not Found' }),
  'a redirection': answers(302, ''),
}

/** The call's outcome, however long its pauses are. */
async function outcomeOf([, run]: Row, ...replies: Reply[]) {
  const { client, asked } = clientOf(replies)
  const outcome = run(client).then(
    () => 'success' as const,
    (error: unknown) => error as PushPopError,
  )
  await vi.runAllTimersAsync()
  return { outcome: await outcome, asked }
}

describe.each(Object.entries(rows))('%s', (name, row) => {
  const [verb] = row

  test.each(Object.entries(refusals))('is sent again after %s', async (_, reply) => {
    const { outcome, asked } = await outcomeOf(row, reply, succeeds)
    expect(outcome).toBe('success')
    expect(asked).toHaveLength(2)
  })

  test.each(Object.entries(final))('is not sent again after %s', async (code, reply) => {
    const { outcome, asked } = await outcomeOf(row, reply, succeeds)
    expect(asked).toHaveLength(1)
    expect(outcome).toBeInstanceOf(PushPopError)
    const unknown = code === 'INTERNAL' && !reads.includes(verb)
    expect(outcome).toMatchObject({ attempts: 1, outcome: unknown ? 'unknown' : undefined })
  })

  const isRepeated = name in repeatedWhateverFails
  test.each(Object.entries(lostAnswers))(
    `is ${isRepeated ? '' : 'not '}sent again when %s`,
    async (_, reply) => {
      const { outcome, asked } = await outcomeOf(row, reply, succeeds)
      expect(asked).toHaveLength(isRepeated ? 2 : 1)
      if (isRepeated) {
        expect(outcome).toBe('success')
        expect(asked[1]).toEqual(asked[0])
      } else {
        expect(outcome).toMatchObject({ outcome: 'unknown', retryable: true })
      }
    },
  )

  test('is sent five times at most, and rejects with the last error', async () => {
    const { outcome, asked } = await outcomeOf(row, refuses(503, 'BUSY', {}, 1))
    expect(asked).toHaveLength(5)
    expect(outcome).toMatchObject({ code: 'BUSY', attempts: 5, outcome: undefined })
  })

  test('says unknown if an answer was lost before it was refused', async () => {
    if (!isRepeated) return
    const { outcome } = await outcomeOf(row, breaks, refuses(410, 'LOCK_EXPIRED'))
    expect(outcome).toMatchObject({
      code: 'LOCK_EXPIRED',
      outcome: reads.includes(verb) ? undefined : 'unknown',
    })
  })
})

test('the table has every verb, each in a row above', () => {
  const verbs = new Set(Object.values(rows).map(([verb]) => verb))
  expect([...verbs].sort()).toEqual(Object.keys(afterLostAnswer).sort())
})

describe('a key made for a call', () => {
  test('is the same in each sending and another in each call', async () => {
    const row = rows['push, idempotent'] as Row
    const first = (await outcomeOf(row, breaks, succeeds)).asked
    const second = (await outcomeOf(row, succeeds)).asked
    const keys = [...first, ...second].map(({ headers }) => headers.get('idempotency-key'))
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/)
    expect(keys[1]).toBe(keys[0])
    expect(keys[2]).not.toBe(keys[0])
  })
})

describe('timing:', () => {
  const run = (row: string, options: Partial<ClientOptions>, ...replies: Reply[]) => {
    const { client, asked } = clientOf(replies, options)
    const outcome = (rows[row] as Row)[1](client).catch((error: unknown) => error)
    return { outcome, asked }
  }

  test('Retry-After is waited for', async () => {
    const { asked } = run('push', {}, refuses(429, 'QUEUE_FULL', {}, 3), succeeds)
    await vi.advanceTimersByTimeAsync(2_999)
    expect(asked).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(201)
    expect(asked).toHaveLength(2)
  })

  test('a queue’s limit is waited for, but not by a pop that would hold a lock meanwhile', async () => {
    const limited = refuses(429, 'RATE_LIMITED', {}, 3)
    const waiting = run('pop', {}, limited, succeeds)
    const holding = run('pop that acknowledges', {}, limited, succeeds)
    const throttled = run('pop that acknowledges', {}, refuses(429, 'RATE_LIMITED'), succeeds)
    await vi.advanceTimersByTimeAsync(3_200)
    expect([waiting.asked.length, throttled.asked.length]).toEqual([2, 2])
    expect(await holding.outcome).toMatchObject({ code: 'RATE_LIMITED', attempts: 1 })
  })

  test('calls onRetry before each pause, and only before pauses that really come', async () => {
    const told: [string, number][] = []
    const onRetry = (error: PushPopError, pauseMs: number) => void told.push([error.code, pauseMs])
    const limited = refuses(429, 'QUEUE_FULL', {}, 3)
    run('push', { retry: { onRetry } }, limited, succeeds)
    run('push', { retry: { onRetry } }, refuses(429, 'QUEUE_FULL', {}, 61))
    run('push', { retry: { onRetry } }, refuses(400, 'INVALID_ITEM'))
    await vi.advanceTimersByTimeAsync(4_000)
    expect(told).toEqual([['QUEUE_FULL', expect.any(Number)]])
    expect(told[0]?.[1]).toBeGreaterThanOrEqual(3_000)
  })

  test('a Retry-After beyond the total time is not waited for at all', async () => {
    const { outcome } = run('push', {}, refuses(429, 'QUEUE_FULL', {}, 61), succeeds)
    await vi.advanceTimersByTimeAsync(0)
    expect(await outcome).toMatchObject({ code: 'QUEUE_FULL', attempts: 1 })
  })

  test('no sending begins after the total time', async () => {
    const options = { timeoutMs: 4_000, retry: { attemptsMax: 100, totalMs: 10_000 } }
    const { outcome, asked } = run('health', options, hangs)
    await vi.runAllTimersAsync()
    expect(await outcome).toMatchObject({ code: 'TIMEOUT', outcome: undefined })
    expect(asked).toHaveLength(3)
  })

  test('pauses grow to a bound, and are any part of it', () => {
    expect([1, 2, 3, 9].map((n) => pauseMs(n, 0, () => 1))).toEqual([100, 200, 400, 5_000])
    expect(pauseMs(5, 0, () => 0)).toBe(0)
    expect(pauseMs(1, 1_000, () => 0.5)).toBe(1_050)
  })

  test('a lock is waited for within its Retry-After, ever more seldom', () => {
    expect([1, 2, 9].map((n) => lockPauseMs(n, 60_000, () => 1))).toEqual([200, 400, 5_000])
    expect(lockPauseMs(9, 1_000, () => 0)).toBe(500)
  })
})

describe('a locked queue', () => {
  const locked = refuses(423, 'QUEUE_LOCKED', { lock_expires_at: 1709139275.5 }, 30)

  test('is waited for if asked', async () => {
    const row: Row = ['pop', (c) => queue(c).pop({ waitForLockMs: 60_000 })]
    const replies = Array.from({ length: 8 }, () => locked)
    expect((await outcomeOf(row, ...replies, succeeds)).outcome).toBe('success')
  })

  test('is not waited for longer than asked', async () => {
    const row: Row = ['pop', (c) => queue(c).pop({ waitForLockMs: 3_000 })]
    const startedAtMs = performance.now()
    const { outcome } = await outcomeOf(row, locked)
    expect(outcome).toMatchObject({ code: 'QUEUE_LOCKED', lockExpiresAtMs: 1709139275500 })
    expect(performance.now() - startedAtMs).toBeLessThanOrEqual(3_001)
  })
})

describe('a signal', () => {
  test('ends a request, whose outcome is unknown then', async () => {
    const stop = new AbortController()
    const { queue, asked } = clientOf([hangs])
    const push = queue.push(1, { signal: stop.signal, idempotent: true })
    const outcome = push.catch((error: unknown) => error)
    await vi.advanceTimersByTimeAsync(5)
    stop.abort(new Error('enough'))
    expect(await outcome).toMatchObject({ code: 'ABORTED', outcome: 'unknown', attempts: 1 })
    expect(asked).toHaveLength(1)
  })

  test('ends a pause, after a refusal with nothing changed', async () => {
    const stop = new AbortController()
    const { queue, asked } = clientOf([refuses(503, 'BUSY', {}, 5), succeeds])
    const push = queue.push(1, { signal: stop.signal })
    const outcome = push.catch((error: unknown) => error)
    await vi.advanceTimersByTimeAsync(5)
    stop.abort()
    expect(await outcome).toMatchObject({ code: 'ABORTED', outcome: undefined, attempts: 1 })
    expect(asked).toHaveLength(1)
  })

  test('that came before sends nothing', async () => {
    const { queue, asked } = clientOf([succeeds])
    const push = queue.push(1, { signal: AbortSignal.abort() })
    await expect(push).rejects.toMatchObject({ code: 'ABORTED', attempts: 0, outcome: undefined })
    expect(asked).toHaveLength(0)
  })
})

describe('a hurry, as a consumer has it when it stops', () => {
  const hurried = async (options: object, ...replies: Reply[]) => {
    const hurry = new AbortController()
    const { queue, asked } = clientOf(replies)
    const pop = queue.pop({ requireAck: true, hurry: hurry.signal, ...options })
    const outcome = pop.catch((error: unknown) => error)
    await vi.advanceTimersByTimeAsync(5)
    hurry.abort()
    await vi.advanceTimersByTimeAsync(0)
    return { outcome: await outcome, asked: asked }
  }
  const outcomeUnknown = refuses(503, 'STORE_UNAVAILABLE', { outcome: 'unknown' }, 5)

  test('does not wait to ask again after a refusal', async () => {
    const { outcome, asked } = await hurried({}, refuses(503, 'BUSY', {}, 5), succeeds)
    expect(outcome).toMatchObject({ code: 'BUSY', outcome: undefined })
    expect(asked).toHaveLength(1)
  })

  test('asks once more, and at once, what became of a lost answer', async () => {
    const { outcome, asked } = await hurried({ idempotent: true }, outcomeUnknown, succeeds)
    expect(outcome).toMatchObject({ more: false })
    expect(asked).toHaveLength(2)
  })

  test('asks only once', async () => {
    const { outcome, asked } = await hurried({ idempotent: true }, outcomeUnknown)
    expect(outcome).toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'unknown', attempts: 2 })
    expect(asked).toHaveLength(2)
  })

  test('does not cut off the answer that is under way', async () => {
    const late: Reply = () =>
      new Promise((resolve) =>
        setTimeout(() => resolve(new Response('{"items":[],"details":[]}')), 3_000),
      )
    const { queue } = clientOf([late])
    const pop = queue.pop({ hurry: AbortSignal.abort() })
    await vi.advanceTimersByTimeAsync(3_000)
    expect(await pop).toEqual({ items: [], more: false })
  })
})

describe('A push that an earlier call with its key has made', () => {
  const replay: Reply = answers(
    200,
    { items_pushed: 1, ids: ['i1'] },
    { 'idempotency-replayed': 'true' },
  )
  const push = async (...replies: Reply[]) => {
    const pushed = clientOf(replies).queue.push(1, { idempotencyKey: 'k' })
    await vi.runAllTimersAsync()
    return pushed
  }

  test('says that it changed nothing', async () => {
    expect(await push(replay)).toEqual({ id: 'i1', repeated: true })
  })

  test('does not say so after a lost answer, because the earlier call may be itself', async () => {
    expect(await push(breaks, replay)).toEqual({ id: 'i1' })
  })
})
