// What a run does with a queue: on the real engine and the simulated store, in virtual time.

import { describe, expect, it } from 'vitest'
import { QueueError } from '../../../shared/errors.ts'
import type { HandlerContext, Item } from '../../../shared/worker/run.ts'
import { Place, QUEUE } from './a-run.ts'

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)
const valuesOf = (items: readonly Item[]) => items.map(({ value }) => value)
const lost = () =>
  new QueueError('STORE_UNAVAILABLE', 'The answer was lost', { outcome: 'unknown' })

describe('A run', () => {
  it('hands over items as they were pushed, with what is known of them.', async () => {
    const place = new Place()
    const [id] = await place.push({ order: 17 })
    const seen: Item[] = []
    const contexts: HandlerContext[] = []
    const { ending, counts } = await place.run((items, context) => {
      seen.push(...items)
      contexts.push(context)
    })
    expect(ending).toBe('empty')
    expect(counts).toEqual({ batches: 1, acknowledged: 1, released: 0, deadLettered: 0 })
    expect(seen).toEqual([
      {
        value: { order: 17 },
        text: '{"order":17}',
        id,
        priority: 0,
        pushedAtMs: expect.any(Number),
        deliveries: 1,
      },
    ])
    expect(contexts[0]).toMatchObject({ queue: QUEUE, lock: { id: expect.any(String) } })
    expect(await place.count()).toBe(0)
  })

  it('acknowledges each batch with the pop of the next, in order, and ends with an empty pop.', async () => {
    const place = await Place.holding(...numbers(7))
    const batches: unknown[][] = []
    const handler = (items: readonly Item[]) => void batches.push(valuesOf(items))
    const { ending, counts } = await place.run(handler, { batchSize: 3 })
    expect(batches).toEqual([[0, 1, 2], [3, 4, 5], [6]])
    expect(place.verbs).toEqual(['browse', 'pop', 'pop', 'pop', 'pop'])
    expect([ending, counts.acknowledged]).toEqual(['empty', 7])
  })

  it('goes on after a pop that was not full: only an empty one ends it.', async () => {
    const place = await Place.holding(0)
    const seen: unknown[] = []
    await place.run(
      async (items) => {
        seen.push(...valuesOf(items))
        if (seen.length < 5) {
          await place.queues.push(QUEUE, { items: [{ text: String(seen.length) }] })
        }
      },
      { batchSize: 10 },
    )
    expect(seen).toEqual([0, 1, 2, 3, 4])
  })

  it('goes on behind expired items, however many there are.', async () => {
    const place = new Place()
    for (let push = 0; push < 11; push += 1) {
      const old = numbers(1_000).map(() => ({ text: '0', expiresInSeconds: 0 }))
      await place.in(place.queues.push(QUEUE, { items: old }))
    }
    await place.push('new')
    const seen: unknown[] = []
    const { ending } = await place.run((items) => void seen.push(...valuesOf(items)))
    expect([ending, seen]).toEqual(['empty', ['new']])
    expect(place.verbs).toEqual(['pop', 'pop', 'pop'])
  })

  it('ends without a word where somebody else has the lock of an exclusive queue.', async () => {
    const place = await Place.holding(1, 2)
    await place.in(place.queues.pop(QUEUE, { requireAck: true }))
    const { ending, counts, tookMs } = await place.run(() => {})
    expect([ending, counts.batches, tookMs]).toEqual(['locked', 0, 0])
    expect(place.logged).toEqual([])
  })

  it('ends at once on a queue that is not there.', async () => {
    const place = new Place()
    expect(await place.run(() => {}, { batchSize: 5 })).toMatchObject({ ending: 'empty' })
  })
})

describe('What fails', () => {
  it('comes back one by one after a batch that threw, so that nobody dies for another.', async () => {
    const place = await Place.holding('a', 'poison', 'b', 'c')
    const batches: unknown[][] = []
    const { ending, counts } = await place.run(
      (items) => {
        batches.push(valuesOf(items))
        if (valuesOf(items).includes('poison')) throw new Error('Not this one')
      },
      { batchSize: 3, maxDeliveries: 3 },
    )
    expect(batches).toEqual([['a', 'poison', 'b'], ['a'], ['poison'], ['poison'], ['b'], ['c']])
    expect(await place.dead()).toEqual([['"poison"', 'max_deliveries: Not this one']])
    expect(counts).toMatchObject({ acknowledged: 3, deadLettered: 1 })
    expect(ending).toBe('empty')
    expect(place.logged.filter(({ message }) => message === 'handler failed')).toHaveLength(3)
  })

  it('is dead-lettered after so many deliveries, ever later, and then the next is tried.', async () => {
    const place = await Place.holding('poison', 'next')
    const times: number[] = []
    const { ending } = await place.run(
      ([item]) => {
        if (item?.value !== 'poison') return
        times.push(place.ms)
        throw new Error('Never')
      },
      { maxDeliveries: 4 },
    )
    const pauses = times.slice(1).map((ms, i) => ms - (times[i] as number))
    for (const [i, pause] of pauses.entries()) {
      expect(pause).toBeGreaterThanOrEqual(750 * 2 ** i)
      expect(pause).toBeLessThanOrEqual(1_000 * 2 ** i)
    }
    expect(pauses).toHaveLength(3)
    expect([ending, await place.count(), await place.dead()]).toEqual([
      'empty',
      0,
      [['"poison"', 'max_deliveries: Never']],
    ])
  })

  it('before this run is taken by itself from the start.', async () => {
    const place = await Place.holding(...numbers(4))
    const popped = await place.in(place.queues.pop(QUEUE, { requireAck: true }))
    const lockId = popped.kind === 'items' ? (popped.lock?.id as string) : ''
    await place.in(place.queues.release(QUEUE, { lockId }))
    const batches: unknown[][] = []
    const handler = (items: readonly Item[]) => void batches.push(valuesOf(items))
    await place.run(handler, { batchSize: 3 })
    expect(batches).toEqual([[0], [1], [2, 3]])
  })

  it('is told item by item: what did not fail is acknowledged at once.', async () => {
    const place = new Place()
    const [, second] = await place.push('a', 'b', 'c')
    const seen: unknown[][] = []
    const run = place.start(
      async (items) => {
        seen.push(valuesOf(items))
        return seen.length === 1 ? { failed: [second as string] } : undefined
      },
      { batchSize: 3 },
    )
    await place.pass(500)
    const left = await place.count()
    await place.in(run)
    expect(left).toBe(1)
    expect(seen).toEqual([['a', 'b', 'c'], ['b']])
  })

  it('holds up those behind it on an exclusive queue, and nobody else gets it meanwhile.', async () => {
    const place = await Place.holding('first', 'second')
    const seen: unknown[] = []
    const run = place.start(([item]) => {
      seen.push(item?.value)
      if (seen.length === 1) throw new Error('Once')
    })
    await place.pass(500)
    expect(await place.in(place.queues.pop(QUEUE))).toMatchObject({ kind: 'locked' })
    await place.in(run)
    expect(seen).toEqual(['first', 'first', 'second'])
  })

  it('holds up what came with it in one lot and fails as well, item by item.', async () => {
    const place = new Place()
    const worse = [1, 2].map((value) => ({ text: String(value), priority: 5 }))
    await place.in(place.queues.push(QUEUE, { items: worse }))
    const popped = await place.in(place.queues.pop(QUEUE, { requireAck: true, count: 2 }))
    const lockId = popped.kind === 'items' ? (popped.lock?.id ?? '') : ''
    await place.in(place.queues.release(QUEUE, { lockId }))
    await place.in(place.queues.push(QUEUE, { items: [{ text: '"fresh"' }] }))
    const seen: unknown[] = []
    await place.run(
      (items) => {
        seen.push(...valuesOf(items))
        if (seen.length === 2) throw new Error('Once')
      },
      { batchSize: 10 },
    )
    expect(seen).toEqual(['fresh', 1, 1, 2])
  })

  it('too long to wait for waits in the queue, in front of the others: the run is over.', async () => {
    const place = await Place.holding('poison', 'next')
    const handler = () => {
      throw new Error('Never')
    }
    const { ending, tookMs } = await place.run(handler)
    // 1, 2 and 4 seconds are sat out, eight are not.
    expect(ending).toBe('waiting')
    expect(tookMs).toBeLessThan(7_100)
    const state = await place.in(place.queues.inspect(QUEUE, { consistent: true }))
    expect(state).toMatchObject({ waitingCount: 1, lockedCount: 0, locks: [] })
    const waitsMs = (state.blockedUntilMs ?? 0) - place.clock.nowMs()
    expect(waitsMs).toBeGreaterThan(5_000)
    expect(waitsMs).toBeLessThanOrEqual(8_000)
    expect(await place.run(() => {})).toMatchObject({ ending: 'locked' })
    await place.pass(9_000)
    // It is back by then, and the item after it.
    expect(await place.run(() => {})).toMatchObject({ ending: 'empty' })
  })

  it('for an hour costs nothing until then, and comes back with its delivery counted once.', async () => {
    const place = await Place.holding('poison')
    const deliveries: unknown[] = []
    const options = { retry: { delays: ['1m', '1h'] as const } }
    const work = () =>
      place.run(([item]) => {
        deliveries.push(item?.deliveries)
        throw new Error('Never')
      }, options)
    for (const passMs of [60_000, 3_600_000, 3_600_000]) {
      expect(await work()).toMatchObject({ ending: 'waiting', counts: { released: 1 } })
      await place.pass(passMs - 1_000)
      expect(await work()).toMatchObject({ ending: 'locked' })
      await place.pass(1_000)
    }
    expect(deliveries).toEqual([1, 2, 3])
  })

  it('is passed by the others of an exclusive queue, if they may overtake it.', async () => {
    const place = await Place.holding('poison', ...numbers(3))
    const seen: unknown[] = []
    const { ending } = await place.run(
      ([item]) => {
        seen.push(item?.value)
        if (item?.value === 'poison') throw new Error('Never')
      },
      { retry: { delays: ['1h'], overtake: true } },
    )
    expect([ending, seen]).toEqual(['empty', ['poison', ...numbers(3)]])
    expect(await place.count()).toBe(1)
  })

  it('where runs compete, lets the others pass.', async () => {
    const place = await Place.holding('poison', ...numbers(5))
    const seen: unknown[] = []
    const { ending } = await place.run(
      ([item]) => {
        seen.push(item?.value)
        if (item?.value === 'poison') throw new Error('Never')
      },
      { competing: true },
    )
    expect(ending).toBe('empty')
    expect(seen.filter((value) => value === 'poison')).toHaveLength(4)
    expect(seen.filter((value) => value !== 'poison')).toEqual(numbers(5))
    expect(await place.count()).toBe(1)
  })

  it('is dead-lettered by its reason, whatever else became of it.', async () => {
    const place = await Place.holding('a', 'b', 'c')
    await place.run(
      ([a, b], { deadLetter, release }) => {
        if (b !== undefined) {
          deadLetter(a as Item, 'no address')
          deadLetter(b.id, `no ${'x'.repeat(300)}`)
          release(a as Item)
        }
        throw new Error('And this')
      },
      { batchSize: 3, maxDeliveries: 1 },
    )
    expect(await place.dead()).toEqual([
      ['"a"', 'no address'],
      ['"b"', `no ${'x'.repeat(253)}`],
      ['"c"', 'max_deliveries: And this'],
    ])
  })

  it('with what has no text fails its item, which comes again.', async () => {
    const place = await Place.holding(1)
    const { counts } = await place.run(([item], { deadLetter }) => {
      deadLetter(item as Item, Object.create(null))
    })
    expect(counts).toMatchObject({ acknowledged: 0, deadLettered: 0 })
    expect(await place.count()).toBe(1)
  })

  it('by a mistake in the handler is never acknowledged.', async () => {
    const mistakes = [
      () => ({ failed: ['nonsense'] }),
      () => ({ failed: 'x' as never }),
      (_: unknown, { deadLetter }: HandlerContext) => deadLetter('nonsense', 'why'),
    ]
    for (const mistake of mistakes) {
      const place = await Place.holding(1)
      const { counts } = await place.run(mistake)
      expect(counts.acknowledged).toBe(0)
      expect(await place.count()).toBe(1)
    }
  })

  it.each<[string, (ids: readonly string[]) => unknown]>([
    ['a list of ids', (ids) => ids.slice(1)],
    ['a list of items', (ids) => ids.slice(1).map((id) => ({ id, value: 2 }))],
    [
      'what a handler of SQS returns',
      (ids) => ({ batchItemFailures: [{ itemIdentifier: ids[1] }] }),
    ],
    ['what a handler of SQS returns if all is well', () => ({ batchItemFailures: [] })],
  ])(
    'that a handler in JavaScript names in %s is not lost: the batch fails, and the log says what to return.',
    async (_, result) => {
      const place = await Place.holding(1, 2)
      const { counts } = await place.run((items) => result(items.map(({ id }) => id)) as never, {
        batchSize: 2,
        retry: { delays: ['1h'] },
      })
      expect(counts).toMatchObject({ acknowledged: 0, released: 2 })
      expect(await place.count()).toBe(2)
      expect(JSON.stringify(place.logged)).toContain('{ failed: [id, …] }')
    },
  )

  it('is done if the handler returns what says nothing about items: results, or nothing.', async () => {
    for (const result of [[undefined, { status: 200 }], [], 'done', { sent: 2 }, null]) {
      const place = await Place.holding(1, 2)
      const { counts } = await place.run(() => result as never, { batchSize: 2 })
      expect(counts).toMatchObject({ batches: 1, acknowledged: 2 })
    }
  })

  it('of a handler that throws what nobody can look at comes again, and the run goes on.', async () => {
    const hostile = new Proxy(new Error('no'), {
      get() {
        throw new TypeError('Do not look')
      },
      getPrototypeOf() {
        throw new TypeError('Do not look')
      },
    })
    const place = await Place.holding('hostile', 'next')
    const seen: unknown[] = []
    const { counts } = await place.run((items) => {
      seen.push(...valuesOf(items))
      if (seen.length === 1) throw hostile
    })
    expect(seen).toEqual(['hostile', 'hostile', 'next'])
    expect(counts).toMatchObject({ acknowledged: 2, released: 1 })
    expect(JSON.stringify(place.logged)).toContain('a value that throws when it is read')
  })

  it('that fails for the last time takes the error along, as far as a reason has room.', async () => {
    const place = await Place.holding('poison', 'long', 'nothing')
    await place.run(
      ([first]) => {
        if (first?.value === 'poison') throw new TypeError('card declined')
        if (first?.value === 'long') throw new Error('x'.repeat(1_000))
        throw undefined
      },
      { maxDeliveries: 1 },
    )
    expect(await place.dead()).toEqual([
      ['"poison"', 'max_deliveries: card declined'],
      ['"long"', `max_deliveries: ${'x'.repeat(256 - 'max_deliveries: '.length)}`],
      ['"nothing"', 'max_deliveries'],
    ])
  })

  it('by a process that died is dead-lettered without another try, once it died often enough.', async () => {
    const place = await Place.holding('deadly', 'next')
    for (let death = 1; death <= 3; death += 1) {
      await place.in(place.queues.pop(QUEUE, { requireAck: true, ttlSeconds: 1 }))
      await place.pass(2_000)
    }
    const seen: unknown[] = []
    await place.run((items) => void seen.push(...valuesOf(items)), { maxDeliveries: 3 })
    expect(seen).toEqual(['next'])
    expect(await place.dead()).toEqual([['"deadly"', 'max_deliveries']])
  })

  it('on a dead-letter queue stays there: it has none of its own.', async () => {
    const place = new Place()
    const queue = `${QUEUE}-deadletter`
    await place.in(place.queues.push(queue, { items: [{ text: '1' }] }))
    const handler = (items: readonly Item[], { deadLetter }: HandlerContext) =>
      deadLetter(items[0] as Item, 'again')
    const { ending, counts } = await place.run(handler, { queue, maxDeliveries: 1 })
    // It is tried ever later, as on a queue without a limit.
    expect([ending, counts.batches]).toEqual(['waiting', 4])
    expect(counts).toMatchObject({ acknowledged: 0, deadLettered: 0 })
    expect(await place.count(queue)).toBe(1)
  })
})

describe('The lock', () => {
  it('is extended while the handler works, past its life.', async () => {
    const place = await Place.holding(1)
    const handler = () => place.clock.sleep(40_000)
    const run = place.start(handler, { lockTtlSeconds: 10, timeoutMs: 300_000 })
    for (let s = 0; s < 39; s += 3) {
      await place.pass(3_000)
      expect(await place.in(place.queues.pop(QUEUE))).toMatchObject({ kind: 'locked' })
    }
    expect(await place.in(run)).toMatchObject({ ending: 'empty', counts: { acknowledged: 1 } })
    expect(place.verbs.filter((verb) => verb === 'extend')).toHaveLength(9)
  })

  it('is extended soon again where an extension fails.', async () => {
    const place = await Place.holding(1)
    let failures = 0
    const run = place.start(() => place.clock.sleep(20_000), {
      lockTtlSeconds: 10,
      through: ({ extend }) => ({
        extend: (queue, request) => {
          failures += 1
          return failures % 2 === 1 ? Promise.reject(lost()) : extend(queue, request)
        },
      }),
    })
    expect(await place.in(run)).toMatchObject({ counts: { acknowledged: 1 } })
  })

  it('is extended again if no answer comes, before its life is over.', async () => {
    const place = await Place.holding(1)
    const silent = async () => {
      await place.clock.sleep(20_000)
      throw lost()
    }
    const run = place.start(() => place.clock.sleep(15_000), {
      lockTtlSeconds: 10,
      through: ({ extend }) => {
        let calls = 0
        return { extend: (queue, request) => (calls++ === 0 ? silent() : extend(queue, request)) }
      },
    })
    expect(await place.in(run)).toMatchObject({ counts: { acknowledged: 1 } })
    const { counts } = await place.in(run)
    expect(counts.batches).toBe(1)
    expect(place.logged).toContainEqual(
      expect.objectContaining({
        message: 'lock not extended yet',
        error: expect.objectContaining({
          name: 'QueueError',
          message: 'No answer came within 2000 ms',
        }),
      }),
    )
  })

  it('that was over when its pop was answered is not worked on.', async () => {
    const place = await Place.holding(1)
    const deliveries: number[] = []
    let late = true
    const handler = (items: readonly Item[]) => void deliveries.push(items[0]?.deliveries ?? 0)
    const { ending } = await place.run(handler, {
      lockTtlSeconds: 5,
      through: ({ pop }) => ({
        pop: async (queue, request) => {
          const popped = await pop(queue, request)
          if (late) await place.clock.sleep(6_000)
          late = false
          return popped
        },
      }),
    })
    expect([ending, deliveries]).toEqual(['empty', [2]])
  })

  it('is not extended any more once the run itself has broken.', async () => {
    const place = await Place.holding(1)
    place.logged.push = () => {
      throw new Error('The log is full')
    }
    const { error } = await place.run(() => {
      throw new Error('Once')
    })
    expect(error).toMatchObject({ message: 'The log is full' })
    place.verbs.length = 0
    await place.pass(60_000)
    expect(place.verbs).toEqual([])
  })

  it('that is lost aborts the signal, and its items come again.', async () => {
    const place = await Place.holding(1)
    const aborted: boolean[] = []
    const run = place.start(
      async (_, { signal }) => {
        await place.clock.sleep(6_000)
        aborted.push(signal.aborted)
      },
      {
        lockTtlSeconds: 10,
        through: ({ extend }) => ({
          extend: async (queue, request) => {
            if (aborted.length === 0) await place.queues.release(queue, request)
            return extend(queue, request)
          },
        }),
      },
    )
    expect(await place.in(run)).toMatchObject({ ending: 'empty', counts: { acknowledged: 1 } })
    expect(aborted).toEqual([true, false])
    // Nothing is asked of a lock that is known to be over.
    const settling = ['acknowledge', 'release', 'deadLetter']
    expect(place.verbs.filter((verb) => settling.includes(verb))).toEqual([])
  })

  it('is found again if the answer that told of it was lost.', async () => {
    const place = await Place.holding(1, 2)
    let lose = 2
    const seen: unknown[] = []
    const { ending } = await place.run((items) => void seen.push(...valuesOf(items)), {
      through: ({ pop }) => ({
        pop: async (queue, request) => {
          const popped = await pop(queue, request)
          lose -= 1
          if (lose >= 0) throw lost()
          return popped
        },
      }),
    })
    expect([seen, ending]).toEqual([[1, 2], 'empty'])
  })

  it('that is found again late is given up: its life began with the first sending.', async () => {
    const place = await Place.holding(1)
    let lose = 2
    const seen: unknown[] = []
    const { ending } = await place.run((items) => void seen.push(...valuesOf(items)), {
      lockTtlSeconds: 5,
      through: ({ pop }) => ({
        pop: async (queue, request) => {
          const popped = await pop(queue, request)
          lose -= 1
          if (lose < 0) return popped
          await place.clock.sleep(2_400)
          throw lost()
        },
      }),
    })
    // By the time it is told of its lock, that has ended, or is about to.
    expect([seen, ending]).toEqual([[], 'locked'])
  })

  it('is acknowledged by itself if the pop that should have done it failed.', async () => {
    const place = await Place.holding(1, 2)
    let pops = 0
    const seen: unknown[] = []
    const { counts } = await place.run((items) => void seen.push(...valuesOf(items)), {
      through: ({ pop }) => ({
        pop: (queue, request) => {
          pops += 1
          return pops === 2 ? Promise.reject(new QueueError('BUSY', 'Busy')) : pop(queue, request)
        },
      }),
    })
    expect([seen, counts.acknowledged]).toEqual([[1, 2], 2])
    expect(place.verbs).toEqual(['pop', 'pop', 'acknowledge', 'pop', 'pop'])
  })
})

describe('Trouble', () => {
  it('that passes is sat out, and that does not fails the run, which is repeated.', async () => {
    const place = await Place.holding(1)
    const busy = () => ({ pop: () => Promise.reject(new QueueError('BUSY', 'Busy')) })
    const { error, tookMs } = await place.run(() => {}, { through: busy })
    expect(error).toMatchObject({ code: 'BUSY' })
    expect(tookMs).toBeGreaterThan(2_000)
    expect(await place.run(() => {})).toMatchObject({ ending: 'empty' })
  })

  it('with the first look only makes it careful.', async () => {
    const place = await Place.holding(1, 2, 3)
    const batches: unknown[][] = []
    const handler = (items: readonly Item[]) => void batches.push(valuesOf(items))
    const blind = () => ({ browse: () => Promise.reject(new QueueError('BUSY', 'Busy')) })
    await place.run(handler, { batchSize: 2, through: blind })
    expect(batches).toEqual([[1], [2, 3]])
  })

  it('of a run that fails leaves no lock that is extended for nobody.', async () => {
    const place = new Place()
    const [first] = await place.push(1, 2)
    const { error } = await place.run(() => ({ failed: [first as string] }), {
      batchSize: 2,
      through: () => ({ acknowledge: () => Promise.reject(new Error('AccessDenied')) }),
    })
    expect(String(error)).toBe('Error: AccessDenied')
    await place.pass(60_000)
    expect(place.verbs).not.toContain('extend')
  })

  it('of another kind fails the run at once.', async () => {
    const place = new Place()
    const denied = () => ({ pop: () => Promise.reject(new Error('AccessDenied')) })
    const { error, tookMs } = await place.run(() => {}, { through: denied })
    expect([String(error), tookMs]).toEqual(['Error: AccessDenied', 0])
  })

  it('with too many items in locks ends the run: some of them come back.', async () => {
    const place = await Place.holding(1)
    const crowded = () => ({
      pop: () => Promise.reject(new QueueError('TOO_MANY_LOCKS', '2,000 are in flight')),
    })
    const { ending } = await place.run(() => {}, { competing: true, through: crowded })
    expect(ending).toBe('crowded')
  })
})

describe('The end of the time', () => {
  it('lets go of the lock and calls the next run, which would find it otherwise.', async () => {
    const place = await Place.holding(...numbers(20))
    const seen: unknown[] = []
    const handler = async (items: readonly Item[]) => {
      seen.push(...valuesOf(items))
      await place.clock.sleep(1_000)
    }
    const { ending, tookMs } = await place.run(handler, { timeoutMs: 10_000 })
    expect([ending, place.called]).toEqual(['continued', [QUEUE]])
    expect(place.verbs.slice(-2)).toEqual(['acknowledge', 'callNext'])
    expect(tookMs).toBeLessThanOrEqual(8_000)
    expect(seen).toEqual(numbers(seen.length))
    expect(await place.count()).toBe(20 - seen.length)
  })

  it('takes nothing more that may not be finished: a handler may take longer than ever before.', async () => {
    const place = await Place.holding(1, 2, 3)
    const { ending, counts } = await place.run(() => place.clock.sleep(12_000), {
      timeoutMs: 30_000,
    })
    expect([ending, counts.batches]).toEqual(['continued', 1])
  })

  it('is told to the handler; what it has done by then counts.', async () => {
    const place = await Place.holding(1, 2, 3)
    let told: [signal: boolean, remainingMs: number] | undefined
    const { ending, counts } = await place.run(
      async (items, { signal, remainingMs }) => {
        const left: string[] = []
        for (const { id } of items) {
          await place.clock.sleep(5_000, signal)
          if (signal.aborted) left.push(id)
        }
        told = [signal.aborted, remainingMs()]
        return { failed: left }
      },
      { timeoutMs: 10_000, batchSize: 3 },
    )
    expect(told).toEqual([true, 0])
    expect(counts).toMatchObject({ acknowledged: 1, released: 2 })
    // Their wait is longer than what is left of the time.
    expect(ending).toBe('waiting')
  })

  it('is not the end of a handler that does not hear: nobody gets its items while it works.', async () => {
    const place = await Place.holding(1)
    let ended = false
    const run = place.start(() => new Promise(() => {}), { timeoutMs: 20_000, lockTtlSeconds: 5 })
    run.then(() => {
      ended = true
    })
    await place.pass(20_000)
    expect(ended).toBe(false)
    // The platform ends the process here. Until now the lock was alive, and soon it is over.
    expect(await place.in(place.queues.pop(QUEUE))).toMatchObject({ kind: 'locked' })
    await place.pass(3_000)
    expect(await place.in(place.queues.pop(QUEUE))).toMatchObject({ kind: 'items' })
    expect(place.logged).toContainEqual(
      expect.objectContaining({
        message: 'handler runs into the time limit of its function',
        queue: QUEUE,
      }),
    )
    expect(place.called).toEqual([])
  })

  it('fails the run if the next cannot be called; what is done is acknowledged.', async () => {
    const place = await Place.holding(1, 2)
    const { error, counts } = await place.run(() => place.clock.sleep(7_000), {
      timeoutMs: 10_000,
      callNext: () => Promise.reject(new Error('No bus')),
    })
    expect([String(error), counts.acknowledged]).toEqual(['Error: No bus', 1])
    expect(await place.count()).toBe(1)
  })

  it('that is over before it began says what to do.', async () => {
    const place = new Place()
    const { error } = await place.run(() => {}, { timeoutMs: 2_000 })
    expect(String(error)).toContain('give it a longer timeout')
    expect(place.called).toEqual([])
  })
})

describe('Several locks at once', () => {
  it('are worked at the same time, each item once, and only if there is enough.', async () => {
    const place = await Place.holding(...numbers(40))
    let atOnce = 0
    let most = 0
    const seen: unknown[] = []
    const { ending, tookMs } = await place.run(
      async (items) => {
        most = Math.max(most, ++atOnce)
        await place.clock.sleep(100)
        seen.push(...valuesOf(items))
        atOnce -= 1
      },
      { locks: 4, batchSize: 2 },
    )
    expect([ending, most]).toEqual(['empty', 4])
    expect(seen.toSorted((a, b) => Number(a) - Number(b))).toEqual(numbers(40))
    expect(tookMs).toBeLessThan(40 * 50)
    const few = new Place()
    await few.push(1)
    await few.run(() => {}, { locks: 50, batchSize: 10 })
    expect(few.verbs.filter((verb) => verb === 'pop')).toHaveLength(2)
  })

  it('call one next run for all.', async () => {
    const place = await Place.holding(...numbers(50))
    const { ending } = await place.run(() => place.clock.sleep(3_000), {
      locks: 3,
      timeoutMs: 10_000,
    })
    expect([ending, place.called]).toEqual(['continued', [QUEUE]])
    expect(await place.count()).toBe(50 - 6)
  })
})

describe('A queue with a pop limit', () => {
  const limitTo = (place: Place, maxRequests: number, windowMillis: number) =>
    place.in(place.queues.configure(QUEUE, { popLimit: { maxRequests, windowMillis } }))

  it('is worked at its pace, to its end, by one run: each wait is for the next window.', async () => {
    const place = new Place()
    await limitTo(place, 2, 1_000)
    await place.push(...numbers(7))
    const seen: [value: unknown, window: number][] = []
    const { ending, counts, tookMs } = await place.run(
      (items) => {
        for (const { value } of items) seen.push([value, Math.floor(place.ms / 1_000)])
      },
      { batchSize: 1 },
    )
    expect(seen).toEqual(numbers(7).map((n) => [n, Math.floor(n / 2)]))
    expect([ending, counts.acknowledged]).toEqual(['empty', 7])
    expect(tookMs).toBeGreaterThanOrEqual(3_000)
    // A limit is no trouble.
    expect(place.logged).toEqual([])
  })

  it('acknowledges what is done before it waits, however long that is.', async () => {
    const place = new Place()
    await limitTo(place, 1, 60_000)
    await place.push(...numbers(2))
    const options = { batchSize: 1, lockTtlSeconds: 5, timeoutMs: 300_000 }
    const run = place.start(() => {}, options)
    await place.pass(10_000)
    expect(await place.count()).toBe(1)
    expect(await place.in(run)).toMatchObject({ ending: 'empty' })
  })

  it('goes on in the next run if the window is longer than this one.', async () => {
    const place = new Place()
    await limitTo(place, 1, 3_600_000)
    await place.push(...numbers(2))
    const { ending, counts, tookMs } = await place.run(() => {}, {
      batchSize: 1,
      timeoutMs: 60_000,
    })
    expect([ending, counts.acknowledged]).toEqual(['continued', 1])
    expect(place.called).toEqual([QUEUE])
    // It has slept, and not asked over and over.
    expect(tookMs).toBeGreaterThanOrEqual(55_000)
    expect(place.verbs.filter((verb) => verb === 'pop').length).toBeLessThanOrEqual(3)
  })
})
