import { rawJson } from '../../../client/index.ts'
import type { Check } from '../check.ts'
import { refused, same } from '../claims.ts'
import { drained, numbers, pushAll } from '../items.ts'

const FULL = { code: 'QUEUE_FULL', status: 429 } as const
const ITEM_BYTES_MAX = 256 * 1024

export const bounds: Check = {
  name: 'bounds',
  promise: 'A request beyond a bound is refused, and nothing of it is stored',
  steps: {
    'A full queue refuses a push, and takes it when there is room again': ({
      withSettings,
      once,
    }) =>
      withSettings(async (it) => {
        await it.configure({ capacity: 3 })
        await pushAll(it, ['a', 'b', 'c'])
        await refused(once(it).push('d'), FULL)
        await it.pop()
        await it.push('e')
        same('the items', await drained(it, 3), ['b', 'c', 'e'])
      }),

    'A bulk push that does not fit leaves nothing': ({ withSettings, once }) =>
      withSettings(async (it) => {
        await it.configure({ capacity: 3 })
        await pushAll(it, ['a', 'b'])
        await refused(pushAll(once(it), ['c', 'd']), FULL)
        same('the items', await drained(it, 2), ['a', 'b'])
      }),

    'An item of more than 256 KiB is refused with 413 and the limit': async ({ queue }) => {
      const it = queue()
      const tooLarge = it.push('x'.repeat(ITEM_BYTES_MAX))
      const error = await refused(tooLarge, { code: 'ITEM_TOO_LARGE', status: 413 })
      same('limit_bytes', error.limitBytes, ITEM_BYTES_MAX)
      same('the count', (await it.inspect({ consistent: true })).count, 0)
    },

    'A body of more than 2.5 MiB is refused with 413': async ({ queue }) => {
      const it = queue()
      const text = rawJson(`"${'x'.repeat(200_000)}"`)
      const body = it.pushMany(numbers(14).map(() => ({ item: text })))
      await refused(body, { code: 'BODY_TOO_LARGE', status: 413 })
      same('the count', (await it.inspect({ consistent: true })).count, 0)
    },

    'A push of more than 1,000 items is refused': async ({ queue }) => {
      const it = queue<number>()
      const status = 400
      await refused(pushAll(it, numbers(1_001)), { code: 'INVALID_ITEM', status, field: 'items' })
      same('the count', (await it.inspect({ consistent: true })).count, 0)
    },
  },
}
