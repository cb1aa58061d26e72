import { describe, expect, it } from 'vitest'
import { escapedBytes } from '../../../engine/core/item.ts'
import { ANSWER_BYTES_MAX, MARKS_KEPT } from '../../../engine/core/limits.ts'
import { earliestExpiryMs } from '../../../engine/core/locks.ts'
import type { Queues } from '../../../engine/queues.ts'
import { deadLetterQueueOf } from '../../../shared/bounds.ts'
import {
  type EngineOnWire,
  holding,
  onSimulated,
  openSimulated,
  type Stage,
} from '../../engine/stage.ts'
import {
  bulky,
  drain,
  lockItems,
  named,
  popItems,
  push,
  pushOneByOne,
  textsOf,
  tidy,
} from '../../engine/traffic.ts'
import { freezeAt, type Request, timedOut } from '../../engine/wire.ts'

/**
 * Races that random histories meet too seldom to rely on: a process is stopped right before the one
 * write that matters, another acts, and the write must notice.
 */

const bulk = (name: string, count: number) =>
  Array.from({ length: count }, (_, n) => ({ text: bulky(`${name}-${n}`, 300) }))

/** `act`, stopped right before its first write to a record (or another request) while `meanwhile` runs. */
async function raced<T>(
  queues: EngineOnWire,
  act: () => Promise<T>,
  meanwhile: () => Promise<unknown>,
  isIt: (request: Request) => boolean = isWrite,
): Promise<T> {
  const frozen = freezeAt(1)
  let found = 0
  queues.wire.steering = {
    before: (request) => {
      if (!isIt(request)) return undefined
      found += 1
      return frozen.before?.(request, found)
    },
  }
  const acting = act()
  const missed = acting.then(() => {
    throw new Error('The request to stop at was never sent')
  })
  await Promise.race([frozen.reached, missed])
  await meanwhile()
  frozen.thaw()
  return await acting
}

/** `act`, whose first write to a record is made, and its answer lost while `meanwhile` runs. */
async function unanswered<T>(
  queues: EngineOnWire,
  act: () => Promise<T>,
  meanwhile: () => Promise<unknown>,
): Promise<T> {
  let writes = 0
  queues.wire.steering = {
    after: async (request) => {
      if (!isWrite(request)) return
      writes += 1
      if (writes > 1) return
      await meanwhile()
      throw timedOut()
    },
  }
  return await act()
}

const isWrite = ({ name }: Request): boolean => /^(Update|TransactWrite|Delete)Command/.test(name)

const oneEach = (name: string, lanes: number, from = 0) =>
  Array.from({ length: lanes }, (_, index) => ({
    text: `"${name}${from + index}"`,
    priority: from + index,
  }))

/** An engine that has seen the record as it is now. */
async function warm(stage: Stage, queue: string): Promise<EngineOnWire> {
  const queues = stage.engine()
  await queues.configuration(queue)
  return queues
}

/** Lets the sweeper forget an empty queue. */
async function forget(stage: Stage, queue: string): Promise<void> {
  for (let minute = 0; minute < 12; minute += 1) {
    stage.clock.pass(60_000)
    await stage.engine().returnExpiredLocks()
  }
  expect(await stage.stored(queue)).toBeUndefined()
}

describe('A push to more lanes than an expression can name, overtaken by', () => {
  /** What another does meanwhile; the texts that are in the queue since, or not any more. */
  type Other = (queues: Queues, queue: string) => Promise<{ came?: string[]; went?: string[] }>
  const pushedTo = (priority: number): Other => {
    return async (queues, queue) => {
      await push(queues, queue, named('b', 1, priority))
      return { came: ['"b0"'] }
    }
  }
  const others: readonly [string, Other][] = [
    ['an append', pushedTo(3)],
    ['a new lane', pushedTo(500)],
    [
      'a pop',
      async (queues, queue) => {
        const { items } = await popItems(queues, queue, { count: 2, competing: true })
        return { went: textsOf(items) }
      },
    ],
    [
      'a claim',
      async (queues, queue) => {
        await lockItems(queues, queue, { competing: true, ttlSeconds: 300 })
        return {}
      },
    ],
  ]
  it.each(others)('%s, loses nothing and brings nothing back.', async (_, other) => {
    const { stage, queue } = onSimulated()
    const first = [...oneEach('a', 50), ...named('c', 3)]
    await push(stage.engine(), queue, first)
    // A lock that lives, so that a claim may follow it.
    await lockItems(stage.engine(), queue, { competing: true, ttlSeconds: 200 })
    const [late, early] = [await warm(stage, queue), await warm(stage, queue)]
    const texts = new Set(textsOf([...first, ...oneEach('d', 50)]))
    const act = () => push(late, queue, oneEach('d', 50))
    await raced(late, act, async () => {
      const { came = [], went = [] } = await other(early, queue)
      for (const text of came) texts.add(text)
      for (const text of went) texts.delete(text)
    })
    const record = await stage.record(queue)
    for (const [lockId, lock] of record.locks) {
      for (const { priority, to } of lock.stretches) {
        expect(record.lanes.get(priority)?.frontier, lockId).toBeGreaterThanOrEqual(to)
      }
    }
    stage.clock.pass(301_000)
    expect(new Set(textsOf(await drain(stage.engine(), queue)))).toEqual(texts)
  })

  it('the end of the queue and its next life, leaves that life alone.', async () => {
    const { stage, queue, queues: late } = onSimulated()
    const others = stage.engine()
    await push(others, queue, named('a', 1))
    await push(others, queue, oneEach('b', 2, 1))
    await late.configuration(queue)
    await raced(
      late,
      () => push(late, queue, oneEach('d', 50)),
      async () => {
        await drain(others, queue)
        await forget(stage, queue)
        await push(others, queue, named('n', 1))
        await push(others, queue, oneEach('m', 2, 1))
      },
    )
    const left = new Set(textsOf(await drain(stage.engine(), queue)))
    expect(left).toEqual(
      new Set(textsOf([...oneEach('d', 50), ...oneEach('m', 2, 1), ...named('n', 1)])),
    )
  })
})

describe('With more lanes ahead than can be named, an append to one of them is not passed over by', () => {
  const ahead = 45
  const setUp = async () => {
    const { stage, queue, queues } = onSimulated()
    for (let from = 0; from < ahead; from += 15) await push(queues, queue, oneEach('a', 15, from))
    await push(queues, queue, named('z', 9, 99))
    expect(textsOf((await popItems(queues, queue, { count: ahead })).items)).toHaveLength(ahead)
    return { stage, queue }
  }

  it('a pop.', async () => {
    const { stage, queue } = await setUp()
    const late = await warm(stage, queue)
    const popped = await raced(
      late,
      () => popItems(late, queue, { count: 1 }),
      () => push(stage.engine(), queue, named('b', 1, 7)),
    )
    expect(textsOf(popped.items)).toEqual(['"b0"'])
  })

  it('a claim.', async () => {
    const { stage, queue } = await setUp()
    await lockItems(stage.engine(), queue, { competing: true, ttlSeconds: 100 })
    const late = await warm(stage, queue)
    const claimed = await raced(
      late,
      () => lockItems(late, queue, { competing: true, ttlSeconds: 200 }),
      () => push(stage.engine(), queue, named('b', 1, 7)),
    )
    expect(textsOf(claimed.items)).toEqual(['"b0"'])
  })
})

describe('The timer is never later than a lock ends, though', () => {
  const setUp = async (...ttls: number[]) => {
    const { stage, queue } = await holding(named('a', 9))
    const locks: string[] = []
    for (const ttlSeconds of ttls) {
      const { lock } = await lockItems(stage.engine(), queue, { ttlSeconds, competing: true })
      locks.push(lock.id)
    }
    return { stage, queue, locks }
  }
  const expectTimely = async (stage: Stage, queue: string): Promise<void> => {
    const record = await stage.record(queue)
    expect(record.checkAtMs).toBeLessThanOrEqual(earliestExpiryMs(record) ?? 0)
  }

  it('a lock is made to end soon while another is taken.', async () => {
    const { stage, queue, locks } = await setUp(300)
    const late = await warm(stage, queue)
    await raced(
      late,
      () => lockItems(late, queue, { ttlSeconds: 60, competing: true }),
      () => stage.engine().extend(queue, { lockId: locks[0] ?? '', ttlSeconds: 5 }),
    )
    await expectTimely(stage, queue)
  })

  it('the sweeper moved it on while a lock was made to end sooner.', async () => {
    const { stage, queue, locks } = await setUp(5, 60)
    const late = await warm(stage, queue)
    await raced(
      late,
      () => late.extend(queue, { lockId: locks[1] ?? '', ttlSeconds: 20 }),
      async () => {
        stage.clock.pass(6_000)
        await stage.engine().returnExpiredLocks()
      },
    )
    await expectTimely(stage, queue)
  })

  it('a lock was made to end sooner while the sweeper moved it on.', async () => {
    const { stage, queue, locks } = await setUp(5, 60)
    stage.clock.pass(6_000)
    const sweeper = stage.engine()
    await raced(
      sweeper,
      () => sweeper.returnExpiredLocks(),
      () => stage.engine().extend(queue, { lockId: locks[1] ?? '', ttlSeconds: 20 }),
    )
    await expectTimely(stage, queue)
  })
})

it('A pop that acknowledges finds what comes while it is about to say "empty".', async () => {
  const { stage, queue } = await holding(named('a', 1))
  const { lock } = await lockItems(stage.engine(), queue)
  const late = stage.engine()
  const popped = await raced(
    late,
    () => popItems(late, queue, { acknowledge: lock.id }),
    () => push(stage.engine(), queue, named('b', 1)),
  )
  expect(textsOf(popped.items)).toEqual(['"b0"'])
})

it('A claim tells how many items it acknowledged, though some were settled apart meanwhile.', async () => {
  const { stage, queue } = await holding(named('a', 9))
  await lockItems(stage.engine(), queue, { competing: true, ttlSeconds: 100 })
  const held = await lockItems(stage.engine(), queue, {
    count: 3,
    competing: true,
    ttlSeconds: 150,
  })
  const [late, other] = [await warm(stage, queue), stage.engine()]
  const lockId = held.lock.id
  const popped = await raced(
    late,
    () => lockItems(late, queue, { competing: true, ttlSeconds: 200, acknowledge: lockId }),
    () => other.acknowledge(queue, { lockId, ids: held.items.slice(0, 1).map(({ id }) => id) }),
  )
  expect(popped.itemsAcknowledged).toBe(2)
})

it('A large claim whose items were taken by another fits an answer with those it gets.', async () => {
  const { stage, queue } = await holding(named('a', 41))
  for (let from = 0; from < 30; from += 10) {
    const items = Array.from({ length: 10 }, () => ({ text: `"${'x'.repeat(255 * 1024)}"` }))
    await push(stage.engine(), queue, items)
  }
  await lockItems(stage.engine(), queue, { competing: true, ttlSeconds: 100 })
  const [late, early] = [await warm(stage, queue), await warm(stage, queue)]
  const claim = { competing: true, ttlSeconds: 200 }
  const claimed = await raced(
    late,
    () => lockItems(late, queue, { ...claim, count: 30 }),
    () => lockItems(early, queue, { ...claim, count: 40 }),
  )
  const bytes = claimed.items.reduce((sum, { text }) => sum + escapedBytes(text), 0)
  expect(bytes).toBeLessThanOrEqual(ANSWER_BYTES_MAX)
})

it('A push with a key that meets the next life of its queue tells ids of that life.', async () => {
  const { stage, queue, queues: others } = await holding(named('a', 1))
  const late = await warm(stage, queue)
  const { ids } = await raced(
    late,
    () => late.push(queue, { items: named('k', 1), idempotencyKey: 'key' }),
    async () => {
      await drain(others, queue)
      await forget(stage, queue)
      await push(others, queue, named('n', 1))
    },
  )
  const items = await drain(stage.engine(), queue)
  expect(items.map(({ id }) => id)).toContain(ids[0])
  expect(textsOf(items)).toEqual(['"n0"', '"k0"'])
})

it('A pop does not pass over a lock that was made to end before, by a clock that is behind.', async () => {
  const { stage, queue } = await holding(named('a', 9))
  const { lock } = await lockItems(stage.engine(), queue, { ttlSeconds: 300, competing: true })
  const late = await warm(stage, queue)
  const behind = stage.engine({ clock: stage.clock.skewed(-5_000) })
  const popped = await raced(
    late,
    () => popItems(late, queue, { competing: true }),
    () => behind.extend(queue, { lockId: lock.id, ttlSeconds: 1 }),
  )
  expect(textsOf(popped.items)).toEqual(['"a0"'])
})

describe('Of a claim that has ended nothing is left in the record,', () => {
  it.each(['acknowledged', 'released'])('%s.', async (how) => {
    const { stage, queue, queues } = await holding(named('a', 9))
    await lockItems(queues, queue, { competing: true, ttlSeconds: 200 })
    const { lock } = await lockItems(queues, queue, { competing: true, ttlSeconds: 250 })
    expect(Object.keys((await stage.stored(queue))?.F ?? {})).toEqual([lock.id])
    if (how === 'released') await queues.release(queue, { lockId: lock.id })
    else await queues.acknowledge(queue, { lockId: lock.id })
    await popItems(queues, queue, { competing: true })
    expect((await stage.stored(queue))?.F).toEqual({})
  })
})

it('A claim on a dead-letter queue does not pass over what a redrive left behind the frontier.', async () => {
  const { stage, queue } = onSimulated()
  const dead = deadLetterQueueOf(queue)
  const queues = stage.engine()
  await push(queues, dead, named('h', 2))
  await push(queues, queue, named('m', 1))
  const { lock } = await lockItems(queues, queue)
  await queues.deadLetter(queue, { lockId: lock.id })
  await push(queues, dead, named('h', 1, 0, 2))
  await lockItems(queues, dead, { competing: true, ttlSeconds: 100 })
  const late = await warm(stage, dead)
  const claimed = await raced(
    late,
    () => lockItems(late, dead, { competing: true, ttlSeconds: 200 }),
    () => stage.engine().redrive(dead),
  )
  expect(textsOf(claimed.items)).toEqual(['"h1"'])
})

describe('Housekeeping that comes late', () => {
  it('with deleting originals leaves what was recalled since.', async () => {
    const { stage, queue, queues: others } = onSimulated()
    await others.configure(queue, { segmentSize: 4 })
    await pushOneByOne(others, queue, named('a', 100))
    const late = stage.engine()
    let offloaded = false
    await raced(
      late,
      () => late.housekeep(queue),
      async () => {
        expect((await popItems(others, queue, { count: 9 })).items).toHaveLength(9)
        await tidy(others, queue)
        expect((await stage.record(queue)).lanes.get(0)?.recalled).toBeGreaterThan(0)
      },
      // The first look at a segment's rows once pointers were moved.
      (request) => {
        const isPointer = request.name === 'UpdateCommand'
        if (isPointer && JSON.stringify(request.input).includes('.o')) offloaded = true
        return offloaded && request.name === 'QueryCommand'
      },
    )
    expect(textsOf(await drain(stage.engine(), queue))).toEqual(textsOf(named('a', 91, 0, 9)))
  })

  it('with deleting the rows of an empty lane leaves those that came since.', async () => {
    const { stage, queue, queues: others } = onSimulated()
    await pushOneByOne(others, queue, named('a', 40))
    await drain(others, queue)
    stage.clock.pass(11 * 60_000)
    const late = stage.engine()
    await raced(
      late,
      () => late.returnExpiredLocks(),
      () => pushOneByOne(others, queue, named('b', 100)),
      ({ name, input }) => name === 'QueryCommand' && JSON.stringify(input).includes('"s#'),
    )
    expect(textsOf(await drain(stage.engine(), queue))).toEqual(textsOf(named('b', 100)))
  })

  it('with dropping an empty lane leaves no rows of what came and went since.', async () => {
    const { stage, queue, queues: others } = onSimulated()
    await pushOneByOne(others, queue, named('a', 40))
    await drain(others, queue)
    stage.clock.pass(11 * 60_000)
    const late = stage.engine()
    await raced(
      late,
      () => late.returnExpiredLocks(),
      async () => {
        await pushOneByOne(others, queue, named('b', 100))
        await drain(others, queue)
      },
      ({ name, input }) => name === 'DeleteCommand' || JSON.stringify(input).includes('"s#'),
    )
    await forget(stage, queue)
    expect(await stage.rows(queue, 's')).toEqual([])
  })

  it('with a copy that is not wanted any more leaves no batch that nothing points to.', async () => {
    const { stage, queue, queues: others } = onSimulated()
    await others.configure(queue, { segmentSize: 2 })
    await pushOneByOne(others, queue, named('a', 4))
    // Numbers 4 to 15 are one batch, and segments 2 to 7 refer to it.
    await push(others, queue, bulk('b', 12))
    for (let n = 0; n < 12; n += 1) await push(others, queue, bulk(`c${n}`, 1))
    expect(await stage.rows(queue, 'b')).not.toEqual([])
    // Without a note of where items lie, those of a batch are offloaded too.
    await stage.forgetRuns(queue)
    const late = stage.engine()
    await raced(
      late,
      // It has copied segment 2 and those behind it, which another will not offload.
      () => late.housekeep(queue),
      async () => {
        await popItems(others, queue, { count: 2 })
        await others.housekeep(queue)
        expect((await stage.record(queue)).lanes.get(0)?.offloaded.from).toBe(3)
        // The head is behind segment 2: its rows may go, and its batch, of which the rest is in S3.
        await popItems(others, queue, { count: 4 })
      },
      ({ name, input }) => name === 'UpdateCommand' && JSON.stringify(input).includes('.o'),
    )
    await drain(others, queue)
    await tidy(others, queue)
    expect(await stage.rows(queue, 'b')).toEqual([])
  })

  it('with pointers moves none of the next life of its queue.', async () => {
    const { stage, queue, queues: others } = onSimulated()
    await pushOneByOne(others, queue, named('a', 700))
    const late = stage.engine()
    await raced(
      late,
      () => late.housekeep(queue),
      async () => {
        await drain(others, queue)
        await forget(stage, queue)
        await push(others, queue, named('n', 3))
      },
      ({ name, input }) => name === 'UpdateCommand' && JSON.stringify(input).includes('.o'),
    )
    expect((await stage.record(queue)).lanes.get(0)?.offloaded).toEqual({ from: 0, to: 0 })
    expect(textsOf(await drain(stage.engine(), queue))).toEqual(textsOf(named('n', 3)))
  })

  it('with forgetting leaves a queue that was configured since.', async () => {
    const { stage, queue } = await holding(named('a', 1))
    await drain(stage.engine(), queue)
    stage.clock.pass(11 * 60_000)
    const late = stage.engine()
    await raced(
      late,
      () => late.returnExpiredLocks(),
      () => stage.engine().configure(queue, { maxDeliveries: 7 }),
      ({ name }) => name === 'DeleteCommand',
    )
    expect(await stage.engine().configuration(queue)).toMatchObject({ maxDeliveries: 7 })
  })

  it('with forgetting leaves a queue that was pushed to since.', async () => {
    const stage = openSimulated()
    const [late, other, queue] = [stage.engine(), stage.engine(), stage.queue()]
    await push(other, queue, named('old', 1))
    await popItems(other, queue)
    stage.clock.pass(11 * 60_000)
    await raced(
      late,
      () => late.returnExpiredLocks(),
      () => push(other, queue, named('new', 1)),
      ({ name }) => name === 'DeleteCommand',
    )
    expect(textsOf(await drain(other, queue))).toEqual(['"new0"'])
  })

  it('with forgetting leaves a queue whose last lock has only just ended.', async () => {
    const stage = openSimulated()
    const [late, other, queue] = [stage.engine(), stage.engine(), stage.queue()]
    await push(other, queue, named('old', 1))
    await popItems(other, queue)
    stage.clock.pass(11 * 60_000)
    let lockId = ''
    await raced(
      late,
      () => late.returnExpiredLocks(),
      async () => {
        await push(other, queue, named('new', 1))
        lockId = (await lockItems(other, queue)).lock.id
        await other.acknowledge(queue, { lockId })
      },
    )
    expect((await stage.record(queue)).lanes.size).toBe(0)
    expect(await other.acknowledge(queue, { lockId })).toEqual({ itemsAcknowledged: 1 })
  })

  it('with forgetting leaves the next life of its queue, alike to the last number.', async () => {
    const { stage, queue, queues: others } = await holding(named('a', 1))
    await drain(others, queue)
    stage.clock.pass(11 * 60_000)
    const late = stage.engine()
    await raced(
      late,
      () => late.returnExpiredLocks(),
      async () => {
        const { version, appends, claims, lanesMade } = await stage.record(queue)
        await forget(stage, queue)
        await push(others, queue, named('n', version))
        for (let pops = 1; pops < version; pops += 1) await popItems(others, queue)
        const alike = { version, appends, claims, lanesMade }
        expect(await stage.record(queue)).toMatchObject(alike)
      },
      ({ name }) => name === 'DeleteCommand',
    )
    expect(await drain(stage.engine(), queue)).toHaveLength(1)
  })
})

it('An extension whose answer is lost does not guess when its lock has ended since.', async () => {
  const { stage, queue } = await holding(named('a', 1))
  const { lock } = await lockItems(stage.engine(), queue)
  const late = stage.engine()
  const extending = unanswered(
    late,
    () => late.extend(queue, { lockId: lock.id, ttlSeconds: 100 }),
    () => stage.engine().release(queue, { lockId: lock.id }),
  )
  await expect(extending).rejects.toMatchObject({ outcome: 'unknown' })
})

describe('A pop whose answer is lost does not guess', () => {
  it('when more has happened than the record remembers.', async () => {
    const { stage, queue } = await holding(named('a', 60))
    const late = stage.engine()
    const popping = unanswered(
      late,
      () => late.pop(queue),
      async () => {
        for (let pops = 0; pops < MARKS_KEPT + 1; pops += 1) await popItems(stage.engine(), queue)
      },
    )
    await expect(popping).rejects.toMatchObject({ outcome: 'unknown' })
  })

  it('when its queue was forgotten and made again.', async () => {
    const { stage, queue } = await holding(named('a', 1))
    const late = stage.engine()
    const popping = unanswered(
      late,
      () => late.pop(queue),
      async () => {
        await forget(stage, queue)
        await push(stage.engine(), queue, named('n', 9))
        for (let pops = 0; pops < 4; pops += 1) await popItems(stage.engine(), queue)
      },
    )
    await expect(popping).rejects.toMatchObject({ outcome: 'unknown' })
  })
})
