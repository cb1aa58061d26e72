import { describe, expect, it } from 'vitest'
import { isPatient } from '../../../engine/core/record.ts'
import { WakeWorld } from '../wake-world.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000

type Row = { sk: string; wk?: string; checkAt?: number }

describe('Wake runs schedules', () => {
  it.each([0, 1_500])(
    'of every ten seconds within three seconds of each time, on an idle stack whose index is %i ms behind.',
    async (behindMs) => {
      const world = new WakeWorld({ behindMs })
      world.sweepFor(6)
      let baseMs = 0
      world.at(MINUTE_MS + 15 * SECOND_MS, async () => {
        const { timing } = await world.queues.putSchedule('orders', 'often', {
          everySeconds: 10,
          text: '1',
        })
        baseMs = 'baseMs' in timing ? timing.baseMs : 0
      })
      await world.runFor(5 * MINUTE_MS)
      const late = world.pushedMs.map((atMs, index) => atMs - baseMs - (index + 1) * 10_000)
      expect(late.length).toBeGreaterThanOrEqual(21)
      expect(Math.min(...late)).toBeGreaterThanOrEqual(0)
      expect(Math.max(...late)).toBeLessThanOrEqual(3 * SECOND_MS)
    },
  )

  it('of one queue that are due at the same moment, all of them.', async () => {
    const world = new WakeWorld()
    world.sweepFor(3)
    world.at(SECOND_MS, async () => {
      for (const name of ['a', 'b', 'c']) {
        await world.queues.putSchedule('orders', name, { everySeconds: 30, text: '1' })
      }
    })
    await world.runFor(2 * MINUTE_MS)
    expect(world.pushedMs.length).toBeGreaterThanOrEqual(9)
    for (const atMs of world.pushedMs) {
      expect((atMs - world.startMs - SECOND_MS) % (30 * SECOND_MS)).toBeLessThan(3 * SECOND_MS)
    }
  })

  it('and does not stay awake for one that is due in an hour, nor for one that waits for room.', async () => {
    const world = new WakeWorld()
    world.sweepFor(30)
    world.at(SECOND_MS, async () => {
      await world.queues.configure('orders', { capacity: 1 })
      await world.queues.push('orders', { items: [{ text: '1' }] })
      await world.queues.putSchedule('orders', 'rare', { everySeconds: 3_600, text: '1' })
      await world.queues.putSchedule('orders', 'full', { everySeconds: 120, text: '1' })
    })
    await world.runFor(30 * MINUTE_MS)
    const row = [...world.store.items()].find((it) => (it as Row).sk === 'full') as Row
    expect(isPatient(row.checkAt ?? 0)).toBe(true)
    expect(row.wk).toBeUndefined()
    const awakeMs = world.runs.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0)
    expect(awakeMs).toBeLessThan(2 * MINUTE_MS)
  })
})
