import { describe, expect, it } from 'vitest'
import { SHARDS } from '../../engine/core/limits.ts'
import { seeded } from '../../testing/random.ts'
import { quantile, WakeWorld } from './wake-world.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000

/** Somebody takes an item with a lock, and is not heard of again. */
async function leave(world: WakeWorld, queue: string, ttlSeconds: number): Promise<void> {
  await world.queues.push(queue, { items: [{ text: '"a"' }] })
  await world.queues.pop(queue, { requireAck: true, ttlSeconds })
}

describe('While Wake is there', () => {
  it('a lock of 5 s that is taken right after a sweep of an idle stack ends within 3 s of its time.', async () => {
    const world = new WakeWorld()
    world.sweepFor(3)
    world.at(1_000, () => leave(world, 'orders', 5))
    await world.runFor(3 * MINUTE_MS)
    expect(world.lateMs).toHaveLength(1)
    expect(world.lateMs[0]).toBeLessThanOrEqual(3 * SECOND_MS)
    const without = new WakeWorld({ wakes: false })
    without.sweepFor(3)
    without.at(1_000, () => leave(without, 'orders', 5))
    await without.runFor(3 * MINUTE_MS)
    expect(without.lateMs[0]).toBeGreaterThan(50 * SECOND_MS)
  })

  it.each([
    ['where the index is up to date', 0, 1, 3],
    ['where the index is up to a second and a half behind', 1_500, 2, 3],
  ])('locks of 1 s to 5 minutes end in time, %s.', async (_, behindMs, p50, p99) => {
    const random = seeded(7)
    const world = new WakeWorld({ behindMs })
    world.sweepFor(20)
    for (let n = 0; n < 300; n += 1) {
      const ttlSeconds = 1 + Math.floor(300 * random() ** 3)
      world.at(random() * 12 * MINUTE_MS, () => leave(world, `queue-${n}`, ttlSeconds))
    }
    await world.runFor(20 * MINUTE_MS)
    expect(world.lateMs).toHaveLength(300)
    expect(Math.min(...world.lateMs)).toBeGreaterThanOrEqual(0)
    expect(quantile(world.lateMs, 0.5)).toBeLessThanOrEqual(p50 * SECOND_MS)
    expect(quantile(world.lateMs, 0.99)).toBeLessThanOrEqual(p99 * SECOND_MS)
    // For more than ten minutes, in runs of two to four that hand over.
    expect(world.awakeMost).toBeLessThanOrEqual(4)
    const long = world.runs.filter(({ left }) => !left)
    expect(Math.max(...long.map(({ fromMs, toMs }) => toMs - fromMs))).toBeLessThan(4 * MINUTE_MS)
  })

  it('it goes by the notes of its callers, and not by the index alone, which may be behind.', async () => {
    const world = new WakeWorld({ behindMs: 4_000 })
    world.sweepFor(3)
    world.at(1_000, () => leave(world, 'orders', 8))
    await world.runFor(3 * MINUTE_MS)
    expect(world.lateMs).toHaveLength(1)
    expect(world.lateMs[0]).toBeLessThanOrEqual(4 * SECOND_MS)
  })

  it('it runs only while something is near: a minute after the last lock no run is awake.', async () => {
    const world = new WakeWorld()
    world.sweepFor(60)
    world.at(1_000, () => leave(world, 'orders', 40))
    await world.runFor(60 * MINUTE_MS)
    const awakeMs = world.runs.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0)
    expect(awakeMs).toBeGreaterThan(30 * SECOND_MS)
    expect(awakeMs).toBeLessThan(60 * SECOND_MS)
    expect([...world.store.items()]).toContainEqual({ pk: 'timers', sk: 'awake' })
  })

  it('an idle stack sends what it sent without it, and so does one whose items nobody takes.', async () => {
    const world = new WakeWorld()
    world.sweepFor(60)
    await world.runFor(60 * MINUTE_MS)
    expect(world.requests).toBe(60 * SHARDS)
    expect(world.store.meter.readUnits).toBe(60 * SHARDS * 0.5)
    world.sweepFor(60)
    const waiting = new WakeWorld()
    waiting.sweepFor(180)
    waiting.at(1_000, () => waiting.queues.push('orders', { items: [{ text: '"a"' }] }))
    await waiting.runFor(180 * MINUTE_MS)
    expect(waiting.runs).toEqual([])
  })

  it('the next minute’s sweep makes up for a run that dies, and for timers that no run hears of.', async () => {
    const world = new WakeWorld({ dies: (run) => (run === 0 ? 3_000 : undefined) })
    world.sweepFor(5)
    world.at(1_000, () => leave(world, 'a', 20))
    world.at(70_000, () => leave(world, 'b', 100))
    await world.runFor(5 * MINUTE_MS)
    expect(world.lateMs).toHaveLength(2)
    expect(world.lateMs[0]).toBeLessThanOrEqual(45 * SECOND_MS)
    expect(world.lateMs[1]).toBeLessThanOrEqual(3 * SECOND_MS)
    const deaf = new WakeWorld({ hears: false })
    deaf.sweepFor(5)
    deaf.at(1_000, () => leave(deaf, 'a', 70))
    deaf.at(1_000, () => leave(deaf, 'b', 30))
    await deaf.runFor(5 * MINUTE_MS)
    const [late = 0, inTime = 0] = deaf.lateMs
    expect(late).toBeGreaterThan(25 * SECOND_MS)
    expect(inTime).toBeLessThanOrEqual(2 * SECOND_MS)
  })
})
