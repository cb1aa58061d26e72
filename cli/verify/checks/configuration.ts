import type { Check } from '../check.ts'
import { holds, refused, same } from '../claims.ts'

export const configuration: Check = {
  name: 'configuration',
  promise: 'Settings change one by one, and only at the revision that If-Match names',
  steps: {
    'A change shows the new settings and leaves the others alone': ({ withSettings }) =>
      withSettings(async (it) => {
        await it.configure({ maxDeliveries: 7, segmentSize: 50 })
        await it.configure({ capacity: 500 })
        const { maxDeliveries, segmentSize, capacity } = await it.configuration()
        same(
          'the settings',
          { maxDeliveries, segmentSize, capacity },
          {
            maxDeliveries: 7,
            segmentSize: 50,
            capacity: 500,
          },
        )
        const after = await it.configure({ maxDeliveries: null })
        same('a setting that was taken away', after.maxDeliveries, undefined)
      }),

    'A change at another revision is refused with 412, and changes nothing': ({ withSettings }) =>
      withSettings(async (it) => {
        const before = await it.configure({ capacity: 10 })
        const after = await it.configure({ capacity: 11 }, { ifMatch: before.etag ?? '' })
        holds(after.etag !== before.etag, 'a change left the ETag as it was')
        const late = it.configure({ capacity: 12 }, { ifMatch: before.etag ?? '' })
        await refused(late, { code: 'VERSION_MISMATCH', status: 412, field: 'If-Match' })
        same('the capacity', (await it.configuration()).capacity, 11)
      }),
  },
}
