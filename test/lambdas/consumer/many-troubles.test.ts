// Many queues while something goes wrong for long: lost answers, handlers that never end, a list that fails.

import { describe, expect, it } from 'vitest'
import { late } from '../../../lambdas/consumer/run-queue.ts'
import { QueueError } from '../../../shared/errors.ts'
import { systemClock } from '../../../shared/system.ts'
import { consumeManyWith } from '../../../shared/worker/many.ts'
import type { Handler } from '../../../shared/worker/run.ts'
import { type List, lookerOf } from '../../../shared/worker/which-queues.ts'
import { Place } from './a-run.ts'

const never = () => new Promise<never>(() => {})
const lost = () => new QueueError('STORE_UNAVAILABLE', 'lost', { outcome: 'unknown' })

const stateOf = async (place: Place, queue: string) => {
  const { count, lockedCount } = await place.in(place.queues.inspect(queue, { consistent: true }))
  return { count, lockedCount }
}

/** Pages 0 to `pages` - 1, of one queue each; `fails` says which look fails. */
function pagesThat(pages: number, fails: (page: number, look: number) => Error | undefined) {
  let looks = 0
  const seen = new Array<number>(pages).fill(0)
  const look = lookerOf(
    async ({ cursor }) => {
      const page = Number(cursor ?? 0)
      const error = fails(page, looks++)
      if (error !== undefined) throw error
      seen[page] = (seen[page] ?? 0) + 1
      return {
        queues: [{ queue: `q${page}`, count: 1 }],
        ...(page + 1 < pages && { cursor: String(page + 1) }),
      }
    },
    { prefix: 'q' },
  )
  return { look: () => look().catch((error: unknown) => error), seen }
}

/** Looks at queues as the service lists them; it fails for pages with one that `isBad`, unless that is alone there. */
function looker(names: readonly string[], isBad: (name: string) => boolean) {
  const list: List = async ({ prefix = '', limit = 100, cursor = '' }) => {
    const found = names.filter((name) => name.startsWith(prefix) && name > cursor)
    const page = found.slice(0, limit)
    if (page.some(isBad) && limit > 1) throw lost()
    const queues = page.map((queue) => (isBad(queue) ? { queue } : { queue, count: 1 }))
    return { queues, cursor: found.length > limit ? page.at(-1) : undefined }
  }
  return { look: lookerOf(list, { prefix: 'q.' }) }
}

/** How often each was seen. */
async function looksAt(names: readonly string[], bad: readonly string[], looks: number) {
  const { look } = looker(names, (name) => bad.includes(name))
  const seen = new Map<string, number>()
  for (let n = 0; n < looks; n += 1) {
    const { standings } = await look().catch(() => ({ standings: [] }))
    for (const { queue } of standings) seen.set(queue, (seen.get(queue) ?? 0) + 1)
  }
  return seen
}

it('A gateway that throttles pops, and does not say for how long, is not asked at once again.', async () => {
  const place = new Place()
  await place.pushTo('q.a', 'a')
  let pops = 0
  const pop = async () => {
    pops += 1
    throw new QueueError('RATE_LIMITED', 'Too many requests')
  }
  const many = place.many({ prefix: 'q.' }, () => {}, { through: () => ({ pop }) })
  await place.pass(10_000)
  many.stop()
  await place.in(many.ended)
  expect(pops).toBeGreaterThan(3)
  expect(pops).toBeLessThan(15)
  pops = 0
  await place.pushTo('orders', 'a')
  const run = await place.run(() => {}, { through: () => ({ pop }) })
  expect(run.error).toMatchObject({ code: 'RATE_LIMITED' })
  expect(pops).toBe(6)
})

describe('A look', () => {
  it('that fails now and then does not hide the pages behind it.', async () => {
    const { look, seen } = pagesThat(100, (_, nth) => (nth % 20 === 7 ? lost() : undefined))
    for (let n = 0; n < 2_000; n += 1) await look()
    expect(Math.min(...seen)).toBe(19)
    expect(Math.max(...seen)).toBe(19)
  })

  describe.each([
    ['the first', ['q.000']],
    ['one in the middle', ['q.137']],
    ['the last', ['q.299']],
    ['a hundred in a row', Array.from({ length: 100 }, (_, n) => `q.${110 + n}`)],
  ])('at a page that always fails because of %s', (_, bad) => {
    it('hides none of the others, whether they are before or behind it.', async () => {
      const names = Array.from({ length: 300 }, (_, n) => `q.${String(n).padStart(3, '0')}`)
      const rounds = await looksAt(names, bad, 1_000)
      const missed = names.filter((name) => !bad.includes(name) && (rounds.get(name) ?? 0) < 3)
      expect(missed).toEqual([])
      expect(bad.filter((name) => rounds.has(name))).toEqual([])
    })
  })

  it('tells of a queue that makes pages fail, when it has passed it.', async () => {
    const { look } = looker(['q.1', 'q.2'], (name) => name === 'q.1')
    const told: unknown[] = []
    for (let n = 0; n < 8; n += 1) told.push(await look().catch((error: Error) => error.message))
    // Five requests find it, the sixth gets past it, and the next has the queue behind it.
    expect(told.slice(0, 6)).toEqual(Array.from({ length: 6 }, () => 'lost'))
    expect(told[6]).toEqual({ standings: [{ queue: 'q.2', count: 1 }], endsRound: true })
  })

  it('at pages that all fail begins again and again, and goes on when they come.', async () => {
    let works = false
    const page = { queues: [{ queue: 'q.1', count: 1 }] }
    const asked: (string | undefined)[] = []
    const list: List = async ({ cursor }) => {
      asked.push(cursor)
      if (!works) throw lost()
      return page
    }
    const look = lookerOf(list, { prefix: 'q.' })
    for (let n = 0; n < 100; n += 1) await expect(look()).rejects.toThrow('lost')
    works = true
    expect(await look()).toEqual({ standings: page.queues, endsRound: true })
    expect(new Set(asked)).toEqual(new Set([undefined]))
  })

  it('begins again if the cursor is refused, and fails only if the first page is.', async () => {
    const no = new QueueError('INVALID_PARAMETER', 'cursor must be one that an earlier page gave')
    let refused = 1
    const { look } = pagesThat(2, (page) => (page >= refused ? no : undefined))
    expect(await look()).toMatchObject({ endsRound: false })
    expect(await look()).toEqual({ standings: [], endsRound: true })
    expect(await look()).toMatchObject({ standings: [{ queue: 'q0' }] })
    refused = 0
    expect(await look()).toMatchObject({ standings: [] })
    expect(await look()).toBe(no)
  })
})

it('Idle queues on several pages are all seen again after one pause of `idleMsMax`.', async () => {
  const place = new Place()
  const names = Array.from({ length: 300 }, (_, n) => `q.${String(n).padStart(3, '0')}`)
  for (const name of names) await place.in(place.queues.configure(name, { maxDeliveries: 5 }))
  const tookMs: number[] = []
  let pushedMs = 0
  const handler = () => void tookMs.push(place.ms - pushedMs)
  const many = place.many({ prefix: 'q.' }, handler, { idleMsMax: 20_000 })
  for (const name of ['q.001', 'q.150', 'q.299']) {
    await place.pass(200_000)
    pushedMs = place.ms
    await place.pushTo(name, 1)
    await place.pass(60_000)
  }
  many.stop()
  await place.in(many.ended)
  expect(tookMs).toHaveLength(3)
  expect(Math.max(...tookMs)).toBeLessThan(22_000)
})

describe('A pop whose answer was lost', () => {
  /** The first pop takes the items, and its answer is lost after three seconds; then come other errors. */
  const losing = (place: Place, ...then: Error[]) => {
    const errors = [lost(), ...then]
    return (engine: Place['queues']) => ({
      async pop(...args: Parameters<Place['queues']['pop']>) {
        const error = args[0] === 'q.a' ? errors.shift() : undefined
        if (error === undefined || error.message === 'lost') {
          const popped = await engine.pop(...args)
          if (error === undefined) return popped
          await place.clock.sleep(3_000)
        }
        throw error
      },
    })
  }

  it.each([
    ['', []],
    [' and repeated in vain', [new QueueError('BUSY', 'busy'), lost()]],
  ])('is repeated under its key%s, although others wait for their turn.', async (_, then) => {
    const place = new Place()
    await place.pushTo('q.a', 'a')
    const done: [string, number][] = []
    const options = { queuesAtOnce: 1, lockTtlSeconds: 300, through: losing(place, ...then) }
    const many = place.many(
      { prefix: 'q.' },
      (items, { queue }) => void done.push([queue, items[0]?.deliveries ?? 0]),
      options,
    )
    await place.pass(700)
    await place.pushTo('q.b', 'b')
    await place.pass(20_000)
    many.stop()
    await place.in(many.ended)
    expect(done).toEqual([
      ['q.a', 1],
      ['q.b', 1],
    ])
  })

  it('is repeated once the limit of its queue allows that, if its lock may live until then.', async () => {
    const place = new Place()
    await place.pushTo('q.a', 'a')
    const popLimit = { maxRequests: 1, windowMillis: 10_000 }
    await place.in(place.queues.configure('q.a', { popLimit }))
    const deliveries: number[] = []
    const handler: Handler = (items) => void deliveries.push(items[0]?.deliveries ?? 0)
    const many = place.many({ prefix: 'q.' }, handler, { through: losing(place) })
    await place.pass(60_000)
    many.stop()
    await place.in(many.ended)
    expect(deliveries).toEqual([1])
  })

  it('is not repeated after a limit that lasts longer than its lock, and holds up no other queue.', async () => {
    const place = new Place()
    await place.pushTo('q.a', 'a')
    const popLimit = { maxRequests: 1, windowMillis: 3_600_000 }
    await place.in(place.queues.configure('q.a', { popLimit }))
    const done: string[] = []
    const handler: Handler = (_, { queue }) => void done.push(queue)
    const options = { queuesAtOnce: 1, through: losing(place) }
    const many = place.many({ prefix: 'q.' }, handler, options)
    await place.pass(5_000)
    await place.pushTo('q.b', 'b')
    await place.pass(5_000)
    expect(done).toEqual(['q.b'])
    many.stop()
    await place.in(many.ended)
  })

  it('is repeated after a stop too, to give back what it took.', async () => {
    const place = new Place()
    await place.pushTo('q.a', 'a')
    const options = { lockTtlSeconds: 300, through: losing(place) }
    let isHandled = false
    const handler = () => {
      isHandled = true
    }
    const many = place.many({ prefix: 'q.' }, handler, options)
    await place.pass(1_000)
    many.stop()
    expect(await place.in(many.ended)).toMatchObject({ acknowledged: 0, released: 1 })
    expect(isHandled).toBe(false)
    expect(await stateOf(place, 'q.a')).toEqual({ count: 1, lockedCount: 0 })
  })
})

describe('A handler that never ends', () => {
  it('is told of after five minutes, while its lock lives.', async () => {
    const place = new Place()
    await place.pushTo('q', 'stuck')
    const many = place.many({ queues: ['q'] }, never)
    await place.pass(299_000)
    expect(many.troubles).toEqual([])
    await place.pass(3_000)
    expect(many.troubles).toMatchObject([{ kind: 'handler-late', queue: 'q' }])
    expect(await stateOf(place, 'q')).toEqual({ count: 1, lockedCount: 1 })
    many.stop()
    many.endGrace()
    await place.in(many.ended)
  })

  it('does not outlast the grace that begins when the list is refused for good.', async () => {
    const place = await Place.holding('stuck')
    let isHandled = false
    const ended = consumeManyWith(
      {
        queues: place.queues,
        async list() {
          if (isHandled) throw new QueueError('INVALID_PARAMETER', 'forbidden')
          return { queues: [{ queue: 'orders', count: 1 }] }
        },
        clock: systemClock,
        random: Math.random,
        newKey: () => 'a-key-of-22-characters',
        late,
      },
      { prefix: '' },
      () => {
        isHandled = true
        return never()
      },
      { graceMs: 10 },
    )
    await expect(ended).rejects.toThrow('forbidden')
  })
})

describe('Credentials that cannot be had for a moment', () => {
  const unsigned = () => Object.assign(new Error('away'), { name: 'CredentialsProviderError' })

  it('end no work on the table: neither the looks, nor a queue, nor its acknowledgement.', async () => {
    const place = new Place()
    await place.pushTo('q', 1)
    const failing = new Set(['list', 'pop', 'acknowledge'])
    const failsOnce = (verb: string) => {
      if (failing.delete(verb)) throw unsigned()
    }
    let handled = 0
    const count = () => {
      handled += 1
    }
    const many = place.many({ queues: ['q'] }, count, {
      through: (engine) => ({
        async list(request) {
          failsOnce('list')
          return engine.list(request)
        },
        async pop(queue, request) {
          failsOnce(request?.acknowledge === undefined ? 'pop' : 'acknowledge')
          return engine.pop(queue, request)
        },
      }),
    })
    await place.pass(20_000)
    many.stop()
    expect(await place.in(many.ended)).toMatchObject({ acknowledged: 1, released: 0 })
    expect([handled, [...failing]]).toEqual([1, []])
    expect(many.troubles.map(({ kind }) => kind)).toEqual(['look', 'request', 'request'])
  })
})

describe('A stop', () => {
  it('does not wait for a look that hangs.', async () => {
    const place = new Place()
    const many = place.many({ prefix: 'q.' }, never, { through: () => ({ list: never }) })
    await place.pass(1_000)
    many.stop()
    await place.in(many.ended)
  })

  it('repeats nothing once the grace is over.', async () => {
    const place = new Place()
    await place.pushTo('q', 1)
    let tries = 0
    const many = place.many({ queues: ['q'] }, () => place.clock.sleep(2_000), {
      through: () => ({
        async acknowledge() {
          tries += 1
          await place.clock.sleep(31_000)
          throw lost()
        },
      }),
    })
    await place.pass(1_000)
    many.stop()
    await place.pass(2_000)
    many.endGrace()
    await place.in(many.ended)
    expect(tries).toBe(1)
  })
})
