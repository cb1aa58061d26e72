import { describe, expect, it } from 'vitest'
import { LANES_MAX } from '../../engine/core/limits.ts'
import type { PushItem, Queues } from '../../engine/queues.ts'
import { openSimulated } from './stage.ts'
import { bulky, drain, popItems, push, pushWide, textsOf } from './traffic.ts'

// Items for later whose priority can have no lane when they are due, because the record holds as many as it may.

/** Each with a gap on either side. */
const lanesOf = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => ({ text: '"there"', priority: 10 * (from + n) }))

const due = (text: string, priority: number, delaySeconds = 5): PushItem => ({
  text: `"${text}"`,
  priority,
  delaySeconds,
})

async function scene(soon: readonly PushItem[], lanes = LANES_MAX) {
  const stage = openSimulated()
  const [queues, queue] = [stage.engine(), stage.queue()]
  const ids: string[] = []
  for (const item of soon) ids.push(...(await queues.push(queue, { items: [item] })).ids)
  await pushWide(queues, queue, lanesOf(lanes))
  const inLane = async (priority: number) =>
    textsOf((await queues.browse(queue, { priority, limit: 100 })).items)
  return { stage, queues, queue, ids, inLane }
}

describe('An item for later that can have no lane', () => {
  it('joins the nearest, behind what is there, and the better of two that are as near.', async () => {
    const soon = [due('a', 14), due('b', 16), due('c', 15), due('own', 10), due('far', 50_000)]
    const { stage, queues, queue, ids, inLane } = await scene(soon)
    stage.clock.pass(7_000)
    const { items } = await popItems(queues, queue, { count: 4 })
    expect(items.map(({ text, priority }) => [text, priority])).toEqual([
      ['"there"', 0],
      ['"there"', 10],
      ['"a"', 10],
      ['"c"', 10],
    ])
    expect(items[2]?.scheduledId).toBe(ids[0])
    expect(await inLane(10)).toEqual(['"own"'])
    expect(await inLane(20)).toEqual(['"there"', '"b"'])
    expect(await inLane(9_990)).toEqual(['"there"', '"far"'])
    expect(await queues.inspect(queue)).toMatchObject({ scheduledCount: 0 })
  })

  it('does so from rows, too, in the order of time and of the pushes, at the first visit of the sweeper.', async () => {
    const soon = Array.from({ length: 40 }, (_, n) => ({
      text: bulky(`${n}`, 100),
      delaySeconds: 5 + (n % 2),
      priority: n % 3 === 0 ? 12 : 13,
    }))
    const { stage, queue, inLane } = await scene(soon)
    expect((await stage.record(queue)).scheduled.seals).toBeGreaterThan(0)
    stage.clock.pass(8_000)
    for (let run = 0; run < 3; run += 1) await stage.engine().returnExpiredLocks()
    const texts = [0, 1].flatMap((odd) => soon.filter((_, n) => n % 2 === odd))
    expect(await inLane(10)).toEqual(['"there"', ...texts.map(({ text }) => text)])
  })

  it('joins beside others that take the last lanes.', async () => {
    const soon = [due('first', 7), due('second', 8), due('third', 9)]
    const { stage, queues, queue, inLane } = await scene(soon, LANES_MAX - 2)
    stage.clock.pass(7_000)
    await queues.returnExpiredLocks()
    expect((await stage.record(queue)).lanes.size).toBe(LANES_MAX)
    expect([await inLane(7), await inLane(8)]).toEqual([['"first"'], ['"second"', '"third"']])
  })

  it('joins once, although the nearest lane is dropped meanwhile.', async () => {
    const { stage, queue, inLane } = await scene([due('due', 7)])
    stage.clock.pass(7_000)
    await beforeItsJoin(stage, queue, async (other) => {
      await other.purge(queue, { priority: 10 })
      await other.housekeep(queue)
      expect((await stage.record(queue)).lanes.has(10)).toBe(false)
    })
    expect(await inLane(7)).toEqual(['"due"'])
    expect(await drain(stage.engine(), queue)).toHaveLength(LANES_MAX)
  })

  it('joins the nearest if others make the last lane first.', async () => {
    const { stage, queue, inLane } = await scene([due('due', 7)], LANES_MAX - 1)
    stage.clock.pass(7_000)
    await beforeItsJoin(stage, queue, (other) => push(other, queue, lanesOf(1, LANES_MAX)))
    expect(await inLane(10)).toEqual(['"there"', '"due"'])
    expect(await drain(stage.engine(), queue)).toHaveLength(LANES_MAX + 1)
  })

  it('gets a lane of its own if there is a place by now, whatever a process remembers.', async () => {
    const { stage, queues, queue, inLane } = await scene([due('due', 12, 60)])
    const others = stage.engine()
    await drain(others, queue)
    await push(others, queue, lanesOf(2))
    await others.housekeep(queue)
    expect((await stage.record(queue)).lanes.size).toBeLessThan(LANES_MAX)
    stage.clock.pass(61_000)
    await queues.pop(queue)
    expect([await inLane(10), await inLane(12)]).toEqual([['"there"'], ['"due"']])
  })

  it('joins no other lane if others make its own first.', async () => {
    const { stage, queue, inLane } = await scene([due('due', 12)])
    stage.clock.pass(7_000)
    await beforeItsJoin(stage, queue, async (other) => {
      await other.purge(queue, { priority: 500 })
      await push(other, queue, [{ text: '"mine"', priority: 12 }])
      expect((await stage.record(queue)).lanes.size).toBe(LANES_MAX)
    })
    expect([await inLane(10), await inLane(12)]).toEqual([['"there"'], ['"mine"', '"due"']])
  })
})

/** A sweep whose join comes after what others do. */
async function beforeItsJoin(
  stage: ReturnType<typeof openSimulated>,
  queue: string,
  act: (other: Queues) => Promise<unknown>,
): Promise<void> {
  let isDone = false
  const slow = stage.engine({
    async before({ name, input }) {
      const { UpdateExpression = '' } = input as { UpdateExpression?: string }
      if (isDone || name !== 'UpdateCommand' || !UpdateExpression.includes('L.')) return
      isDone = true
      await act(stage.engine())
    },
  })
  await slow.returnExpiredLocks()
  expect(isDone).toBe(true)
  expect((await stage.record(queue)).scheduled.items).toBe(0)
}
