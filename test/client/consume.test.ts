// `consume` on a queue in memory, with time that passes when it is told to.

import { describe, expect, test, vi } from 'vitest'
import { consume, idlePauseMs } from '../../client/consume.ts'
import {
  type ConsumeFailure,
  type ConsumeOptions,
  type Handler,
  PushPopError,
} from '../../client/index.ts'
import { type FakeQueue, fakeQueue, lostAnswer } from './fake-queue.ts'
import { breaks, clientOf, pops, useFakeTime } from './scripted.ts'

useFakeTime()

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)
const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

function start(queue: FakeQueue, handler: Handler<string>, options: ConsumeOptions<string> = {}) {
  const stop = new AbortController()
  const failures: ConsumeFailure<string>[] = []
  const onError = (failure: ConsumeFailure<string>) => failures.push(failure)
  const running = consume<string>(queue, handler, { onError, signal: stop.signal, ...options })
  let ended = false
  const over = running.then(
    (counts) => {
      ended = true
      return counts
    },
    (error: unknown) => {
      ended = true
      return error
    },
  )
  const halt = () => stop.abort()
  const end = () => {
    halt()
    return over
  }
  return { over, end, stop: halt, failures, hasEnded: () => ended }
}

const atLimit = (retryAfterMs: number) =>
  new PushPopError('RATE_LIMITED', 'no', { status: 429, retryable: true, retryAfterMs })

const counts = (acknowledged: number, released = 0, deadLettered = 0) => ({
  acknowledged,
  released,
  deadLettered,
})

const callsOf = (queue: FakeQueue, verb: string) => queue.calls.filter((it) => it.verb === verb)

describe('the loop', () => {
  test('acknowledges each item with the pop of the next: one request an item', async () => {
    const queue = fakeQueue('a', 'b', 'c')
    const seen: string[] = []
    const run = start(queue, ({ value }) => seen.push(value))
    await pass(10)
    expect(seen).toEqual(['a', 'b', 'c'])
    expect(queue.acknowledged).toEqual(['a', 'b', 'c'])
    expect(queue.calls.map(({ verb }) => verb)).toEqual(['pop', 'pop', 'pop', 'pop'])
    expect(await run.end()).toEqual(counts(3))
    expect(queue.locks.size).toBe(0)
  })

  test('waits at the queue’s limit as long as it says, holding nothing, and without a word', async () => {
    const queue = fakeQueue('a', 'b')
    const seen: string[] = []
    const run = start(queue, ({ value }) => {
      seen.push(value)
      if (value === 'a') queue.failNext('pop', atLimit(40_000))
    })
    await pass(39_000)
    expect(seen).toEqual(['a'])
    expect(queue.acknowledged).toEqual(['a'])
    expect(queue.calls.map(({ verb }) => verb)).toEqual(['pop', 'pop', 'acknowledge'])
    await pass(1_001)
    expect(seen).toEqual(['a', 'b'])
    queue.failNext('pop', atLimit(3_600_000))
    await pass(10_000)
    expect(await run.end()).toEqual(counts(2))
    expect(run.failures).toEqual([])
  })

  test('works a batch in order under one lock', async () => {
    const queue = fakeQueue('a', 'b', 'c')
    const seen: string[] = []
    const run = start(queue, ({ value }) => seen.push(value), { batchSize: 2 })
    await pass(10)
    expect(seen).toEqual(['a', 'b', 'c'])
    expect(callsOf(queue, 'pop')).toHaveLength(3)
    await run.end()
  })

  test('works several at once, each item once', async () => {
    const values = Array.from({ length: 40 }, (_, i) => `v${i}`)
    const queue = fakeQueue(...values)
    let atOnce = 0
    let most = 0
    const handler = async () => {
      most = Math.max(most, ++atOnce)
      await wait(20)
      atOnce -= 1
    }
    const run = start(queue, handler, { concurrency: 4 })
    await pass(1_000)
    expect(await run.end()).toMatchObject({ acknowledged: 40 })
    expect(most).toBe(4)
    expect([...queue.acknowledged].sort()).toEqual([...values].sort())
  })

  test('on an exclusive queue it pops with a key, with competing consumers without', async () => {
    for (const concurrency of [1, 2]) {
      const queue = fakeQueue('a')
      const run = start(queue, () => {}, { concurrency })
      await pass(10)
      await run.end()
      const pops = callsOf(queue, 'pop')
      expect(pops.length).toBeGreaterThan(1)
      for (const { detail } of pops) {
        expect('idempotencyKey' in (detail as object)).toBe(concurrency === 1)
      }
    }
  })

  test('cannot work several locks of an exclusive queue', async () => {
    const run = start(fakeQueue(), () => {}, { concurrency: 2, competing: false })
    expect(await run.over).toBeInstanceOf(TypeError)
  })
})

describe('an empty queue', () => {
  test('is looked at ever more seldom, to a bound', async () => {
    const queue = fakeQueue()
    const run = start(queue, () => {})
    await pass(60_000)
    const looks = callsOf(queue, 'pop').map(({ atMs }) => atMs)
    const pauses = looks.slice(1).map((at, i) => at - (looks[i] as number))
    expect(pauses[0]).toBeLessThanOrEqual(100)
    expect(Math.max(...pauses)).toBeLessThanOrEqual(5_000)
    expect(Math.min(...pauses.slice(-3))).toBeGreaterThanOrEqual(2_500)
    expect(looks.length).toBeLessThan(35)
    await run.end()
  })

  test('is looked at by one of many workers, which starts the others again', async () => {
    const values = Array.from({ length: 16 }, (_, i) => `v${i}`)
    const queue = fakeQueue(...values)
    let pauseMs = 100
    const seen: string[] = []
    const handler: Handler<string> = async ({ value }) => {
      seen.push(value)
      await wait(pauseMs)
    }
    const run = start(queue, handler, { concurrency: 8, lockTtlSeconds: 300 })
    await pass(1_000)
    expect(queue.acknowledged).toHaveLength(16)
    const before = callsOf(queue, 'pop').length
    await pass(60_000)
    expect(callsOf(queue, 'pop').length - before).toBeLessThan(35)
    seen.length = 0
    pauseMs = 60_000
    for (const value of ['a', 'b', 'c', 'd']) await queue.push(value)
    await pass(5_100)
    expect(seen.sort()).toEqual(['a', 'b', 'c', 'd'])
    run.stop()
    await pass(60_000)
    expect(await run.over).toMatchObject({ acknowledged: 20 })
  })

  test('is looked at while the only item found is at work for long', async () => {
    const queue = fakeQueue()
    const seen: string[] = []
    const handler: Handler<string> = async ({ value }) => {
      seen.push(value)
      await wait(300_000)
    }
    const run = start(queue, handler, { concurrency: 2, batchSize: 10 })
    await pass(20_000)
    await queue.push('a')
    await pass(20_000)
    await queue.push('b')
    await pass(5_100)
    expect(seen).toEqual(['a', 'b'])
    run.stop()
    await pass(300_000)
    expect(await run.over).toMatchObject({ acknowledged: 2 })
  })

  test('is not one whose pop stopped at expired items: the next pop comes at once', async () => {
    const queue = fakeQueue('a')
    let passes = 0
    const seen: string[] = []
    const behindExpired: FakeQueue = {
      ...queue,
      pop: async (request) => (++passes > 20 ? queue.pop(request) : { items: [], more: true }),
    }
    const run = start(behindExpired, ({ value }) => seen.push(value))
    await pass(0)
    expect(seen).toEqual(['a'])
    await run.end()
  })

  test('is left at once when it is to stop', async () => {
    const run = start(fakeQueue(), () => {}, { concurrency: 3 })
    await pass(20_000)
    run.stop()
    await pass(0)
    expect(run.hasEnded()).toBe(true)
  })

  test('pauses are at least half of their bound', () => {
    expect([1, 2, 7].map((n) => idlePauseMs(n, 5_000, () => 1))).toEqual([100, 200, 5_000])
    expect(idlePauseMs(7, 5_000, () => 0)).toBe(2_500)
  })
})

test('a handler that throws what nobody can look at fails its item, and the work goes on', async () => {
  const look = () => {
    throw new TypeError('Do not look')
  }
  const hostile = new Proxy(new Error('no'), { get: look, getPrototypeOf: look })
  const queue = fakeQueue('a', 'b')
  let calls = 0
  const run = start(queue, () => {
    calls += 1
    if (calls === 1) throw hostile
  })
  await pass(5_000)
  expect(await run.end()).toMatchObject({ acknowledged: 2, released: 1 })
  expect(run.failures).toMatchObject([{ error: { message: /throws when it is read/ } }])
})

describe('a lock', () => {
  test('is extended before half of its life is over, for as long as the handler works', async () => {
    const queue = fakeQueue('a')
    const run = start(queue, () => wait(99_000), { lockTtlSeconds: 10 })
    await pass(99_000)
    const extended = callsOf(queue, 'extend').map(({ atMs }) => atMs)
    expect(extended.length).toBeGreaterThanOrEqual(20)
    for (const [i, at] of extended.slice(1).entries()) {
      expect(at - (extended[i] as number)).toBeLessThan(5_000)
    }
    await pass(100)
    expect(queue.acknowledged).toEqual(['a'])
    const before = callsOf(queue, 'extend').length
    await pass(60_000)
    expect(callsOf(queue, 'extend')).toHaveLength(before)
    await run.end()
    expect(run.failures).toEqual([])
  })

  test('survives an extension that failed', async () => {
    const queue = fakeQueue('a')
    queue.failNext('extend', lostAnswer())
    const run = start(queue, () => wait(30_000), { lockTtlSeconds: 10 })
    await pass(30_100)
    expect(await run.end()).toMatchObject({ acknowledged: 1 })
    expect(run.failures.map(({ kind }) => kind)).toEqual(['request'])
  })

  test('that is lost tells the handler, and its items are not settled', async () => {
    const queue = fakeQueue('a')
    const signals: AbortSignal[] = []
    const handler: Handler<string> = async (_, { signal }) => {
      signals.push(signal)
      if (signals.length === 1) await wait(20_000)
    }
    const run = start(queue, handler, { lockTtlSeconds: 10 })
    await pass(100)
    queue.locks.clear()
    await pass(5_000)
    expect(signals[0]?.aborted).toBe(true)
    expect(signals[0]?.reason).toMatchObject({ code: 'LOCK_EXPIRED' })
    await pass(20_000)
    expect(await run.end()).toEqual(counts(1))
    expect(run.failures).toMatchObject([{ kind: 'lock-lost', items: [{ value: 'a' }] }])
    expect(signals).toHaveLength(2)
  })

  test('that ended before it was acknowledged is reported, and work goes on', async () => {
    const queue = fakeQueue('a', 'b')
    const seen: string[] = []
    const handler: Handler<string> = ({ value }) => {
      seen.push(value)
      if (seen.length === 1) queue.locks.clear()
    }
    const run = start(queue, handler)
    await pass(100)
    expect(await run.end()).toMatchObject({ acknowledged: 2 })
    expect(seen).toEqual(['a', 'a', 'b'])
    expect(run.failures).toMatchObject([{ kind: 'lock-lost', error: { code: 'LOCK_EXPIRED' } }])
  })
})

test('an answer that comes after its lock has ended gives nothing to the handler', async () => {
  const queue = fakeQueue('a')
  const { pop } = queue
  Object.assign(queue, {
    pop: async (options: object) => {
      const isFirst = callsOf(queue, 'pop').length === 0
      const popped = await pop(options)
      if (isFirst) await wait(10_000)
      return popped
    },
  })
  const deliveries: number[] = []
  const run = start(queue, (item) => deliveries.push(item.deliveries), { lockTtlSeconds: 10 })
  await pass(11_000)
  expect(await run.end()).toEqual(counts(1))
  expect(deliveries).toEqual([2])
  expect(run.failures).toMatchObject([
    { kind: 'lock-lost', items: [{ value: 'a' }], error: { code: 'TIMEOUT' } },
  ])
})

describe('a handler that fails', () => {
  test('gives the item back, and is called again after a growing pause', async () => {
    const queue = fakeQueue('a', 'b')
    const times: number[] = []
    vi.spyOn(Math, 'random').mockReturnValue(1)
    const handler: Handler<string> = ({ value }) => {
      if (value !== 'a' || times.length >= 4) return
      times.push(Date.now())
      throw new Error('no')
    }
    const run = start(queue, handler)
    await pass(5_000)
    expect(await run.end()).toEqual(counts(2, 4))
    expect(run.failures).toMatchObject(Array(4).fill({ kind: 'handler', item: { value: 'a' } }))
    const [first = 0, second = 0, third = 0, fourth = 0] = times
    expect([second - first, third - second, fourth - third]).toEqual([100, 200, 400])
    expect(queue.acknowledged).toEqual(['a', 'b'])
  })

  test('gives the item back for later, if it has a retry, and takes the next at once', async () => {
    const queue = fakeQueue('a', 'b', 'c')
    const seen: string[] = []
    const handler: Handler<string> = ({ value, deliveries }) => {
      seen.push(`${value}${deliveries}`)
      if (value !== 'c' && deliveries < 3) throw new Error('no')
    }
    const retry = { delays: ['1m', '1h'] as const }
    const run = start(queue, handler, { retry, competing: true, batchSize: 3 })
    await pass(50_000)
    expect(seen).toEqual(['a1', 'b1', 'c1'])
    expect(queue.acknowledged).toEqual(['c'])
    await pass(20_000)
    expect(seen.slice(3)).toEqual(['a2', 'b2'])
    await pass(3_500_000)
    expect(seen.slice(5)).toEqual([])
    await pass(100_000)
    expect(seen.slice(5)).toEqual(['a3', 'b3'])
    expect(await run.end()).toEqual(counts(3, 4))
    const [first, second] = callsOf(queue, 'release').map(({ detail }) => detail)
    expect(first).toMatchObject({ delaySeconds: 60, overtake: true, ids: undefined })
    expect(second).toMatchObject({ delaySeconds: 3_600, overtake: true })
  })

  test('keeps the others of an exclusive queue behind what failed, unless they may overtake', async () => {
    for (const overtake of [false, true]) {
      const queue = fakeQueue('a')
      const handler = () => {
        throw new Error('no')
      }
      const run = start(queue, handler, { retry: { delays: [30], overtake } })
      await pass(10)
      await run.end()
      expect(callsOf(queue, 'release')[0]?.detail).toMatchObject({ delaySeconds: 30, overtake })
    }
  })

  test('refuses a retry with an invalid time', async () => {
    const run = start(fakeQueue('a'), () => {}, { retry: { delays: ['soon' as never] } })
    expect(await run.over).toMatchObject({ message: expect.stringContaining('retry.delays') })
  })

  test('for good is a poison item, which it can dead-letter', async () => {
    const queue = fakeQueue('a', 'b')
    const handler: Handler<string> = ({ value, deliveries }, { deadLetter }) => {
      if (value !== 'a') return
      if (deliveries === 3) deadLetter('broken')
      throw new Error('no')
    }
    const run = start(queue, handler)
    await pass(5_000)
    expect(await run.end()).toEqual(counts(1, 2, 1))
    expect(queue.dead).toEqual([{ value: 'a', reason: 'broken' }])
  })

  test('in a batch costs the others nothing', async () => {
    const queue = fakeQueue('a', 'b', 'c', 'd', 'e')
    let failed = false
    const handler: Handler<string> = ({ value }, { deadLetter }) => {
      if (value === 'd') deadLetter('d is dead')
      if (value === 'e') deadLetter('e is dead')
      if (value !== 'b' || failed) return
      failed = true
      throw new Error('no')
    }
    const run = start(queue, handler, { batchSize: 5 })
    await pass(1_000)
    expect(await run.end()).toEqual(counts(3, 1, 2))
    expect(queue.acknowledged).toEqual(['a', 'c', 'b'])
    expect(queue.dead).toEqual([
      { value: 'd', reason: 'd is dead' },
      { value: 'e', reason: 'e is dead' },
    ])
    expect(queue.locks.size).toBe(0)
  })

  test.each([true, false])(
    'takes nothing along to the dead-letter queue that was done, though its acknowledgement failed (for now: %s)',
    async (retryable) => {
      const queue = fakeQueue('a', 'b', 'c')
      queue.failNext('acknowledge', new PushPopError('BUSY', 'busy', { status: 503, retryable }))
      const handler: Handler<string> = ({ value }, { deadLetter }) => {
        if (value !== 'a') deadLetter(`${value} is dead`)
      }
      const run = start(queue, handler, { batchSize: 3 })
      await pass(10_000)
      expect(await run.end()).toEqual(counts(1, 0, 2))
      expect(queue.dead).toEqual([
        { value: 'b', reason: 'b is dead' },
        { value: 'c', reason: 'c is dead' },
      ])
      expect(queue.acknowledged).toEqual(['a'])
      // What may pass is tried again under the same lock. Otherwise all of them come again.
      const refused = [{ kind: 'request', error: { code: 'BUSY' } }]
      expect(run.failures).toMatchObject(retryable ? [] : refused)
      expect(callsOf(queue, 'release')).toHaveLength(retryable ? 0 : 1)
      expect(queue.locks.size).toBe(0)
    },
  )

  test('takes no reason of another item, though its own dead-lettering failed', async () => {
    const queue = fakeQueue('a', 'b')
    queue.failNext('deadLetter', new PushPopError('BUSY', 'busy', { status: 503 }))
    const run = start(queue, ({ value }, { deadLetter }) => deadLetter(value), { batchSize: 2 })
    await pass(10_000)
    await run.end()
    expect(queue.dead).toEqual([
      { value: 'a', reason: 'a' },
      { value: 'b', reason: 'b' },
    ])
  })

  test('cannot be one of a dead-letter queue by being dead-lettered again: its item goes back', async () => {
    const queue = Object.assign(fakeQueue('a'), { id: 'fake-deadletter' })
    const run = start(queue, (_, { deadLetter }) => deadLetter('again'))
    await pass(10)
    expect(await run.end()).toEqual(counts(0, 1))
    expect(callsOf(queue, 'deadLetter')).toEqual([])
    expect(run.failures).toMatchObject([
      { kind: 'handler', error: { message: expect.stringContaining('none of its own') } },
    ])
  })

  test('and a dead-lettering that is refused leave no lock', async () => {
    const queue = fakeQueue('a')
    queue.failNext('deadLetter', new PushPopError('INVALID_QUEUE_ID', 'none of its own'))
    const run = start(queue, (_, { deadLetter }) => deadLetter('x'))
    await pass(10)
    expect(queue.calls.slice(0, 3).map(({ verb }) => verb)).toEqual([
      'pop',
      'deadLetter',
      'release',
    ])
    await run.end()
    expect(queue.locks.size).toBe(0)
  })
})

describe('a stop', () => {
  test('in the middle of a handler lets it finish, and acknowledges', async () => {
    const queue = fakeQueue('a', 'b')
    const run = start(queue, () => wait(50_000), { lockTtlSeconds: 10 })
    await pass(1_000)
    run.stop()
    await pass(48_000)
    expect(run.hasEnded()).toBe(false)
    await pass(2_000)
    expect(await run.over).toEqual(counts(1))
    expect(queue.waiting()).toEqual(['b'])
    expect(queue.locks.size).toBe(0)
  })

  test('gives back what was not begun of a batch', async () => {
    const queue = fakeQueue('a', 'b', 'c')
    const run = start(queue, () => wait(100), { batchSize: 3 })
    await pass(150)
    run.stop()
    await pass(100)
    expect(await run.over).toEqual(counts(2, 1))
    expect(queue.waiting()).toEqual(['c'])
    expect(queue.locks.size).toBe(0)
  })

  test('does not wait for handlers beyond the grace', async () => {
    const queue = fakeQueue('a')
    const signals: AbortSignal[] = []
    const handler: Handler<string> = (_, { signal }) => {
      signals.push(signal)
      return new Promise(() => {})
    }
    const run = start(queue, handler, { graceMs: 3_000 })
    await pass(1_000)
    run.stop()
    await pass(2_900)
    expect(signals[0]?.aborted).toBe(false)
    expect(run.hasEnded()).toBe(false)
    await pass(200)
    expect(await run.over).toMatchObject({ released: 1 })
    expect(signals[0]?.aborted).toBe(true)
    expect(queue.waiting()).toEqual(['a'])
    expect(queue.locks.size).toBe(0)
  })

  test('while a pop is under way gives back what that brings', async () => {
    const queue = fakeQueue('a')
    const { pop } = queue
    Object.assign(queue, {
      pop: async (options: object) => {
        await wait(500)
        return pop(options)
      },
    })
    const seen: string[] = []
    const run = start(queue, ({ value }) => seen.push(value))
    await pass(100)
    run.stop()
    await pass(1_000)
    expect(await run.over).toMatchObject({ released: 1 })
    expect(seen).toEqual([])
    expect(queue.locks.size).toBe(0)
  })

  test('while the service is away asks as often as one call does, to acknowledge and to give back', async () => {
    const lock = { locked: true, lock_id: 'AAAAAAAAAAA', lock_expires_at: 9e9, ttl_seconds: 30 }
    const { queue, asked } = clientOf([pops('1', lock), breaks])
    const stop = new AbortController()
    const running = queue.consume(() => stop.abort(), { signal: stop.signal, onError: () => {} })
    await pass(5_000)
    expect(await running).toEqual(counts(0))
    expect(asked).toHaveLength(11)
  })

  test('that came before takes nothing', async () => {
    const queue = fakeQueue('a')
    const run = start(queue, () => {}, { signal: AbortSignal.abort() })
    expect(await run.over).toEqual(counts(0))
    expect(queue.calls).toEqual([])
  })
})

describe('a request that fails', () => {
  test('after its effect is asked for again by its key', async () => {
    const queue = fakeQueue('a', 'b')
    queue.failNext('pop', lostAnswer(), 'after')
    const seen: string[] = []
    const run = start(queue, ({ value }) => seen.push(value))
    await pass(1_000)
    await run.end()
    expect(seen).toEqual(['a', 'b'])
    expect(run.failures.map(({ kind }) => kind)).toEqual(['request'])
  })

  test('after its effect keeps its key although the service is busy next', async () => {
    const queue = fakeQueue('a')
    queue.failNext('pop', lostAnswer(), 'after')
    queue.failNext('pop', new PushPopError('BUSY', 'busy', { retryable: true }))
    const seen: string[] = []
    const run = start(queue, ({ value }) => seen.push(value), { lockTtlSeconds: 300 })
    await pass(20_000)
    expect(seen).toEqual(['a'])
    await run.end()
  })

  test('after its effect leaves a lock that is as old as the first request, and is extended at once', async () => {
    const queue = fakeQueue('a')
    const { pop } = queue
    Object.assign(queue, {
      pop: async (options: object) => {
        const isFirst = callsOf(queue, 'pop').length === 0
        const popped = await pop(options)
        if (!isFirst) return popped
        await wait(7_000)
        throw lostAnswer()
      },
    })
    const run = start(queue, () => wait(1_000), { lockTtlSeconds: 10 })
    await pass(7_500)
    expect(callsOf(queue, 'extend')).toHaveLength(1)
    await pass(2_000)
    expect(await run.end()).toEqual(counts(1))
  })

  test('just before a stop leaves no lock behind', async () => {
    const queue = fakeQueue('a')
    queue.failNext('pop', lostAnswer(), 'after')
    const run = start(queue, () => {}, { onError: () => run.stop() })
    await pass(1_000)
    expect(await run.over).toMatchObject({ released: 1 })
    expect(queue.locks.size).toBe(0)
    expect(queue.waiting()).toEqual(['a'])
  })

  test.each(['before', 'after'] as const)(
    'while it acknowledges (%s its effect) acknowledges by itself',
    async (when) => {
      const queue = fakeQueue('a', 'b')
      const run = start(queue, ({ value }) => {
        if (value === 'a') queue.failNext('pop', lostAnswer(), when)
      })
      await pass(1_000)
      run.stop()
      expect(await run.over).toEqual(counts(2))
      expect(queue.acknowledged).toEqual(['a', 'b'])
    },
  )

  test('because too many items are locked or dead is no failure: it waits', async () => {
    const queue = fakeQueue('a')
    for (let n = 0; n < 3; n += 1) queue.failNext('pop', new PushPopError('TOO_MANY_LOCKS', 'no'))
    const seen: string[] = []
    const run = start(queue, ({ value }) => seen.push(value))
    await pass(5_000)
    expect(await run.end()).toEqual(counts(1))
    expect(run.failures).toEqual([])
  })

  test('because the queue is locked is no failure: it waits', async () => {
    const queue = fakeQueue('a')
    queue.locks.set('other', { ids: [], expiresAtMs: Date.now() + 20_000, key: undefined })
    const seen: string[] = []
    const run = start(queue, ({ value }) => seen.push(value))
    await pass(19_000)
    expect(seen).toEqual([])
    expect(callsOf(queue, 'pop').length).toBeLessThan(15)
    await pass(6_100)
    expect(seen).toEqual(['a'])
    expect(run.failures).toEqual([])
    await run.end()
  })

  test('for good ends the work, once the held items are settled', async () => {
    const queue = fakeQueue('a', 'b', 'c')
    const handler: Handler<string> = async ({ value }) => {
      if (value === 'a') {
        await wait(10)
        queue.failNext('pop', new PushPopError('FORBIDDEN', 'no', { status: 403 }))
      } else await wait(500)
    }
    const run = start(queue, handler, { concurrency: 2 })
    await pass(2_000)
    expect(await run.over).toMatchObject({ code: 'FORBIDDEN' })
    expect(queue.acknowledged).toEqual(['a', 'b'])
    expect(queue.locks.size).toBe(0)
  })

  test('over and over is repeated ever more seldom', async () => {
    const queue = fakeQueue('a')
    for (let n = 0; n < 1_000; n += 1) queue.failNext('pop', lostAnswer())
    const run = start(queue, () => {})
    await pass(60_000)
    const { length } = callsOf(queue, 'pop')
    expect(length).toBeLessThan(100)
    run.stop()
    await pass(100)
    expect(run.hasEnded()).toBe(true)
    // Once more, for the lock that it may have got.
    expect(callsOf(queue, 'pop')).toHaveLength(length + 1)
  })
})

test('a listener that throws ends the work gracefully', async () => {
  const queue = fakeQueue('a')
  const onError = () => {
    throw new Error('listener')
  }
  const run = start(queue, () => Promise.reject(new Error('no')), { onError })
  await pass(10)
  expect(await run.over).toMatchObject({ message: 'listener' })
  expect(queue.locks.size).toBe(0)
})

test('a fault ends the work with its error, once the held items are settled, and keeps no lock alive', async () => {
  const queue = fakeQueue('a', 'b')
  const fault = new TypeError('An answer of 200 from something else')
  const run = start(queue, () => queue.failNext('pop', fault), { lockTtlSeconds: 10 })
  await pass(10)
  expect(await run.over).toBe(fault)
  expect(queue.acknowledged).toEqual(['a'])
  await pass(60_000)
  expect(callsOf(queue, 'extend')).toEqual([])
  expect(queue.locks.size).toBe(0)
})

test('A verb that somebody has wrapped is the one by which its queue is consumed', async () => {
  const queue = clientOf([]).client.queue('q')
  const stop = new AbortController()
  let pops = 0
  queue.pop = async () => {
    pops += 1
    stop.abort()
    return { items: [], more: false }
  }
  await queue.consume(() => {}, { signal: stop.signal })
  expect(pops).toBe(1)
})
