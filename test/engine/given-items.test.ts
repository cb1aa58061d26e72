// What no compiler has checked: a name that a push does not know may be the time that its item is for, and seconds
// where milliseconds belong would be a time in 1970, which is now.

import { describe, expect, it } from 'vitest'
import type { BrowsePage, PushItem, Queues } from '../../engine/queues.ts'
import type { Names } from '../../shared/options.ts'
import '../support/engine-loaded.ts'
import { openSimulated } from './stage.ts'

// biome-ignore lint/suspicious/noExplicitAny: what no compiler has checked.
const given = (item: object): any => ({ text: '1', ...item })

const unsent = () => {
  throw new Error('it was sent')
}

const pushes: readonly (readonly [
  string,
  (to: Queues, queue: string, ...items: PushItem[]) => Promise<unknown>,
])[] = [
  ['push', (queues, queue, ...items) => queues.push(queue, { items })],
  [
    'push with a key',
    (queues, queue, ...items) => queues.push(queue, { items, idempotencyKey: 'k' }),
  ],
  ['transact', (queues, queue, ...items) => queues.transact(queue, items, unsent)],
]

function onSimulated(linger: boolean) {
  const stage = openSimulated()
  const [queues, queue] = [stage.engine({ linger }), stage.queue()]
  return { queues, queue }
}

const ways = pushes.flatMap(([name, send]) =>
  [false, true].map((linger) => ({ name: linger ? `${name}, lingering,` : name, send, linger })),
)

describe('An item of a push', () => {
  it.each(ways)(
    'with a name that $name does not know is refused with the name that is meant.',
    async ({ send, linger }) => {
      const { queues, queue } = onSimulated(linger)
      const one = send(queues, queue, given({ delay_seconds: 60 }))
      await expect(one).rejects.toThrow(
        new TypeError('Unknown option "delay_seconds" in item: it is delaySeconds'),
      )
      const two = send(queues, queue, given({}), given({ expires: 5 }))
      await expect(two).rejects.toThrow(
        'Unknown option "expires" in items[1]: there are text, priority',
      )
      expect((await queues.list({ prefix: queue })).queues).toEqual([])
    },
  )

  it.each(ways)(
    'for a time in seconds is refused by $name, which takes milliseconds.',
    async ({ send, linger }) => {
      const { queues, queue } = onSimulated(linger)
      for (const [name, field] of [
        ['deliverAtMs', 'deliver_at'],
        ['expiresAtMs', 'expires_at'],
      ] as const) {
        for (const ms of [1_000_000_000, 1_700_000_000, 99_999_999_999]) {
          await expect(send(queues, queue, given({}), given({ [name]: ms }))).rejects.toMatchObject(
            {
              code: 'INVALID_PARAMETER',
              field: `items[1].${field}`,
              message: `items[1].${field} takes milliseconds in code, and ${ms} looks like seconds`,
            },
          )
        }
      }
      expect((await queues.list({ prefix: queue })).queues).toEqual([])
    },
  )
})

it('An item may be pushed to another queue as it came out of one.', async () => {
  const { queues, queue } = onSimulated(false)
  const names: Names<Required<Omit<BrowsePage['items'][number], keyof PushItem>>> = {
    id: 0,
    pushedAtMs: 0,
    deliveries: 0,
    scheduledId: 0,
    dueMs: 0,
    reason: 0,
    deadLetteredAtMs: 0,
    priorDeliveries: 0,
    state: 0,
    retryAtMs: 0,
  }
  const told = Object.fromEntries(Object.keys(names).map((name) => [name, 1]))
  await queues.push(queue, { items: [given({ priority: 3, ...told })] })
  const popped = await queues.pop(queue)
  await queues.push(queue, { items: popped.kind === 'items' ? popped.items : [] })
  expect((await queues.browse(queue)).items).toMatchObject([{ text: '1', priority: 3 }])
})

it('A name without a value counts as absent, and a time long past is now.', async () => {
  const { queues, queue } = onSimulated(false)
  const items = [
    given({ delay_seconds: undefined }),
    ...[0, 5_000, 999_999_999, 100_000_000_000].map((deliverAtMs) => given({ deliverAtMs })),
  ]
  const { ids } = await queues.push(queue, { items })
  expect(ids).toHaveLength(5)
  expect(await queues.inspect(queue)).toMatchObject({ count: 5, scheduledCount: 0 })
})

const takers: readonly (readonly [
  string,
  string,
  (queues: Queues, queue: string, ms: number) => Promise<unknown>,
])[] = [
  [
    'move',
    'deliver_at',
    (queues, queue, deliverAtMs) => queues.move(queue, { ids: ['AAAAAAAA-0-0'], deliverAtMs }),
  ],
  ['scheduled', 'from', (queues, queue, fromMs) => queues.scheduled(queue, { fromMs })],
  ['scheduled', 'to', (queues, queue, toMs) => queues.scheduled(queue, { toMs })],
  [
    'putSchedule',
    'starts_at',
    (queues, queue, startsAtMs) =>
      queues.putSchedule(queue, 's', { text: '1', everySeconds: 60, startsAtMs }),
  ],
  [
    'putSchedule',
    'ends_at',
    (queues, queue, endsAtMs) =>
      queues.putSchedule(queue, 's', { text: '1', everySeconds: 60, endsAtMs }),
  ],
]

it.each(takers)('%s refuses a time in seconds, and names %s.', async (_, field, call) => {
  const { queues, queue } = onSimulated(false)
  for (const [ms, words] of [
    [1_700_000_000, 'takes milliseconds in code, and 1700000000 looks like seconds'],
    [Number.NaN, 'must be a time, in code in milliseconds'],
  ] as const) {
    await expect(call(queues, queue, ms)).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
      field,
      message: `${field} ${words}`,
    })
  }
})
