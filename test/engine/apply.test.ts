import { describe, expect, it } from 'vitest'
import type { InboxMessage } from '../../engine/queues.ts'
import { randomText } from '../../shared/system.ts'
import { seeded } from '../../testing/random.ts'
import { message, messages, refused, textsFrom } from './messages.ts'
import { onSimulated, openSimulated, useEmbedded } from './stage.ts'
import { drain, named, popItems, push, pushWide, textsOf } from './traffic.ts'
import { freezeAtUpdate, throttled, timedOut } from './wire.ts'

const DAY_MS = 86_400_000

describe('Messages of the inbox', () => {
  it('that come together are one append, in their order.', async () => {
    const { stage, queue } = onSimulated()
    const queues = stage.engine()
    await queues.apply(queue, messages(1, 1))
    const sent = await queues.wire.during(async () => {
      expect(await queues.apply(queue, messages(2, 10))).toMatchObject({ settled: 9, pushed: 9 })
    })
    expect(sent).toEqual(['UpdateCommand'])
    expect(textsOf(await drain(queues, queue))).toEqual(textsFrom(1, 10))
  })

  it('are applied once, however often and however far they come again.', async () => {
    const { stage, queue } = onSimulated()
    await stage.engine().apply(queue, messages(1, 3))
    const again = await stage.engine().apply(queue, messages(1, 5))
    expect(again).toMatchObject({ settled: 5, repeated: 3, pushed: 2 })
    expect(await stage.engine().apply(queue, messages(2, 4))).toMatchObject({ repeated: 3 })
    expect(textsOf(await drain(stage.engine(), queue))).toEqual(textsFrom(1, 5))
  })

  it('are compared as numbers, whatever their length.', async () => {
    const { stage, queue } = onSimulated()
    for (const number of [9, 10, 99, 100]) {
      await stage.engine().apply(queue, [message(number)])
    }
    expect(await stage.engine().apply(queue, [message(10)])).toMatchObject({ repeated: 1 })
    expect(await drain(stage.engine(), queue)).toHaveLength(4)
  })

  it('of an inbox that was made again are new, although their numbers are lower.', async () => {
    const { stage, queue } = onSimulated()
    await stage.engine().apply(queue, [message(1_000)])
    const other = { inbox: 'another' }
    expect(await stage.engine().apply(queue, [message(1, other)])).toMatchObject({ pushed: 1 })
    expect(await stage.engine().apply(queue, [message(1, other)])).toMatchObject({ repeated: 1 })
    expect(await drain(stage.engine(), queue)).toHaveLength(2)
  })

  it('have one effect if the answer was lost, and a late copy has none.', async () => {
    const { stage, queue } = onSimulated()
    await stage.engine().apply(queue, messages(1, 1))
    let lost = 0
    const forgetful = stage.engine({
      after: ({ name }) => {
        if (name !== 'UpdateCommand' || ++lost > 2) return
        throw timedOut()
      },
    })
    expect(await forgetful.apply(queue, messages(2, 4))).toMatchObject({ settled: 3 })
    expect(lost).toBeGreaterThan(0)
    expect(textsOf(await drain(stage.engine(), queue))).toEqual(textsFrom(1, 4))
  })

  it('do not fit into one append if they are too large: then they are several, in order.', async () => {
    const { stage, queue } = onSimulated()
    const bulk = [1, 2, 3].map((number) =>
      message(number, { items: named(`b${number}-`, 600, number % 2) }),
    )
    const applied = await stage.engine().apply(queue, bulk)
    expect(applied).toMatchObject({ settled: 3, itemsPushed: 1_800 })
    const texts = textsOf(await drain(stage.engine(), queue))
    expect(texts).toEqual([2, 1, 3].flatMap((number) => textsOf(named(`b${number}-`, 600))))
  })

  it('and pushes keep their own order beside each other.', async () => {
    const { stage, queue } = onSimulated()
    await stage.engine().apply(queue, messages(1, 2))
    await push(stage.engine(), queue, named('p', 1))
    await stage.engine().apply(queue, messages(1, 3))
    expect(textsOf(await drain(stage.engine(), queue))).toEqual(['"m1"', '"m2"', '"p0"', '"m3"'])
  })
})

describe('A message that cannot be pushed', () => {
  it('goes to the dead letters with its reason, once, and holds up nothing.', async () => {
    const { stage, queue } = onSimulated()
    const batch = [message(1), refused(2, 'item is missing'), message(3), refused(4)]
    const applied = await stage.engine().apply(queue, batch)
    expect(applied).toMatchObject({ settled: 4, pushed: 2, refused: 2, itemsDeadLettered: 2 })
    await stage.engine().apply(queue, batch)
    expect(textsOf(await drain(stage.engine(), queue))).toEqual(['"m1"', '"m3"'])
    const dead = await popItems(stage.engine(), `${queue}-deadletter`, { count: 10 })
    expect(
      dead.items.map(({ text, reason, priorDeliveries }) => [text, reason, priorDeliveries]),
    ).toEqual([
      ['"bad2"', 'item is missing', 0],
      ['"bad4"', 'no push', 0],
    ])
  })

  it('may be the first that a queue ever gets.', async () => {
    const { stage, queue } = onSimulated()
    expect(await stage.engine().apply(queue, [refused(1)])).toMatchObject({ refused: 1 })
    expect(await stage.engine().apply(queue, [refused(1)])).toMatchObject({ refused: 1 })
    expect(await drain(stage.engine(), `${queue}-deadletter`)).toHaveLength(1)
  })

  it('holds up nothing if its dead letters have a thousand priorities: it goes to the nearest.', async () => {
    const { stage, queue } = onSimulated()
    const dead = `${queue}-deadletter`
    const others = Array.from({ length: 1_000 }, (_, n) => ({ text: '1', priority: 10 + n }))
    await pushWide(stage.engine(), dead, others)
    expect(await stage.engine().apply(queue, [refused(1), message(2)])).toMatchObject({
      settled: 2,
    })
    const { items } = await popItems(stage.engine(), dead, { count: 2 })
    expect(items.map(({ text, priority }) => [text, priority])).toEqual([
      ['1', 10],
      ['"bad1"', 10],
    ])
  })

  it('holds up nothing either if its dead letters have room for some of its priorities only.', async () => {
    const { stage, queue } = onSimulated()
    const dead = `${queue}-deadletter`
    const others = Array.from({ length: 990 }, (_, n) => ({ text: '1', priority: 10 + n }))
    await pushWide(stage.engine(), dead, others)
    const items = named('bad', 20).map((item, n) => ({ ...item, priority: 2_000 + n }))
    expect(await stage.engine().apply(queue, [{ ...refused(1), items }, message(2)])).toMatchObject(
      { settled: 2, itemsDeadLettered: 20 },
    )
    const { count } = await stage.engine().inspect(dead, { consistent: true })
    expect(count).toBe(others.length + items.length)
  })

  it('is pushed as it came if the queue itself is for dead letters.', async () => {
    const { stage, queue } = onSimulated()
    const dead = `${queue}-deadletter`
    expect(await stage.engine().apply(dead, [refused(1)])).toMatchObject({ pushed: 1 })
    expect(textsOf(await drain(stage.engine(), dead))).toEqual(['"bad1"'])
  })
})

describe('A message for a dead-letter queue', () => {
  const scene = () => {
    const { stage, queue } = onSimulated()
    const dead = `${queue}-deadletter`
    const givenUp: (readonly [number, string])[] = []
    const giveUp = async ({ items }: InboxMessage, reason: string) => {
      givenUp.push([items.length, reason])
    }
    const apply = (...batch: InboxMessage[]) => stage.engine().apply(dead, batch, { giveUp })
    return { stage, dead, givenUp, apply }
  }

  it('is given up if its key came with other items, and what is behind it goes on.', async () => {
    const { stage, dead, givenUp, apply } = scene()
    await stage.engine().push(dead, { items: named('x', 1), idempotencyKey: 'k' })
    const used = message(1, { idempotencyKey: 'k' })
    expect(await apply(used, message(2))).toMatchObject({ settled: 2, pushed: 1, refused: 1 })
    expect(givenUp).toEqual([[1, expect.stringContaining('other items')]])
  })

  it('that was given up is not pushed when the key is forgotten.', async () => {
    const { stage, dead, apply } = scene()
    await stage.engine().push(dead, { items: named('x', 1), idempotencyKey: 'k' })
    const used = message(1, { idempotencyKey: 'k' })
    await apply(used)
    stage.clock.pass(2 * DAY_MS)
    expect(await apply(used)).toMatchObject({ settled: 1, repeated: 1 })
    expect(textsOf(await drain(stage.engine(), dead))).toEqual(['"x0"'])
  })

  it('waits for room as long as any other, and is then given up.', async () => {
    const { stage, dead, givenUp, apply } = scene()
    await stage.engine().configure(dead, { capacity: 1 })
    const late = message(2, { waitsUntilMs: stage.clock.nowMs() + DAY_MS })
    expect(await apply(message(1), late)).toMatchObject({ settled: 1 })
    stage.clock.pass(DAY_MS)
    expect(await apply(late)).toMatchObject({ settled: 1, refused: 1 })
    expect(givenUp).toEqual([[1, expect.stringContaining('waited too long')]])
  })

  it('waits while nobody can keep it, and is not passed over.', async () => {
    const { stage, dead, apply, givenUp } = scene()
    await stage.engine().push(dead, { items: named('x', 1), idempotencyKey: 'k' })
    const used = message(1, { idempotencyKey: 'k' })
    const giveUp = () => Promise.reject(new Error('away'))
    expect(await stage.engine().apply(dead, [used], { giveUp })).toMatchObject({ settled: 0 })
    expect(await apply(used)).toMatchObject({ settled: 1, refused: 1 })
    expect(givenUp).toHaveLength(1)
  })
})

describe('A message with a key', () => {
  it('is no second effect of a push with that key, nor of another message.', async () => {
    const { stage, queue } = onSimulated()
    await stage.engine().push(queue, { items: named('m', 1, 0, 1), idempotencyKey: 'k' })
    const first = await stage.engine().apply(queue, [message(1, { idempotencyKey: 'k' })])
    expect(first).toMatchObject({ settled: 1, repeated: 1 })
    await stage.engine().apply(queue, [message(2, { idempotencyKey: 'l' })])
    const items = named('m', 1, 0, 2)
    await stage.engine().apply(queue, [message(3, { idempotencyKey: 'l', items })])
    expect(await drain(stage.engine(), queue)).toHaveLength(2)
  })

  it('that was a repetition is done for good, also when the key is forgotten.', async () => {
    const { stage, queue } = onSimulated()
    await stage.engine().push(queue, { items: named('m', 1, 0, 1), idempotencyKey: 'k' })
    await stage.engine().apply(queue, [message(1, { idempotencyKey: 'k' })])
    stage.clock.pass(2 * DAY_MS)
    const again = await stage.engine().apply(queue, [message(1, { idempotencyKey: 'k' })])
    expect(again).toMatchObject({ settled: 1, repeated: 1 })
    expect(await drain(stage.engine(), queue)).toHaveLength(1)
  })

  it('that was a repetition is done for good where the one behind it has to wait.', async () => {
    const { stage, queue } = onSimulated()
    await stage.engine().configure(queue, { capacity: 1 })
    await stage.engine().push(queue, { items: named('m', 1, 0, 1), idempotencyKey: 'k' })
    const repeated = message(1, { idempotencyKey: 'k' })
    expect(await stage.engine().apply(queue, [repeated, message(2)])).toMatchObject({ settled: 1 })
    await drain(stage.engine(), queue)
    stage.clock.pass(2 * DAY_MS)
    expect(await stage.engine().apply(queue, [repeated])).toMatchObject({ settled: 1, repeated: 1 })
    expect(await drain(stage.engine(), queue)).toEqual([])
  })

  it.each(['gone', 'made anew'])(
    'that was a repetition is done for good where the queue that the process remembers is %s.',
    async (state) => {
      const { stage, queue } = onSimulated()
      const remembering = stage.engine()
      await remembering.push(queue, { items: named('m', 1, 0, 1), idempotencyKey: 'k' })
      await drain(stage.engine(), queue)
      stage.clock.pass(60 * 60_000)
      await stage.engine().returnExpiredLocks()
      expect(await stage.stored(queue)).toBeUndefined()
      if (state === 'made anew') await push(stage.engine(), queue, named('other', 1))
      const repeated = message(1, { idempotencyKey: 'k' })
      expect(await remembering.apply(queue, [repeated])).toMatchObject({ repeated: 1 })
      await drain(stage.engine(), queue)
      stage.clock.pass(2 * DAY_MS)
      expect(await remembering.apply(queue, [repeated])).toMatchObject({ repeated: 1 })
      expect(await drain(stage.engine(), queue)).toEqual([])
    },
  )

  it('that was a repetition comes again if the record could not note it.', async () => {
    const { stage, queue } = onSimulated()
    const queues = stage.engine({
      before: ({ name }) => {
        if (name === 'UpdateCommand' && isAway) throw throttled()
      },
    })
    let isAway = false
    await queues.push(queue, { items: named('m', 1, 0, 1), idempotencyKey: 'k' })
    isAway = true
    const repeated = message(1, { idempotencyKey: 'k' })
    expect(await queues.apply(queue, [repeated])).toMatchObject({ settled: 0 })
    isAway = false
    expect(await queues.apply(queue, [repeated])).toMatchObject({ settled: 1, repeated: 1 })
  })

  it('that one process passes as a repetition is not pushed by another.', async () => {
    const { stage, queue } = onSimulated()
    const items = [{ text: '1' }]
    await stage.engine().push(queue, { items, idempotencyKey: 'k' })
    const repeated = message(1, { items, idempotencyKey: 'k' })
    stage.clock.pass(DAY_MS - 60_000)
    // The note of the key becomes a receipt.
    await push(stage.engine(), queue, named('later', 1))
    const passing = freezeAtUpdate()
    const passed = stage.engine(passing).apply(queue, [repeated])
    await passing.reached
    stage.clock.pass(120_000)
    const pushing = freezeAtUpdate()
    const pushed = stage.engine(pushing).apply(queue, [repeated])
    await pushing.reached
    passing.thaw()
    expect(await passed).toMatchObject({ settled: 1, repeated: 1 })
    pushing.thaw()
    expect(await pushed).toMatchObject({ settled: 1, repeated: 1 })
  })

  it('that came before with other items goes to the dead letters, and what is behind it does not wait.', async () => {
    const { stage, queue } = onSimulated()
    await stage.engine().push(queue, { items: named('x', 1), idempotencyKey: 'k' })
    const batch = [message(1), message(2, { idempotencyKey: 'k' }), message(3)]
    const applied = await stage.engine().apply(queue, batch)
    expect(applied).toMatchObject({ settled: 3, pushed: 2, refused: 1 })
    await stage.engine().apply(queue, batch)
    expect(textsOf(await drain(stage.engine(), queue))).toEqual(['"x0"', '"m1"', '"m3"'])
    const { items } = await popItems(stage.engine(), `${queue}-deadletter`, { count: 10 })
    expect(items.map(({ text, reason }) => [text, reason])).toEqual([
      ['"m2"', expect.stringContaining('Idempotency-Key')],
    ])
  })
})

describe('A queue at its push limit', () => {
  const limited = async () => {
    const { stage, queue } = onSimulated()
    const queues = stage.engine()
    const items = named('m', 1, 0, 2)
    await queues.push(queue, { items, idempotencyKey: 'k' })
    await queues.apply(queue, [message(1)])
    await queues.configure(queue, { pushLimit: { maxRequests: 1, windowMillis: DAY_MS } })
    const late = message(2, { items, idempotencyKey: 'k', waitsUntilMs: stage.clock.nowMs() })
    await push(queues, queue, named('x', 1))
    return { stage, queue, queues, late }
  }

  it('gives up no message whose key has pushed its items, however long it has waited.', async () => {
    const { stage, queue, queues, late } = await limited()
    expect(await queues.apply(queue, [late])).toMatchObject({ settled: 1, repeated: 1, refused: 0 })
    expect(await drain(stage.engine(), `${queue}-deadletter`)).toEqual([])
    stage.clock.pass(2 * DAY_MS)
    expect(await queues.apply(queue, [late])).toMatchObject({ settled: 1, repeated: 1 })
    expect(await drain(stage.engine(), queue)).toHaveLength(3)
  })

  it('gives up none that it has applied before, also where nobody else would notice.', async () => {
    const { stage, queue } = onSimulated()
    const dead = `${queue}-deadletter`
    const queues = stage.engine()
    const first = message(1, { waitsUntilMs: stage.clock.nowMs() })
    await queues.apply(dead, [first])
    await queues.configure(dead, { pushLimit: { maxRequests: 1, windowMillis: DAY_MS } })
    await push(queues, dead, named('x', 1))
    let givenUp = 0
    const giveUp = async () => {
      givenUp += 1
    }
    const applied = await queues.apply(dead, [first], { giveUp })
    expect(applied).toMatchObject({ settled: 1, repeated: 1, refused: 0 })
    expect(givenUp).toBe(0)
  })
})

describe('A queue without room', () => {
  it('keeps the message waiting, and all behind it, until there is some.', async () => {
    const { stage, queue } = onSimulated()
    await stage.engine().configure(queue, { capacity: 3 })
    const applied = await stage.engine().apply(queue, messages(1, 5))
    expect(applied).toMatchObject({ settled: 3, pushed: 3, error: { code: 'QUEUE_FULL' } })
    const refusedAgain = await stage.engine().apply(queue, messages(4, 5))
    expect(refusedAgain).toMatchObject({ settled: 0, error: { code: 'QUEUE_FULL' } })
    await popItems(stage.engine(), queue, { count: 3 })
    expect(await stage.engine().apply(queue, messages(4, 5))).toMatchObject({ settled: 2 })
    expect(textsOf(await drain(stage.engine(), queue))).toEqual(textsFrom(4, 5))
  })

  it('gives up at once what can never fit, and what is behind it goes on.', async () => {
    const { stage, queue } = onSimulated()
    await stage.engine().configure(queue, { capacity: 2 })
    const large = message(2, { items: named('large', 3) })
    const applied = await stage.engine().apply(queue, [message(1), large, message(3), message(4)])
    expect(applied).toMatchObject({ settled: 3, pushed: 2, refused: 1 })
    expect(applied).toMatchObject({ error: { code: 'QUEUE_FULL' } })
    const { items } = await popItems(stage.engine(), `${queue}-deadletter`, { count: 10 })
    expect(items.map(({ text, reason }) => [text, reason])).toEqual(
      [0, 1, 2].map((n) => [`"large${n}"`, expect.stringContaining('Its 3 items never fit')]),
    )
  })

  it('gives up a message that has waited too long, with its items and priorities, and the reason.', async () => {
    const { stage, queue } = onSimulated()
    await stage.engine().configure(queue, { capacity: 2 })
    const waitsUntilMs = stage.clock.nowMs() + DAY_MS
    const items = [...named('a', 1, 7), ...named('b', 1, 2)]
    const late = message(2, { items, waitsUntilMs })
    expect(await stage.engine().apply(queue, [message(1), late])).toMatchObject({ settled: 1 })
    stage.clock.pass(DAY_MS)
    expect(await stage.engine().apply(queue, [late])).toMatchObject({ settled: 1, refused: 1 })
    const dead = await popItems(stage.engine(), `${queue}-deadletter`, { count: 10 })
    expect(dead.items.map(({ text, priority }) => [text, priority])).toEqual([
      ['"b0"', 2],
      ['"a0"', 7],
    ])
    expect(dead.items[0]?.reason).toContain('waited too long in the inbox')
    await stage
      .engine()
      .redrive(`${queue}-deadletter`)
      .catch(() => {})
  })

  it('of its limit answers when to come again.', async () => {
    const { stage, queue } = onSimulated()
    await stage.engine().configure(queue, {
      pushLimit: { maxRequests: 1, windowMillis: 60_000 },
    })
    expect(await stage.engine().apply(queue, messages(1, 2))).toMatchObject({ settled: 2 })
    const { settled, error } = await stage.engine().apply(queue, messages(3, 4))
    expect(settled).toBe(0)
    expect(error).toMatchObject({ code: 'RATE_LIMITED', retryAfterMs: expect.any(Number) })
  })
})

describe('A queue that messages came for', () => {
  it('is remembered as long as they may come again, and then forgotten.', async () => {
    const { stage, queue } = onSimulated()
    await stage.engine().apply(queue, messages(1, 2))
    await drain(stage.engine(), queue)
    for (let day = 1; day <= 14; day += 1) {
      stage.clock.pass(DAY_MS)
      await stage.engine().returnExpiredLocks()
    }
    expect(await stage.engine().apply(queue, messages(1, 2))).toMatchObject({ repeated: 2 })
    expect(await drain(stage.engine(), queue)).toEqual([])
    for (let day = 1; day <= 2; day += 1) {
      stage.clock.pass(DAY_MS)
      await stage.engine().returnExpiredLocks()
    }
    expect(await stage.stored(queue)).toBeUndefined()
  })

  it('is remembered through a purge and through losing its settings.', async () => {
    const { stage, queue } = onSimulated()
    await stage.engine().configure(queue, { capacity: 10 })
    await stage.engine().apply(queue, messages(1, 2))
    await stage.engine().purge(queue)
    await stage.engine().unconfigure(queue)
    stage.clock.pass(DAY_MS)
    await stage.engine().returnExpiredLocks()
    expect(await stage.engine().apply(queue, messages(1, 2))).toMatchObject({ repeated: 2 })
  })

  it('is visited by the sweeper once a while, and not every minute until then.', async () => {
    const { stage, queue } = onSimulated()
    await stage.engine().apply(queue, messages(1, 1))
    await drain(stage.engine(), queue)
    stage.clock.pass(60 * 60_000)
    await stage.engine().returnExpiredLocks()
    await stage.engine().returnExpiredLocks()
    const { checkAtMs = 0 } = await stage.record(queue)
    expect(checkAtMs - stage.clock.nowMs()).toBeGreaterThan(14 * DAY_MS)
  })
})

it.each([
  ['small', named('m', 1)],
  ['large', [{ text: `"${randomText(seeded(1), 100_000)}"` }]],
])('Time that is up leaves %s messages, and nothing is sent any more.', async (_, items) => {
  const stage = openSimulated()
  const queues = stage.engine()
  await queues.apply('q', messages(1, 1))
  const sent = await queues.wire.during(async () => {
    const deadlineMs = stage.clock.nowMs()
    const applied = await queues.apply('q', [message(2, { items })], { deadlineMs })
    expect(applied).toMatchObject({ settled: 0, error: { code: 'STORE_UNAVAILABLE' } })
  })
  expect(sent).toEqual([])
})

describe('On the embedded store', () => {
  const stage = useEmbedded()

  it('messages are applied once, and what cannot be pushed is dead-lettered once.', async () => {
    const queue = stage.queue()
    const batch = [...messages(1, 4), refused(5), message(6, { idempotencyKey: 'k' })]
    await stage.engine().apply(queue, batch.slice(0, 2))
    expect(await stage.engine().apply(queue, batch)).toMatchObject({ settled: 6, repeated: 2 })
    expect(await stage.engine().apply(queue, batch)).toMatchObject({ settled: 6, pushed: 0 })
    const texts = [...textsFrom(1, 4), '"m6"']
    expect(textsOf(await drain(stage.engine(), queue))).toEqual(texts)
    expect(await drain(stage.engine(), `${queue}-deadletter`)).toHaveLength(1)
  })
})
