import { describe, expect, it } from 'vitest'
import {
  IN_FLIGHT_MAX,
  LANES_MAX,
  PRIORITY_MAX,
  REASON_CHARACTERS_MAX,
  ROOMY_TAIL,
} from '../../engine/core/limits.ts'
import type { StoredLock, StoredRecord } from '../../engine/core/stored-record.ts'
import { onSimulated, openSimulated, type Stage } from './stage.ts'
import { codeOf, expectCode, idsOf, lockItems, named, popItems, push, textsOf } from './traffic.ts'
import { throttled } from './wire.ts'

const DYNAMODB_BYTES_MAX = 400 * 1024

/** 2,000 items in flight, in 20 locks. */
async function fullOfLocks(stage: Stage, queue: string) {
  const queues = stage.engine()
  for (let batch = 0; batch < 3; batch += 1) {
    await push(queues, queue, named('a', 1_000, 0, batch * 1_000))
  }
  const locks = []
  for (let lock = 0; lock < IN_FLIGHT_MAX / 100; lock += 1) {
    locks.push(await lockItems(queues, queue, { count: 100, competing: true }))
  }
  return { queues, locks }
}

describe(`With ${IN_FLIGHT_MAX} items in flight`, () => {
  it('a pop that would lock more is refused, from memory or not, and one without a lock is not.', async () => {
    const [stage, queue] = [openSimulated(), 'queue']
    const { queues } = await fullOfLocks(stage, queue)
    for (const engine of [queues, stage.engine()]) {
      for (const count of [1, 9, 100]) {
        const more = engine.pop(queue, { requireAck: true, competing: true, count })
        await expectCode(more, 'TOO_MANY_LOCKS')
      }
    }
    expect(textsOf((await popItems(queues, queue, { competing: true })).items)).toEqual(['"a2000"'])
    await push(queues, queue, named('b', 5))
  })

  it('an acknowledge, a release, an extension and a dead-lettering are not refused, and make room.', async () => {
    const [stage, queue] = [openSimulated(), 'queue']
    const { queues, locks } = await fullOfLocks(stage, queue)
    const lockIds = locks.map(({ lock }) => lock.id) as [string, string, string, string, string]
    const every = idsOf(locks[4]?.items ?? []).filter((_, index) => index % 2 === 1)
    await queues.acknowledge(queue, { lockId: lockIds[4], ids: every })
    await queues.extend(queue, { lockId: lockIds[0], ttlSeconds: 60 })
    await queues.acknowledge(queue, { lockId: lockIds[1] })
    await queues.release(queue, { lockId: lockIds[2] })
    await queues.deadLetter(queue, { lockId: lockIds[3], reason: 'test' })
    const { items } = await lockItems(queues, queue, { count: 100, competing: true })
    expect(textsOf(items)).toEqual(textsOf(named('a', 100, 0, 200)))
  })

  it('fewer than were asked for are locked if only some have room.', async () => {
    const [stage, queue] = [openSimulated(), 'queue']
    const { queues, locks } = await fullOfLocks(stage, queue)
    const first = locks[0]
    await queues.acknowledge(queue, {
      lockId: first?.lock.id ?? '',
      ids: idsOf(first?.items ?? []).slice(0, 30),
    })
    const { items } = await lockItems(queues, queue, { count: 100, competing: true })
    expect(items).toHaveLength(30)
    expect((await stage.record(queue)).inFlight).toBe(IN_FLIGHT_MAX)
  })

  it('a pop that acknowledges makes its own room.', async () => {
    const [stage, queue] = [openSimulated(), 'queue']
    const { queues, locks } = await fullOfLocks(stage, queue)
    const acknowledge = locks[5]?.lock.id ?? ''
    const request = { count: 100, competing: true, acknowledge }
    // Settled behind others, its 100 items become one hole.
    expect((await lockItems(queues, queue, request)).items.length).toBeGreaterThanOrEqual(99)
  })
})

/** Every number as long as it may be, every attribute there, as many lanes and locks as allowed. */
function worstRecord(queue: string, nowMs: number): StoredRecord {
  const far = 123_456_789_012
  const L: StoredRecord['L'] = {}
  const K: Record<string, StoredLock> = {}
  const priorityOf = (lane: number) => PRIORITY_MAX - LANES_MAX + lane
  for (let lane = 0; lane < LANES_MAX; lane += 1) {
    L[priorityOf(lane)] = {
      e: 'abcdefgh',
      z: 999,
      h: far,
      f: far + 999,
      s: far + 999,
      t: [],
      o: [123_580_370, 123_580_399],
      r: 123_580_371,
      x: 123_580_369,
    }
  }
  let tailBytes = 0
  for (let lane = 0; tailBytes < ROOMY_TAIL.hardBytes - 22; lane += 1) {
    L[priorityOf(lane)]?.t.push('i0abcdefgtags1')
    tailBytes += 22
  }
  for (let lock = 0; lock < IN_FLIGHT_MAX; lock += 1) {
    const from = far + 2 * Math.floor(lock / LANES_MAX)
    K[`lock${String(lock).padStart(7, '0')}`] = {
      x: nowMs + 29_999,
      r: [priorityOf(lock % LANES_MAX), from, from + 1],
      k: 'hash-of-key-',
    }
  }
  return {
    pk: `q#${queue}`,
    sk: 'queue',
    shard: 15,
    v: far,
    born: 'abcdefgh',
    m: 'markmk'.repeat(16),
    e: Array.from({ length: 16 }, () => 'lock0000000a2s').join('.'),
    le: nowMs,
    L,
    K,
    F: {},
    b: tailBytes,
    a: far,
    c: far,
    n: far,
    i: IN_FLIGHT_MAX,
    g: far,
    room: 999_999_999_999,
    kr: 999_999_999_999,
    cfg: { v: 99, z: 999, b: 99, m: 999, c: 999_999_999_999 },
    checkAt: nowMs + 29_999,
    work: 'y',
  }
}

/** The same, with every other bound reached at once: delivery counts, what is for later, purges, tokens. */
function fullestRecord(queue: string, nowMs: number): StoredRecord {
  const far = 123_456_789_012
  const record = worstRecord(queue, nowMs)
  // 2,000 pieces, and one more for each lane.
  for (const lane of Object.values(record.L)) {
    lane.d = [far, far + 1, 17, far + 2, far + 3, 999, far + 4, far + 5, 17]
  }
  const unseen = Array.from({ length: 197 }, (_, n) => `u8x2kq.${(1_000 + n).toString(36)}`)
  const entry = 'u8x2kq.1.abcdefgh.1..i0abcdefgtagsx'
  return {
    ...record,
    td: Array.from({ length: 16 }, () => `16000000#${unseen.join()}`),
    tu: unseen,
    T: Array.from({ length: 97 }, () => entry),
    tb: 8_000,
    sc: 97,
    tv: far,
    tg: 16_000_000,
    te: 16_000_000,
    nd: nowMs / 1_000,
    u: Array.from({ length: 256 }, () => 'abcdef'),
    tm: 'y',
  }
}

describe('The largest record there can be', () => {
  it('is below DynamoDB’s limit with every bound reached at once, and its locks can end.', async () => {
    const [stage, queue] = [openSimulated(), 'q'.repeat(100)]
    await stage.plant(fullestRecord(queue, stage.clock.nowMs()))
    expect(await stage.recordBytes(queue)).toBeLessThan(0.92 * DYNAMODB_BYTES_MAX)
    const queues = stage.engine()
    await queues.release(queue, { lockId: 'lock0000008' })
    expect((await stage.record(queue)).locks.size).toBe(IN_FLIGHT_MAX - 1)
    expect(await stage.recordBytes(queue)).toBeLessThan(0.92 * DYNAMODB_BYTES_MAX)
  })

  it('is well below DynamoDB’s limit, and every verb still works or says why not.', async () => {
    const [stage, queue] = [openSimulated(), 'q'.repeat(100)]
    await stage.plant(worstRecord(queue, stage.clock.nowMs()))
    expect(await stage.recordBytes(queue)).toBeLessThan(0.75 * DYNAMODB_BYTES_MAX)
    const queues = stage.engine()
    const priority = PRIORITY_MAX
    const lockId = 'lock0000007'
    await queues.acknowledge(queue, { lockId })
    await queues.release(queue, { lockId: 'lock0000008' })
    await queues.extend(queue, { lockId: 'lock0000009', ttlSeconds: 300 })
    await expectCode(push(queues, queue, [{ text: '1', priority }]), 'TOO_MANY_PRIORITIES')
    expect((await queues.inspect(queue, { consistent: true })).lockedCount).toBe(1_998)
  })

  it('ends all its locks when they expire.', async () => {
    const [stage, queue] = [openSimulated(), 'queue']
    await stage.plant(worstRecord(queue, stage.clock.nowMs()))
    stage.clock.pass(30_000)
    const queues = stage.engine()
    for (let run = 0; run < 3; run += 1) {
      expect((await queues.returnExpiredLocks()).failed).toEqual([])
    }
    const record = await stage.record(queue)
    expect(record.locks.size).toBe(0)
    expect(await stage.recordBytes(queue)).toBeLessThan(DYNAMODB_BYTES_MAX)
  })
})

describe('However its items come back, a record stays below DynamoDB’s limit', () => {
  it('when every other item of many lanes was delivered once more than its neighbours.', async () => {
    const [stage, queue] = [openSimulated(), 'queue']
    const queues = stage.engine()
    // 2,000 items of each lane come back with counts that differ from item to item; then a better
    // lane is filled, so that the next pops go there. With 18 lanes that was more than 400 KB.
    for (let lane = 2; lane >= 0; lane -= 1) {
      await push(queues, queue, named('a', 1_000, lane))
      await push(queues, queue, named('b', 1_000, lane))
      const lockIds: string[] = []
      try {
        for (let taken = 0; taken < IN_FLIGHT_MAX; taken += 100) {
          const { lock, items } = await lockItems(queues, queue, { count: 100, competing: true })
          lockIds.push(lock.id)
          const ids = idsOf(items).filter((_, index) => index % 2 === 0)
          await queues.release(queue, { lockId: lock.id, ids })
          lockIds.push((await lockItems(queues, queue, { count: 50, competing: true })).lock.id)
        }
      } catch (error) {
        // Refused at the pop, in time: that is how it has to end.
        expect(await codeOf(Promise.reject(error))).toBe('TOO_MANY_LOCKS')
      }
      for (const lockId of lockIds) await queues.release(queue, { lockId })
    }
    let ranges = 0
    for (const lane of (await stage.record(queue)).lanes.values()) {
      ranges += lane.holes.length + lane.deliveries.length + lane.dead.length
    }
    // An item costs up to three: where it lies, it parts what was one range before.
    expect(ranges).toBeLessThanOrEqual(3 * IN_FLIGHT_MAX)
  })

  it('when many are dead-lettered with long reasons, and cannot be moved yet.', async () => {
    const [stage, queue] = [openSimulated(), 'queue']
    const queues = stage.engine({
      before: ({ name }) => {
        if (name === 'TransactWriteCommand') throw throttled()
      },
    })
    for (let from = 0; from < 400; from += 50) {
      const items = Array.from({ length: 50 }, (_, index) => named('a', 1, from + index)).flat()
      await push(queues, queue, items)
    }
    const reason = '語'.repeat(REASON_CHARACTERS_MAX)
    for (let lock = 0; lock < 4; lock += 1) {
      const { lock: taken } = await lockItems(queues, queue, { count: 100, competing: true })
      // Refused is right as well: then nothing happened.
      await queues.deadLetter(queue, { lockId: taken.id, reason }).catch(async (error: unknown) => {
        expect(await codeOf(Promise.reject(error))).toBe('STORE_UNAVAILABLE')
      })
      expect(await stage.recordBytes(queue)).toBeLessThan(0.9 * DYNAMODB_BYTES_MAX)
    }
    const healthy = stage.engine()
    for (let run = 0; run < 10; run += 1) await healthy.housekeep(queue)
    const dead = await popItems(healthy, `${queue}-deadletter`, { count: 100 })
    expect(dead.items[0]?.reason).toBe(reason)
  })
})

it('A queue of 1,000,000 items in one lane has a record of 2 KB; one of 32 lanes 6 KB.', async () => {
  const { stage, queues } = onSimulated()
  for (let batch = 0; batch < 20; batch += 1) {
    await push(queues, 'deep', named('a', 1_000))
    for (let single = 0; single < 10; single += 1) await push(queues, 'deep', named('b', 1))
  }
  for (let run = 0; run < 10; run += 1) await queues.housekeep('deep')
  expect(await stage.recordBytes('deep')).toBeLessThan(2_048)
  for (let round = 0; round < 20; round += 1) {
    for (let lane = 0; lane < 32; lane += 1) await push(queues, 'wide', named('a', 1, lane))
  }
  expect(await stage.recordBytes('wide')).toBeLessThan(6 * 1_024)
})
