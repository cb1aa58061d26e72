import { expect, it } from 'vitest'
import { onSimulated } from './stage.ts'
import { named, push } from './traffic.ts'

/** A purged queue of so many items in segments of this size, and how many runs of housekeeping tidy it. */
async function runsFor(segmentSize: number, items: number): Promise<number> {
  const { stage, queues, queue } = onSimulated()
  await queues.configure(queue, { segmentSize })
  for (let from = 0; from < items; from += 1_000) {
    await push(queues, queue, named('a', 1_000, 0, from))
  }
  await queues.purge(queue)
  for (let runs = 1; runs <= 100; runs += 1) {
    if ((await queues.housekeep(queue)).finished) {
      expect(await stage.rows(queue, 's')).toEqual([])
      return runs
    }
  }
  throw new Error('Housekeeping did not finish in 100 runs')
}

it('Housekeeping of small segments comes as far in a run as that of ordinary ones.', async () => {
  const ordinary = await runsFor(100, 10_000)
  expect(await runsFor(10, 10_000)).toBe(ordinary)
})

it('Housekeeping of segments of one item works on more than a thousand in a run, but not on any number.', async () => {
  const runs = await runsFor(1, 5_000)
  expect(runs).toBeLessThanOrEqual(5)
  expect(runs).toBeGreaterThanOrEqual(3)
})
