// Pushes that linger, over HTTP: how many requests they are, and what each call hears.

import { describe, expect, test, vi } from 'vitest'
import { type ClientOptions, createClient, isOutcomeUnknown } from '../../client/index.ts'
import { PRIORITIES_PER_PUSH_MAX } from '../../shared/bounds.ts'
import { type Asked, breaks, clientOf, type Reply, refuses, useFakeTime } from './scripted.ts'

useFakeTime()

/** Stores what comes, and answers with ids: the first item that ever came is i0. */
function aService(room = Number.POSITIVE_INFINITY) {
  const stored: unknown[] = []
  const reply: Reply = (asked, signal) => {
    const items = itemsOf(asked)
    if (stored.length + items.length > room) return refuses(429, 'QUEUE_FULL')(asked, signal)
    const ids = items.map((_, index) => `i${stored.length + index}`)
    stored.push(...items)
    return Response.json({ success: true, items_pushed: ids.length, ids })
  }
  return { stored, reply }
}

function itemsOf({ body }: Asked): unknown[] {
  const { item, items = [{ item }] } = JSON.parse(body ?? '') as {
    item?: unknown
    items?: { item: unknown }[]
  }
  return items.map((one) => one.item)
}

function lingering(replies: readonly Reply[], options: Partial<ClientOptions> = {}) {
  return clientOf(replies, { linger: true, ...options })
}

/** Lets time pass until the call has its answer. */
async function passed<T>(call: Promise<T>): Promise<T> {
  call.catch(() => {})
  await vi.advanceTimersByTimeAsync(120_000)
  return call
}

describe('With linger', () => {
  test('Promise.all of 1,000 pushes is one request, and each has its own id', async () => {
    const { stored, reply } = aService()
    const { queue, asked } = lingering([reply])
    const numbers = Array.from({ length: 1_000 }, (_, n) => n)
    const answers = await passed(Promise.all(numbers.map((n) => queue.push(n))))
    expect(asked.length).toBe(1)
    expect(stored).toEqual(numbers)
    expect(answers.map(({ id }) => id)).toEqual(numbers.map((n) => `i${n}`))
  })

  test('pushes of more priorities than a request takes are more requests, and none is refused', async () => {
    const { stored, reply } = aService()
    const { queue, asked } = lingering([reply])
    const numbers = Array.from({ length: 1_000 }, (_, n) => n)
    await passed(Promise.all(numbers.map((n) => queue.push(n, { priority: n % 250 }))))
    const priorities = asked.map(({ body }) => {
      const { items } = JSON.parse(body ?? '') as { items: { priority: number }[] }
      return new Set(items.map(({ priority }) => priority)).size
    })
    expect(Math.max(...priorities)).toBe(PRIORITIES_PER_PUSH_MAX)
    expect(asked.length).toBe(1_000 / PRIORITIES_PER_PUSH_MAX)
    expect(stored).toEqual(numbers)
  })

  test('a push alone is the request that it is without', async () => {
    const { reply } = aService()
    const { queue, asked } = lingering([reply])
    await passed(queue.push({ n: 1 }, { priority: 3 }))
    expect(asked[0]?.body).toBe('{"item":{"n":1},"priority":3}')
    expect(asked[0]?.headers.get('idempotency-key')).toBeNull()
  })

  test('pushes and bulk pushes go together, each bulk with all of its ids', async () => {
    const { stored, reply } = aService()
    const { queue, asked } = lingering([reply])
    const [one, many, none] = await passed(
      Promise.all([
        queue.push('a'),
        queue.pushMany([{ item: 'b' }, { item: 'c', priority: 2 }]),
        queue.push('d'),
      ]),
    )
    expect(asked.length).toBe(1)
    expect(stored).toEqual(['a', 'b', 'c', 'd'])
    expect([one, many, none]).toEqual([
      { id: 'i0' },
      { itemsPushed: 2, ids: ['i1', 'i2'] },
      { id: 'i3' },
    ])
  })

  test('what JSON cannot say is refused before it joins', async () => {
    const { stored, reply } = aService()
    const { queue, asked } = lingering([reply])
    const calls = [queue.push('a'), queue.push(undefined), queue.push('b')]
    const [one, bad, other] = await passed(Promise.allSettled(calls))
    expect(bad).toMatchObject({ reason: { code: 'NOT_JSON' } })
    expect([one?.status, other?.status, asked.length]).toEqual(['fulfilled', 'fulfilled', 1])
    expect(stored).toEqual(['a', 'b'])
  })

  test.each([
    ['a wrong priority', 'INVALID_PRIORITY', { priority: -1 }, 'x'],
    ['an item that is too large', 'ITEM_TOO_LARGE', {}, 'x'.repeat(300_000)],
  ])(
    '%s goes alone and in its place: the service itself refuses it',
    async (_, code, options, item) => {
      const { stored, reply } = aService()
      const refusing: Reply = (asked, signal) =>
        itemsOf(asked).includes(item) ? refuses(400, code)(asked, signal) : reply(asked, signal)
      const { queue, asked } = lingering([refusing])
      const calls = [queue.push('a'), queue.push('b'), queue.push(item, options), queue.push('c')]
      const [, , bad] = await passed(Promise.allSettled(calls))
      expect(bad).toMatchObject({ reason: { code, attempts: 1 } })
      expect(asked.map((one) => itemsOf(one).length)).toEqual([2, 1, 1])
      expect(stored).toEqual(['a', 'b', 'c'])
    },
  )

  test('a time that only the service finds wrong harms no other call', async () => {
    const { stored, reply } = aService()
    const refusing: Reply = (asked, signal) =>
      itemsOf(asked).includes('bad')
        ? refuses(400, 'INVALID_PARAMETER')(asked, signal)
        : reply(asked, signal)
    const { queue } = lingering([refusing])
    const inTenYears = new Date(Date.now() + 3_652 * 86_400_000)
    const calls = [
      queue.push('a'),
      queue.push('bad', { deliverAt: inTenYears }),
      queue.push('b', { delaySeconds: 10 }),
    ]
    const [one, bad, other] = await passed(Promise.allSettled(calls))
    expect(bad).toMatchObject({ reason: { code: 'INVALID_PARAMETER' } })
    expect([one?.status, other?.status]).toEqual(['fulfilled', 'fulfilled'])
    expect(stored).toEqual(['a', 'b'])
  })

  test('more times than one push may have go in several, in order', async () => {
    const { stored, reply } = aService()
    const refusing: Reply = (asked, signal) =>
      itemsOf(asked).length > 64
        ? refuses(400, 'INVALID_PARAMETER')(asked, signal)
        : reply(asked, signal)
    const { queue } = lingering([refusing])
    const numbers = Array.from({ length: 200 }, (_, n) => n)
    await passed(Promise.all(numbers.map((n) => queue.push(n, { delaySeconds: n + 1 }))))
    expect(stored).toEqual(numbers)
  })

  test('more priorities than one push may have go in several, in order; a call that has them goes alone', async () => {
    const { stored, reply } = aService()
    const { queue, asked } = lingering([reply])
    const numbers = Array.from({ length: 1_000 }, (_, n) => n)
    const calls = numbers.map((n) => queue.push(n, { priority: Math.floor(n / 4) }))
    calls.push(queue.push('alike', { priority: 249 }))
    const wide = numbers.slice(0, 101).map((n) => ({ item: n, priority: n }))
    const refused = queue.pushMany(wide)
    await passed(Promise.all([...calls, refused]))
    expect(asked.map((one) => itemsOf(one).length)).toEqual([400, 400, 201, 101])
    expect(stored.slice(0, 1_001)).toEqual([...numbers, 'alike'])
  })

  test('a key of your own goes alone, behind what came before and ahead of what came after', async () => {
    const { stored, reply } = aService()
    const { queue, asked } = lingering([reply])
    const calls = [
      queue.push(1),
      queue.push(2),
      queue.push(3, { idempotencyKey: 'mine' }),
      queue.push(4),
      queue.push(5),
    ]
    await passed(Promise.all(calls))
    expect(asked.map((one) => [itemsOf(one), one.headers.get('idempotency-key')])).toEqual([
      [[1, 2], null],
      [[3], 'mine'],
      [[4, 5], null],
    ])
    expect(stored).toEqual([1, 2, 3, 4, 5])
  })

  test('a batch with an idempotent push in it has a key, and is sent again when its answer was lost', async () => {
    const { reply } = aService()
    const { queue, asked } = lingering([breaks, reply])
    const calls = [queue.push(1), queue.push(2, { idempotent: true })]
    const answers = await passed(Promise.all(calls))
    expect(answers).toEqual([{ id: 'i0' }, { id: 'i1' }])
    const keys = asked.map(({ headers }) => headers.get('idempotency-key'))
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/)
    expect(keys[1]).toBe(keys[0])
  })

  test('a lost answer without a key is unknown to every caller, and goes no second time', async () => {
    const { queue, asked } = lingering([breaks])
    const calls = await passed(Promise.allSettled([queue.push(1), queue.push(2)]))
    for (const call of calls) {
      expect(call.status === 'rejected' && isOutcomeUnknown(call.reason)).toBe(true)
    }
    expect(asked.length).toBe(1)
  })

  test('a batch for which a queue has not room enough goes in as far as there is room', async () => {
    const { stored, reply } = aService(6)
    const { queue, asked } = lingering([reply], { retry: { attemptsMax: 2 } })
    const calls = Array.from({ length: 10 }, (_, n) => queue.push(n))
    const answers = await passed(Promise.allSettled(calls))
    expect(stored).toEqual([0, 1, 2, 3, 4, 5])
    const refused = answers.flatMap((one, n) => (one.status === 'rejected' ? [n] : []))
    expect(refused).toEqual([6, 7, 8, 9])
    expect(answers[9]).toMatchObject({ reason: { code: 'QUEUE_FULL', outcome: undefined } })
    // The last is the seventh item again: only a call alone waits for room.
    expect(asked.map((one) => itemsOf(one).length)).toEqual([10, 5, 5, 3, 2, 1, 1, 1])
  })

  test('a push for later that waits beside one for which there is no room is sent', async () => {
    const stored: unknown[] = []
    const full: Reply = (asked, signal) => {
      const { items = [JSON.parse(asked.body ?? '')] } = JSON.parse(asked.body ?? '') as {
        items?: { delay_seconds?: number; deliver_at?: number }[]
      }
      const isNow = items.some((one) => (one.delay_seconds ?? one.deliver_at ?? 0) === 0)
      if (isNow) return refuses(429, 'QUEUE_FULL')(asked, signal)
      stored.push(...itemsOf(asked))
      return Response.json({ success: true, items_pushed: 1, ids: itemsOf(asked).map(() => 't-0') })
    }
    const { queue } = lingering([full])
    const answers = await passed(
      Promise.allSettled([
        queue.push(1),
        queue.push(2, { delaySeconds: 60 }),
        queue.push(3, { delaySeconds: 0 }),
        queue.push(4, { deliverAt: new Date(Date.now() + 60_000) }),
      ]),
    )
    expect(answers.map(({ status }) => status)).toEqual([
      'rejected',
      'fulfilled',
      'rejected',
      'fulfilled',
    ])
    expect(stored).toEqual([2, 4])
  })

  test("the queue's own limit holds up the batch, which goes again when its window is over", async () => {
    const { stored, reply } = aService()
    const limited = refuses(429, 'RATE_LIMITED', { retry_after_ms: 1_000 })
    const { queue, asked } = lingering([limited, reply])
    await passed(Promise.all([queue.push(1), queue.push(2)]))
    expect(asked.length).toBe(2)
    expect(stored).toEqual([1, 2])
  })

  test('a call that was given up before its batch went sends nothing and knows so', async () => {
    const { stored, reply } = aService()
    const { queue } = lingering([reply], { linger: { waitMs: 50 } })
    const stop = new AbortController()
    const call = queue.push(1, { signal: stop.signal })
    const other = queue.push(2)
    stop.abort()
    await expect(call).rejects.toMatchObject({ code: 'ABORTED', attempts: 0, outcome: undefined })
    await passed(other)
    expect(stored).toEqual([2])
  })

  test('a call that was given up after its batch went does not know, and the others do', async () => {
    const { reply } = aService()
    const slow: Reply = async (asked, signal) => {
      await new Promise((resolve) => setTimeout(resolve, 100))
      return reply(asked, signal)
    }
    const { queue } = lingering([slow])
    const stop = new AbortController()
    const call = queue.push(1, { signal: stop.signal })
    const other = queue.push(2)
    call.catch(() => {})
    await vi.advanceTimersByTimeAsync(50)
    stop.abort()
    await expect(call).rejects.toMatchObject({ code: 'ABORTED', outcome: 'unknown' })
    expect(await passed(other)).toEqual({ id: 'i1' })
  })

  test('flush sends what waits, and resolves when every push has its answer', async () => {
    const { stored, reply } = aService()
    const { client, queue } = lingering([reply], { linger: { waitMs: 10_000 } })
    const calls = [queue.push(1), client.queue('other').push(2)]
    await client.flush()
    expect(stored).toEqual([1, 2])
    expect(await Promise.all(calls)).toEqual([{ id: 'i0' }, { id: 'i1' }])
  })
})

test('Without linger, every push is a separate request, and flush has nothing to do', async () => {
  const { reply } = aService()
  const { client, queue, asked } = clientOf([reply])
  await Promise.all([queue.push(1), queue.push(2)])
  await client.flush()
  expect(asked.length).toBe(2)
})

test.each([
  [{ waitMs: -1 }, 'linger.waitMs must be 0 to 10000, and is -1'],
  [{ itemsMax: 1_001 }, 'linger.itemsMax must be 1 to 1000, and is 1001'],
  [{ bytesMax: 3_000_000 }, 'linger.bytesMax must be 1 to 2621376, and is 3000000'],
  [{ waitMS: 5 }, 'Unknown option "waitMS": it is waitMs'],
  [5, 'Cannot use 5 as linger: say true, or { waitMs: 5 }'],
])('createClient refuses linger: %j', (linger, message) => {
  // biome-ignore lint/suspicious/noExplicitAny: what no compiler has checked.
  const options: any = { url: 'http://service', linger }
  expect(() => createClient(options)).toThrow(new TypeError(message))
})
