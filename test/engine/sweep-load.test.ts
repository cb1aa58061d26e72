import type { QueryCommandInput } from '@aws-sdk/lib-dynamodb'
import { describe, expect, it } from 'vitest'
import { recordKey, shardOf } from '../../engine/core/keys.ts'
import { newLane } from '../../engine/core/record.ts'
import type { StoredRecord } from '../../engine/core/stored-record.ts'
import { encodeLane, encodeLock } from '../../engine/core/stored-record.ts'
import { createQueues, type Queues } from '../../engine/queues.ts'
import { createSimulatedClient, type Network } from '../../testing/simulated/network.ts'
import { type SimulatedRequest, SimulatedStore } from '../../testing/simulated/store.ts'
import { createVirtualTime, type VirtualTime } from '../../testing/simulated/virtual-time.ts'
import { aLock, anEntry, at } from './core/a-record.ts'

// Minutes of the sweeper on simulated time: a request takes 5 ms of it, computing takes none.

const START_MS = Date.UTC(2030, 0, 1)
const LATENCY_MS = 5
/** What a run of the function has, from one minute to ten seconds before its end. */
const RUN_MS = 60_000

type Place = {
  readonly time: VirtualTime
  readonly store: SimulatedStore
  readonly queues: Queues
  /** Lets virtual time pass until it is settled. */
  in<T>(promise: Promise<T>): Promise<T>
}

function openPlace(
  deliver: (request: SimulatedRequest, time: VirtualTime) => Promise<void>,
): Place {
  const time = createVirtualTime(START_MS)
  const store = new SimulatedStore({ nowMs: time.nowMs })
  const network: Network = {
    async deliver(request, apply) {
      await deliver(request, time)
      return apply()
    },
  }
  const { dynamodb, s3 } = createSimulatedClient(store, network)
  const queues = createQueues({
    tableName: store.tableName,
    bucketName: store.bucketName,
    dynamodb: dynamodb as never,
    s3: s3 as never,
    clock: time,
    random: () => 0.5,
    onBackgroundError: () => {},
  })
  return {
    time,
    store,
    queues,
    async in(promise) {
      let isSettled = false
      const settle = () => {
        isSettled = true
      }
      promise.then(settle, settle)
      for (let step = 0; !isSettled && step < 1_000_000; step += 1) {
        await time.run(time.nowMs() + LATENCY_MS)
      }
      return promise
    },
  }
}

/** A queue whose one item is in a lock that has been over for a while. */
function expired(queue: string, overMs: number): StoredRecord {
  const expiresAtMs = START_MS - overMs
  return {
    ...recordKey(queue),
    shard: shardOf(queue),
    v: 2,
    born: 'born_000',
    m: 'mark00mark01',
    L: {
      0: encodeLane({
        ...newLane({ priority: 0, epoch: 'epoch_00', segmentSize: 100 }, [anEntry('1')]),
        frontier: 1,
      }),
    },
    K: { 'lock-000000': encodeLock(aLock(expiresAtMs, at(0, 0, 1))) },
    F: {},
    b: 20,
    a: 1,
    c: 0,
    n: 1,
    i: 1,
    g: 0,
    room: 1_000_000,
    checkAt: expiresAtMs,
  }
}

const plant = (store: SimulatedStore, record: StoredRecord): unknown =>
  store.apply({
    service: 'dynamodb',
    name: 'PutCommand',
    input: { TableName: store.tableName, Item: record },
  })

describe('A run of the sweeper', () => {
  it('ends the locks of 20,000 queues and more in its minute, and tells how late it was.', async () => {
    const place = openPlace((_, time) => time.sleep(LATENCY_MS))
    for (let n = 0; n < 20_000; n += 1) {
      plant(place.store, expired(`device-${n}`, n === 4_711 ? 90_000 : 1_000))
    }
    const deadlineMs = START_MS + RUN_MS
    const report = await place.in(place.queues.returnExpiredLocks({ deadlineMs }))
    expect(report).toMatchObject({ queues: 20_000, itemsReturned: 20_000, more: false, failed: [] })
    expect(place.time.nowMs()).toBeLessThan(deadlineMs)
    expect(report.lagMs).toBeGreaterThanOrEqual(90_000)
  })

  it('does not wait for one queue that is slow with all that come after it.', async () => {
    const slow = { isIt: true }
    const place = openPlace(async (_, time) => {
      // The first write of all.
      const waits = slow.isIt && time.nowMs() > START_MS + 2 * LATENCY_MS
      if (waits) slow.isIt = false
      await time.sleep(waits ? 30_000 : LATENCY_MS)
    })
    for (let n = 0; n < 2_000; n += 1) plant(place.store, expired(`device-${n}`, 1_000))
    const sweep = place.in(place.queues.returnExpiredLocks({ deadlineMs: START_MS + RUN_MS }))
    await place.time.run(START_MS + 5_000)
    const locked = [...place.store.items()].filter(({ K }) => Object.keys(K as object).length > 0)
    expect(locked).toHaveLength(1)
    expect(await sweep).toMatchObject({ itemsReturned: 2_000, more: false })
  })

  it('asks for all pages of a shard up to the same time, since DynamoDB refuses a start key outside the range.', async () => {
    const asked = new Map<unknown, unknown[]>()
    const place = openPlace(async ({ name, input }, time) => {
      if (name === 'QueryCommand') {
        const { ':s': shard, ':until': until } = (input as QueryCommandInput)
          .ExpressionAttributeValues as Record<string, unknown>
        asked.set(shard, [...(asked.get(shard) ?? []), until])
      }
      await time.sleep(LATENCY_MS)
    })
    for (let n = 0; n < 2_400; n += 1) plant(place.store, expired(`device-${n}`, 1_000))
    await place.in(place.queues.returnExpiredLocks({ deadlineMs: START_MS + RUN_MS }))
    const pages = [...asked.values()]
    expect(pages.filter((untils) => untils.length > 1)).toHaveLength(16)
    expect(pages.filter((untils) => new Set(untils).size > 1)).toEqual([])
  })

  it('takes a part of the shards, so that several can sweep side by side.', async () => {
    const place = openPlace(async () => {})
    for (let n = 0; n < 200; n += 1) plant(place.store, expired(`device-${n}`, 1_000))
    const parts = [0, 1, 2, 3].map((part) => [part, part + 4, part + 8, part + 12])
    const reports = await Promise.all(
      parts.map((shards) => place.queues.returnExpiredLocks({ shards })),
    )
    expect(reports.every(({ queues }) => queues > 0)).toBe(true)
    expect(reports.reduce((sum, { itemsReturned }) => sum + itemsReturned, 0)).toBe(200)
    await expect(place.queues.returnExpiredLocks({ shards: [16] })).rejects.toThrow('shards')
    await expect(place.queues.returnExpiredLocks({ shards: [] })).rejects.toThrow('shards')
  })
})

describe('While S3 hangs', () => {
  const HANGS_MS = 10_000

  async function hangingPlace() {
    let isDown = false
    const hanging = { now: 0, most: 0 }
    const place = openPlace(async ({ service }, time) => {
      if (service !== 's3' || !isDown) return time.sleep(LATENCY_MS)
      hanging.now += 1
      hanging.most = Math.max(hanging.most, hanging.now)
      await time.sleep(HANGS_MS)
      hanging.now -= 1
      throw Object.assign(new Error('no answer'), { name: 'TimeoutError', code: 'ETIMEDOUT' })
    })
    const { queues } = place
    // A dozen long queues with segments to offload, each with a lock that ends some seconds after another.
    for (let n = 0; n < 12; n += 1) {
      const queue = `long-${n}`
      await place.in(queues.configure(queue, { segmentSize: 10 }))
      const items = Array.from({ length: 10 }, () => ({ text: '"x"' }))
      for (let push = 0; push < 10; push += 1) await place.in(queues.push(queue, { items }))
      await place.in(queues.pop(queue, { requireAck: true, ttlSeconds: 1 + 3 * n }))
    }
    isDown = true
    return { ...place, hanging }
  }

  it('locks end all the same, of all queues, and the run ends in time.', async () => {
    const place = await hangingPlace()
    const { queues, time } = place
    for (let minute = 0; minute < 4; minute += 1) {
      const startMs = time.nowMs()
      const victim = `victim-${minute}`
      await place.in(queues.push(victim, { items: [{ text: '1' }] }))
      await place.in(queues.pop(victim, { requireAck: true, ttlSeconds: 1 }))
      await time.run(startMs + 2_000)
      const deadlineMs = time.nowMs() + RUN_MS
      const report = await place.in(queues.returnExpiredLocks({ deadlineMs }))
      expect(report.itemsReturned).toBeGreaterThanOrEqual(1)
      expect(time.nowMs()).toBeLessThanOrEqual(deadlineMs + LATENCY_MS)
      const state = await place.in(queues.inspect(victim, { consistent: true }))
      expect(state.lockedCount).toBe(0)
      await time.run(startMs + RUN_MS)
    }
  })

  it('what hangs keeps its place, so that no more and more requests wait for S3.', async () => {
    const place = await hangingPlace()
    const { queues, time, hanging } = place
    // A sweep each second, none of which waits for what takes long.
    for (let beat = 0; beat < 90; beat += 1) {
      const tidyUntilMs = time.nowMs() + 1_000
      await place.in(queues.returnExpiredLocks({ deadlineMs: tidyUntilMs + 5_000, tidyUntilMs }))
      await time.run(tidyUntilMs)
    }
    // Four queues, two segments of each.
    expect(hanging.most).toBe(8)
  })
})
