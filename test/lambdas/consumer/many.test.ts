// Many queues worked by one process, on the real engine, in time that passes only when all wait.

import { describe, expect, it } from 'vitest'
import { QueueError } from '../../../shared/errors.ts'
import type { HandlerContext, Item } from '../../../shared/worker/run.ts'
import type { Which } from '../../../shared/worker/which-queues.ts'
import { type ManyRunOptions, Place } from './a-run.ts'

type Done = readonly [queue: string, value: unknown]

function work(
  place: Place,
  which: Which,
  options: ManyRunOptions = {},
  act: (item: Item<unknown>, context: HandlerContext) => unknown = () => {},
) {
  const done: Done[] = []
  const handler = async (items: readonly Item<unknown>[], context: HandlerContext) => {
    for (const item of items) {
      await act(item, context)
      done.push([context.queue, item.value])
    }
  }
  return { done, ...place.many(which, handler, options) }
}

const stateOf = async (place: Place, queue: string) => {
  const { count, lockedCount } = await place.in(place.queues.inspect(queue, { consistent: true }))
  return { count, lockedCount }
}

const times = (verbs: readonly string[], verb: string) => verbs.filter((it) => it === verb).length

describe('Many queues', () => {
  it('are those under the prefix, also those that come later, and not their dead-letter queues.', async () => {
    const place = new Place()
    await place.pushTo('t.1', 'a')
    await place.pushTo('t.1-deadletter', 'dead')
    await place.pushTo('other', 'x')
    const { done, stop, ended } = work(place, { prefix: 't.' })
    await place.pass(1_000)
    await place.pushTo('t.2', 'b')
    await place.pass(1_000)
    stop()
    expect(await place.in(ended)).toMatchObject({ acknowledged: 2, batches: 2 })
    expect(done).toEqual([
      ['t.1', 'a'],
      ['t.2', 'b'],
    ])
  })

  it('can be named one by one, dead-letter queues as well.', async () => {
    const place = new Place()
    await place.pushTo('a', 1)
    await place.pushTo('b-deadletter', 2)
    await place.pushTo('c', 3)
    const { done, stop, ended } = work(place, { queues: ['b-deadletter', 'a'] })
    await place.pass(1_000)
    stop()
    await place.in(ended)
    expect(done).toHaveLength(2)
    expect(done.map(([queue]) => queue).sort()).toEqual(['a', 'b-deadletter'])
  })

  it('that are all idle cost two looks a second, and nothing else.', async () => {
    const place = new Place()
    for (let n = 0; n < 50; n += 1) await place.pushTo(`q.${n}`, n)
    const { done, stop, ended } = work(place, { prefix: 'q.' }, { queuesAtOnce: 50 })
    await place.pass(2_000)
    expect(done).toHaveLength(50)
    place.verbs.length = 0
    await place.pass(10_000)
    stop()
    await place.in(ended)
    expect(times(place.verbs, 'list')).toBeLessThanOrEqual(20)
    expect(place.verbs.every((verb) => verb === 'list')).toBe(true)
  })

  it('keep their order while an item fails, and the others go on meanwhile.', async () => {
    const place = new Place()
    await place.pushTo('q.bad', 'bad 1', 'bad 2')
    let failures = 2
    const options = { queuesAtOnce: 1 }
    const { done, stop, ended, troubles } = work(place, { prefix: 'q.' }, options, ({ value }) => {
      if (value === 'bad 1' && failures-- > 0) throw new Error('not yet')
    })
    await place.pass(600)
    await place.pushTo('q.good', 'good')
    await place.pass(10_000)
    stop()
    await place.in(ended)
    expect(done).toEqual([
      ['q.good', 'good'],
      ['q.bad', 'bad 1'],
      ['q.bad', 'bad 2'],
    ])
    expect(troubles.map(({ kind }) => kind)).toEqual(['handler', 'handler'])
  })

  it('are not asked while what failed waits for hours, whether the others wait with it or are gone.', async () => {
    for (const competing of [false, true]) {
      const place = new Place()
      await place.pushTo('q', 'bad', ...(competing ? [] : ['good']))
      const options = { competing, retry: { delays: ['1h'] as const } }
      const { done, stop, ended } = work(
        place,
        { prefix: 'q' },
        options,
        ({ deliveries, value }) => {
          if (value === 'bad' && deliveries === 1) throw new Error('not yet')
        },
      )
      await place.pass(10_000)
      place.verbs.length = 0
      await place.pass(3_500_000)
      expect(new Set(place.verbs)).toEqual(new Set(['list']))
      await place.pass(100_000)
      stop()
      await place.in(ended)
      expect(done.map(([, value]) => value)).toEqual(competing ? ['bad'] : ['bad', 'good'])
    }
  })

  it('dead-letter what fails too often, and none of its neighbours.', async () => {
    const place = new Place()
    await place.pushTo('q', 'a', 'poison', 'b')
    const options = { batchSize: 10, maxDeliveries: 3 }
    const { done, stop, ended } = work(place, { queues: ['q'] }, options, ({ value }) => {
      if (value === 'poison') throw new Error('never')
    })
    await place.pass(30_000)
    stop()
    expect(await place.in(ended)).toMatchObject({ deadLettered: 1, acknowledged: 2 })
    const dead = await place.in(place.queues.browse('q-deadletter'))
    expect(dead.items.map(({ text, reason }) => [text, reason])).toEqual([
      ['"poison"', 'max_deliveries: never'],
    ])
    expect(new Set(done.map(([, value]) => value))).toEqual(new Set(['a', 'b']))
  })

  it('get their turns although one of them never runs dry.', async () => {
    const place = new Place()
    const values = Array.from({ length: 200 }, (_, n) => n)
    await place.pushTo('q.busy', ...values)
    const slow = () => place.clock.sleep(50)
    const { done, stop, ended } = work(place, { prefix: 'q.' }, { queuesAtOnce: 1 }, slow)
    await place.pass(400)
    await place.pushTo('q.late', 'late')
    await place.pass(3_000)
    stop()
    await place.in(ended)
    expect(done).toContainEqual(['q.late', 'late'])
    const busy = done.filter(([queue]) => queue === 'q.busy').map(([, value]) => value)
    expect(busy).toEqual(values.slice(0, busy.length))
  })

  it('that somebody else has locked are asked less and less often.', async () => {
    const place = new Place()
    await place.pushTo('q', 1, 2)
    const { ended, stop } = work(
      place,
      { queues: ['q'] },
      {
        through: (engine) => ({
          // A list that lags: it shows no lock.
          async list(request) {
            const page = await engine.list(request)
            return {
              queues: page.queues.map(({ queue, count = 0 }) => ({ queue, count })),
            }
          },
        }),
      },
    )
    await place.in(place.queues.pop('q', { requireAck: true, ttlSeconds: 300 }))
    place.verbs.length = 0
    await place.pass(20_000)
    stop()
    await place.in(ended)
    expect(times(place.verbs, 'list')).toBeGreaterThan(30)
    expect(times(place.verbs, 'pop')).toBeLessThan(12)
  })

  it('are not held up by one that its limit stops.', async () => {
    const place = new Place()
    await place.in(
      place.queues.configure('q.a', { popLimit: { maxRequests: 1, windowMillis: 60_000 } }),
    )
    await place.pushTo('q.a', 1, 2, 3)
    const { done, stop, ended } = work(place, { prefix: 'q.' }, { queuesAtOnce: 1 })
    await place.pass(3_000)
    await place.pushTo('q.b', 'b')
    await place.pass(3_000)
    stop()
    await place.in(ended)
    expect(done).toContainEqual(['q.b', 'b'])
    expect(done.length).toBeLessThan(4)
  })

  it('go on while one of them is refused, and it is tried again.', async () => {
    const place = new Place()
    await place.pushTo('q.a', 'a')
    await place.pushTo('q.b', 'b')
    let refusals = 3
    const { done, stop, ended, troubles } = work(
      place,
      { prefix: 'q.' },
      {
        queuesAtOnce: 1,
        through: (engine) => ({
          async pop(queue, request) {
            if (queue === 'q.a' && refusals-- > 0) throw new QueueError('FORMAT_UNKNOWN', 'newer')
            return engine.pop(queue, request)
          },
        }),
      },
    )
    await place.pass(1_500)
    expect(done).toEqual([['q.b', 'b']])
    await place.pass(20_000)
    stop()
    await place.in(ended)
    expect(done).toContainEqual(['q.a', 'a'])
    expect(troubles.map(({ kind }) => kind)).toEqual(['queue', 'queue', 'queue'])
  })

  it('are no longer worked once the list is refused for good, and nothing is held then.', async () => {
    const place = new Place()
    await place.pushTo('q', ...Array.from({ length: 500 }, (_, n) => n))
    let looks = 0
    const { ended } = work(
      place,
      { prefix: 'q' },
      {
        through: (engine) => ({
          async list(request) {
            if (++looks > 3) throw new QueueError('INVALID_PARAMETER', 'no')
            return engine.list(request)
          },
        }),
      },
      () => place.clock.sleep(100),
    )
    await expect(place.in(ended)).rejects.toThrow('no')
    expect((await stateOf(place, 'q')).lockedCount).toBe(0)
  })
})

describe('A stop', () => {
  it('lets the handler finish, acknowledges what it did, and holds nothing.', async () => {
    const place = new Place()
    await place.pushTo('q', 1, 2, 3)
    const slow = () => place.clock.sleep(10_000)
    const { done, stop, ended } = work(place, { queues: ['q'] }, {}, slow)
    await place.pass(2_000)
    stop()
    expect(await place.in(ended)).toMatchObject({ acknowledged: 1, released: 0 })
    expect(done).toEqual([['q', 1]])
    expect(await stateOf(place, 'q')).toEqual({ count: 2, lockedCount: 0 })
  })

  it('leaves what failed where it waits, until its time, and holds nothing.', async () => {
    const place = new Place()
    for (const queue of ['q.1', 'q.2']) await place.pushTo(queue, 'bad', 'good')
    const { stop, ended } = work(place, { prefix: 'q.' }, { lockTtlSeconds: 300 }, () => {
      throw new Error('always')
    })
    // Eight failures: a minute and more until the next.
    await place.pass(140_000)
    const waiting = { count: 2, lockedCount: 0, waitingCount: 1 }
    expect(await place.in(place.queues.inspect('q.1'))).toMatchObject(waiting)
    stop()
    await place.in(ended)
    for (const queue of ['q.1', 'q.2']) {
      expect(await place.in(place.queues.inspect(queue))).toMatchObject(waiting)
    }
  })

  it('gives back at once what nobody has tried.', async () => {
    const place = new Place()
    await place.pushTo('q', 1)
    const { stop, endGrace, ended } = work(
      place,
      { queues: ['q'] },
      { retry: { delays: ['1h'] } },
      () => new Promise(() => {}),
    )
    await place.pass(1_000)
    stop()
    endGrace()
    await place.in(ended)
    const free = { count: 1, lockedCount: 0, waitingCount: 0 }
    expect(await place.in(place.queues.inspect('q'))).toMatchObject(free)
  })

  it('lets nobody overtake what nobody has tried, although its neighbour failed and is overtaken.', async () => {
    const place = new Place()
    const { queues } = place
    // It has been delivered before, so that the two are handed to the handler one after the other.
    await place.in(queues.push('q', { items: [{ text: '"untried"', priority: 5 }] }))
    const popped = await place.in(queues.pop('q', { requireAck: true }))
    if (popped.kind !== 'items' || popped.lock === undefined) throw new Error('Nothing was locked')
    await place.in(queues.release('q', { lockId: popped.lock.id }))
    await place.pushTo('q', 'failing')
    const tried: unknown[] = []
    const working = work(
      place,
      { queues: ['q'] },
      { batchSize: 2, retry: { delays: ['1h'], overtake: true } },
      ({ value }) => {
        tried.push(value)
        working.stop()
        throw new Error('Not now')
      },
    )
    await place.in(working.ended)
    expect(tried).toEqual(['failing'])
    const oneWaits = { count: 2, lockedCount: 0, waitingCount: 1 }
    expect(await place.in(queues.inspect('q'))).toMatchObject(oneWaits)
  })

  it('does not wait for a handler that outlasts the grace, and counts that as no failure.', async () => {
    const place = new Place()
    await place.pushTo('q', 'stuck')
    const never = () => new Promise(() => {})
    const { stop, endGrace, ended, troubles } = work(
      place,
      { queues: ['q'] },
      { maxDeliveries: 1 },
      never,
    )
    await place.pass(1_000)
    stop()
    await place.pass(1_000)
    endGrace()
    expect(await place.in(ended)).toMatchObject({ acknowledged: 0, deadLettered: 0 })
    expect(await stateOf(place, 'q')).toEqual({ count: 1, lockedCount: 0 })
    expect(troubles).toEqual([])
  })

  it('that comes again and again, and waits for no handler, buries nothing: a consumer that keeps stopping.', async () => {
    const place = new Place()
    await place.pushTo('q', 'long')
    const long = () => place.clock.sleep(10_000)
    for (let stops = 0; stops < 4; stops += 1) {
      const { stop, endGrace, ended } = work(place, { queues: ['q'] }, { maxDeliveries: 1 }, long)
      await place.pass(2_000)
      stop()
      endGrace()
      await place.in(ended)
    }
    const { done, stop, ended } = work(place, { queues: ['q'] }, { maxDeliveries: 1 }, long)
    await place.pass(15_000)
    stop()
    await place.in(ended)
    expect(done).toEqual([['q', 'long']])
  })

  it('begins nothing with what a pop under way still brings, and gives that back.', async () => {
    const place = new Place()
    await place.pushTo('q', 'a')
    let stop = () => {}
    const many = work(
      place,
      { queues: ['q'] },
      {
        maxDeliveries: 1,
        through: (engine) => ({
          async pop(queue, request) {
            const popped = await engine.pop(queue, request)
            stop()
            return popped
          },
        }),
      },
    )
    stop = many.stop
    expect(await place.in(many.ended)).toMatchObject({ acknowledged: 0, deadLettered: 0 })
    expect(many.done).toEqual([])
    expect(await stateOf(place, 'q')).toEqual({ count: 1, lockedCount: 0 })
  })
})
