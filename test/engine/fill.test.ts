import { expect, it } from 'vitest'
import type { PopRequest } from '../../engine/queues.ts'
import { onSimulated, openSimulated } from './stage.ts'
import { bulky, named, popItems, push, textsOf } from './traffic.ts'

/** A warm engine remembers the queue as it was: appends since do not move the version. */

const ways: readonly [string, PopRequest][] = [
  ['without a lock', {}],
  ['with an exclusive lock', { requireAck: true }],
  ['with a competing lock', { requireAck: true, competing: true }],
]

it.each(ways)(
  'A pop %s fills its count with what others pushed since it last looked.',
  async (_, way) => {
    const stage = openSimulated()
    // Without marks: the mark's own condition would notice what was pushed meanwhile.
    const [consumer, producer, queue] = [stage.engine({ events: false }), stage.engine(), 'queue']
    await push(producer, queue, named('a', 4))
    // A lock that lives on, so that a competing pop may claim.
    await popItems(consumer, queue, { requireAck: true, competing: true, ttlSeconds: 1 })
    const competing = way.competing ?? false
    if (!competing) stage.clock.pass(2_000)
    await popItems(consumer, queue, { competing })
    await push(producer, queue, named('b', 3))
    await push(producer, queue, named('c', 2, 4))
    const { items, more } = await popItems(consumer, queue, { ...way, count: 7 })
    const left = competing ? ['"a2"', '"a3"'] : ['"a1"', '"a2"', '"a3"']
    const expected = [...left, ...textsOf([...named('b', 3), ...named('c', 2, 4)])]
    expect(textsOf(items)).toEqual(expected.slice(0, 7))
    expect(more).toBe(false)
  },
)

it.each([
  [1, 1],
  [3, 3],
])('Where it remembers enough it does not look again: %i of 5.', async (count, taken) => {
  const { queue, queues } = onSimulated()
  await push(
    queues,
    queue,
    Array.from({ length: 5 }, (_, n) => ({ text: bulky(`n${n}`, 30) })),
  )
  const sent = await queues.wire.during(async () => {
    expect((await popItems(queues, queue, { count })).items).toHaveLength(taken)
  })
  expect(sent).toEqual(['UpdateCommand'])
})
