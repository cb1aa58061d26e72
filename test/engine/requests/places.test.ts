import fc from 'fast-check'
import { expect, it } from 'vitest'
import { encodeReference } from '../../../engine/core/item.ts'
import { newLane } from '../../../engine/core/record.ts'
import { ItemPlaces } from '../../../engine/requests/item-reader.ts'

const lanes = ['abcdefgh', 'ijklmnop'].flatMap((epoch) => [
  newLane({ priority: 0, epoch, segmentSize: 100 }),
  newLane({ priority: 3, epoch, segmentSize: 100 }),
])
const references = ['11111111', '22222222'].map((batch) =>
  encodeReference({ storage: 'rows', batch, count: 1_000, partItems: 100, partBytes: [] }),
)

it('Each item is looked for in its own segment and in its own part, whatever was looked for before.', () => {
  const one = fc.record({
    lane: fc.constantFrom(...lanes),
    reference: fc.constantFrom(...references),
    n: fc.nat(999),
  })
  fc.assert(
    fc.property(fc.array(one), (all) => {
      const places = new ItemPlaces('orders')
      for (const { lane, reference, n } of all) {
        const segment = Math.floor(n / 100)
        expect(places.segmentKey(lane, n)).toBe(`orders/${lane.epoch}/${lane.priority}/${segment}`)
        expect(places.partOf({ reference, index: n })).toMatchObject({
          key: `orders/${reference.slice(2, 10)}/${segment}`,
          reference: { batch: reference.slice(2, 10) },
          part: segment,
          at: n % 100,
        })
      }
    }),
  )
})
