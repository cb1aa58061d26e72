import { describe, expect, it } from 'vitest'
import { type ConfigurationChange, SEGMENT_SIZE_MAX } from '../../engine/core/settings.ts'
import { useEmbedded } from './stage.ts'
import { drain, expectCode, named, popItems, push, pushOneByOne, textsOf, tidy } from './traffic.ts'

const stage = useEmbedded()

describe('A configuration', () => {
  it('is written at the revision that was asked for, or not at all.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    const mismatch = 'VERSION_MISMATCH'
    await expectCode(queues.configure(queue, { capacity: 1 }, { ifMatch: 1 }), mismatch)
    expect(await stage.stored(queue)).toBeUndefined()
    await queues.configure(queue, { capacity: 1 }, { ifMatch: 0 })
    await expectCode(queues.configure(queue, { capacity: 2 }, { ifMatch: 0 }), mismatch)
    await queues.configure(queue, { capacity: 2 }, { ifMatch: 1 })
    const writers = await Promise.allSettled(
      Array.from({ length: 5 }, (_, writer) =>
        stage.engine().configure(queue, { capacity: 10 + writer }, { ifMatch: 2 }),
      ),
    )
    expect(writers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await queues.configuration(queue)).toMatchObject({ revision: 3 })
  })

  const invalid: readonly [string, ConfigurationChange][] = [
    ['segment_size', { segmentSize: 0 }],
    ['segment_size', { segmentSize: SEGMENT_SIZE_MAX + 1 }],
    ['segment_size', { segmentSize: 10.5 }],
    ['buffer_segments', { bufferSegments: 0 }],
    ['buffer_segments', { bufferSegments: 101 }],
    ['max_deliveries', { maxDeliveries: 0 }],
    ['max_deliveries', { maxDeliveries: Number.NaN }],
    ['capacity', { capacity: -1 }],
    ['capacity', { capacity: Number.POSITIVE_INFINITY }],
  ]
  it.each(invalid)('refuses a bad %s and names it: %j.', async (field, change) => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    await expect(queues.configure(queue, change)).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
      field,
    })
    expect(await stage.stored(queue)).toBeUndefined()
  })

  it('keeps an empty queue from being forgotten.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    await queues.configure(queue, { capacity: 5 })
    await push(queues, queue, named('a', 1))
    await drain(queues, queue)
    stage.clock.pass(3_600_000)
    await queues.returnExpiredLocks()
    await queues.returnExpiredLocks()
    expect(await queues.configuration(queue)).toMatchObject({ capacity: 5 })
  })
})

describe('On a live queue', () => {
  it('a new segment size is for lanes made later, and the others keep theirs.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    await queues.configure(queue, { segmentSize: 4 })
    await pushOneByOne(queues, queue, named('a', 40))
    await tidy(queues, queue)
    for (const [round, segmentSize] of [7, 1, 100].entries()) {
      await queues.configure(queue, { segmentSize })
      await pushOneByOne(stage.engine(), queue, named('a', 20, 0, 40 + round * 20))
      await push(queues, queue, named('b', 20, segmentSize))
      await tidy(queues, queue)
    }
    const record = await stage.record(queue)
    const sizes = [0, 7, 1, 100].map((priority) => record.lanes.get(priority)?.segmentSize)
    expect(sizes).toEqual([4, 7, 1, 100])
    const texts = textsOf(await drain(stage.engine(), queue, 7))
    const others = Array(3)
      .fill(textsOf(named('b', 20)))
      .flat()
    expect(texts).toEqual([...textsOf(named('a', 100)), ...others])
  })

  it('a larger or smaller buffer is kept from then on.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    await queues.configure(queue, { segmentSize: 3, bufferSegments: 5 })
    await pushOneByOne(queues, queue, named('a', 90))
    await tidy(queues, queue)
    const offloaded = async () => (await stage.record(queue)).lanes.get(0)?.offloaded
    expect(await offloaded()).toMatchObject({ from: 6 })
    await queues.configure(queue, { bufferSegments: 8 })
    await tidy(queues, queue)
    const recalled = (await stage.record(queue)).lanes.get(0)?.recalled
    expect(recalled).toBe(9)
    await queues.configure(queue, { bufferSegments: 1 })
    const texts: string[] = []
    for (let pop = 0; pop < 30; pop += 1) {
      texts.push(...textsOf((await popItems(stage.engine(), queue, { count: 3 })).items))
      await tidy(queues, queue)
    }
    expect(texts).toEqual(textsOf(named('a', 90)))
  })
})
