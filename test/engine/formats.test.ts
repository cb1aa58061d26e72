import { describe, expect, it } from 'vitest'
import type { StoredRecord } from '../../engine/core/stored-record.ts'
import type { PopRequest, Queues } from '../../engine/queues.ts'
import { openSimulated } from './stage.ts'
import { expectCode, lockItems, named, push } from './traffic.ts'

// Engines of different ages share a table: a consumer's is as old as its last deployment.

const QUEUE = 'orders'
const competing: PopRequest = { requireAck: true, competing: true }

type Call = (
  queues: Queues,
  held: { readonly lockId: string; readonly ids: string[] },
) => Promise<unknown>

/** These go by rows of their own, or through many queues. */
type Others =
  | ('schedules' | 'schedule' | 'putSchedule' | 'deleteSchedule' | 'pauseSchedule')
  | ('resumeSchedule' | 'deploySchedules' | 'patterns' | 'configurePatterns' | 'deployPatterns')
  | ('list' | 'returnExpiredLocks' | 'wake' | 'announceWaiting' | 'startTimers')
  // They tell of each push, lock or message by itself.
  | ('flush' | 'acknowledgeMany' | 'apply')
  // It goes by dead-letter queues: see below.
  | 'redrive'

const calls: Readonly<Record<Exclude<keyof Queues, Others>, Readonly<Record<string, Call>>>> = {
  push: {
    'of an item': (queues) => push(queues, QUEUE, named('b', 1)),
    'to another priority': (queues) => push(queues, QUEUE, named('b', 1, 7)),
    'to many priorities': (queues) =>
      push(
        queues,
        QUEUE,
        Array.from({ length: 60 }, (_, priority) => ({ text: '1', priority })),
      ),
    'of large items': (queues) => push(queues, QUEUE, [{ text: `"${'x'.repeat(9_000)}"` }]),
    'with a key': (queues) => queues.push(QUEUE, { items: named('b', 1), idempotencyKey: 'key' }),
    'for later': (queues) => push(queues, QUEUE, [{ text: '1', delaySeconds: 60 }]),
  },
  pushTransactItem: { '': (queues) => queues.pushTransactItem(QUEUE, { text: '1' }) },
  transact: { '': (queues) => queues.transact(QUEUE, [{ text: '1' }], () => Promise.resolve(1)) },
  pop: {
    'for good': (queues) => queues.pop(QUEUE),
    'with a lock': (queues) => queues.pop(QUEUE, { requireAck: true }),
    'that is a claim': (queues) => queues.pop(QUEUE, competing),
    'with an acknowledgement': (queues, { lockId }) => queues.pop(QUEUE, { acknowledge: lockId }),
  },
  acknowledge: { '': (queues, { lockId }) => queues.acknowledge(QUEUE, { lockId }) },
  extend: { '': (queues, { lockId }) => queues.extend(QUEUE, { lockId, ttlSeconds: 60 }) },
  release: {
    'at once': (queues, { lockId }) => queues.release(QUEUE, { lockId }),
    'with a delay': (queues, { lockId }) => queues.release(QUEUE, { lockId, delaySeconds: 9 }),
  },
  deadLetter: { '': (queues, { lockId }) => queues.deadLetter(QUEUE, { lockId }) },
  cancel: { '': (queues, { ids }) => queues.cancel(QUEUE, ids) },
  move: {
    'to another priority': (queues, { ids }) => queues.move(QUEUE, { ids, priority: 7 }),
    'to another queue': (queues, { ids }) => queues.move(QUEUE, { ids, queue: 'other' }),
  },
  purge: {
    'of all': (queues) => queues.purge(QUEUE),
    'by ids': (queues, { ids }) => queues.purge(QUEUE, { ids }),
  },
  configure: { '': (queues) => queues.configure(QUEUE, { capacity: 5 }) },
  unconfigure: { '': (queues) => queues.unconfigure(QUEUE) },
  housekeep: { '': (queues) => queues.housekeep(QUEUE) },
  runSchedule: {
    '': async (queues) => {
      await queues.putSchedule(QUEUE, 'daily', { text: '1', everySeconds: 86_400 })
      return queues.runSchedule(QUEUE, 'daily')
    },
  },
  inspect: { '': (queues) => queues.inspect(QUEUE) },
  browse: { '': (queues) => queues.browse(QUEUE) },
  scheduled: { '': (queues) => queues.scheduled(QUEUE) },
  configuration: { '': (queues) => queues.configuration(QUEUE) },
}

const allCalls = Object.entries(calls).flatMap(([verb, ways]) =>
  Object.entries(ways).map(([how, call]): [string, Call] => [`${verb} ${how}`.trim(), call]),
)

async function newerRecord() {
  const stage = openSimulated()
  const warm = stage.engine()
  const { ids } = await push(warm, QUEUE, named('a', 9))
  const { lock } = await lockItems(warm, QUEUE, competing)
  await lockItems(warm, QUEUE, competing)
  const stored = await stage.stored(QUEUE)
  if (stored === undefined) throw new Error('unreachable')
  // What the warm engine remembers is of the format that it knows.
  await stage.plant({ ...stored, fm: 2 })
  return { stage, warm, held: { lockId: lock.id, ids: ids.slice(4, 6) } }
}

describe('A record of a format that this engine does not know', () => {
  it.each(allCalls)(
    'is refused by %s, whatever it remembers, and stays as it is.',
    async (_, call) => {
      for (const isWarm of [true, false]) {
        const { stage, warm, held } = await newerRecord()
        const before = await stage.stored(QUEUE)
        await expectCode(call(isWarm ? warm : stage.engine(), held), 'FORMAT_UNKNOWN')
        expect(await stage.stored(QUEUE)).toEqual(before)
      }
    },
  )

  it('is refused by the sweeper, which goes on with the others.', async () => {
    const { stage } = await newerRecord()
    await push(stage.engine(), 'other', named('a', 1))
    await lockItems(stage.engine(), 'other', { ttlSeconds: 1 })
    const before = await stage.stored(QUEUE)
    stage.clock.pass(60_000)
    const { itemsReturned, failed } = await stage.engine().returnExpiredLocks()
    expect(itemsReturned).toBe(1)
    expect(failed).toMatchObject([{ queue: QUEUE, error: { code: 'FORMAT_UNKNOWN' } }])
    expect(await stage.stored(QUEUE)).toEqual(before)
  })

  it('stands in nobody’s way where all queues are listed, announced or given timers.', async () => {
    const { stage } = await newerRecord()
    for (const id of ['a', 'z']) {
      await push(stage.engine({ events: false }), id, named('a', 2))
    }
    const queues = stage.engine()
    expect(await queues.list()).toEqual({
      queues: [{ queue: 'a', count: 2 }, { queue: QUEUE }, { queue: 'z', count: 2 }],
    })
    expect(await queues.announceWaiting()).toEqual({ queues: 3, announced: 2, failed: 1 })
    expect(await queues.startTimers({ deadlineMs: Number.POSITIVE_INFINITY })).toMatchObject({
      queues: 3,
      failed: 1,
    })
    expect((await stage.stored('a'))?.checkAt).toBeDefined()
    expect((await stage.stored('z'))?.checkAt).toBeDefined()
  })

  it('is refused by redrive.', async () => {
    const { stage } = await newerRecord()
    const dead = `${QUEUE}-deadletter`
    const stored = await stage.stored(QUEUE)
    await stage.plant({ ...(stored as StoredRecord), pk: `q#${dead}` })
    await expectCode(stage.engine().redrive(dead), 'FORMAT_UNKNOWN')
  })

  it('has its format in the error.', async () => {
    const { stage } = await newerRecord()
    await expect(stage.engine().inspect(QUEUE)).rejects.toThrow('format 2')
  })
})

// No verb of this release sets a gate. It honours those of later ones, so that a pause needs no other format.
describe('A gate', () => {
  const pops: readonly [string, PopRequest][] = [
    ['pop', {}],
    ['pop with a lock', { requireAck: true }],
    ['claim', { ...competing, ttlSeconds: 300 }],
    ['large claim', { ...competing, ttlSeconds: 300, count: 100 }],
    ['competing pop with a key', { ...competing, idempotencyKey: 'key' }],
  ]

  async function gated(gp: (nowMs: number) => Record<string, number>) {
    const stage = openSimulated()
    const warm = stage.engine()
    await push(warm, QUEUE, named('a', 20))
    const { lock } = await lockItems(warm, QUEUE, { ...competing, ttlSeconds: 200 })
    const stored = await stage.stored(QUEUE)
    if (stored === undefined) throw new Error('unreachable')
    const { v } = stored
    await stage.plant({ ...stored, gp: gp(stage.clock.nowMs()), v: v + 1, m: `${stored.m}later_` })
    return { stage, warm, lockId: lock.id }
  }

  it.each(pops)('holds back a %s, by whatever the process remembers.', async (_, request) => {
    for (const isWarm of [true, false]) {
      const { stage, warm } = await gated((nowMs) => ({ u: nowMs + 60_000, p: nowMs + 5_000 }))
      const queues = isWarm ? warm : stage.engine()
      const before = await stage.stored(QUEUE)
      expect(await queues.pop(QUEUE, request)).toMatchObject({
        kind: 'locked',
        expiresAtMs: stage.clock.nowMs() + 60_000,
      })
      expect(await stage.stored(QUEUE)).toEqual(before)
    }
  })

  it.each(pops)('whose time is over holds back no %s.', async (_, request) => {
    for (const isWarm of [true, false]) {
      const { stage, warm, lockId } = await gated((nowMs) => ({ u: nowMs + 60_000 }))
      await warm.acknowledge(QUEUE, { lockId })
      stage.clock.pass(60_000)
      const { wire, ...queues } = isWarm ? warm : stage.engine()
      const sent = await wire.during(async () => {
        expect(await queues.pop(QUEUE, request)).toMatchObject({ kind: 'items' })
      })
      expect(sent.length).toBeLessThanOrEqual(3)
      expect((await stage.stored(QUEUE))?.gp).toBeDefined()
    }
  })

  it('is in the way of nothing else, and its queue is not forgotten.', async () => {
    const { stage, warm, lockId } = await gated((nowMs) => ({ u: nowMs + 1e12 }))
    await push(warm, QUEUE, named('b', 1))
    await warm.extend(QUEUE, { lockId, ttlSeconds: 60 })
    await warm.acknowledge(QUEUE, { lockId })
    await warm.purge(QUEUE)
    await warm.housekeep(QUEUE)
    for (let minute = 0; minute < 60; minute += 1) {
      stage.clock.pass(60_000)
      expect((await stage.engine().returnExpiredLocks()).failed).toEqual([])
    }
    expect((await stage.stored(QUEUE))?.gp).toBeDefined()
  })
})
