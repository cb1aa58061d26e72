import { expect, test } from 'vitest'
import type { ItemOptions } from '../../client/queue.ts'
import { answers, clientOf } from './scripted.ts'

const pushed = answers(200, { success: true, items_pushed: 1, ids: ['i0'] })

const rows: readonly (readonly [string, ItemOptions, object])[] = [
  ['nothing, where it has no expiry', {}, {}],
  ['how long it lives', { expiresInSeconds: 60 }, { expires_in_seconds: 60 }],
  ['its time, of a date', { expiresAt: new Date(1_500) }, { expires_at: 1.5 }],
  ['its time, of milliseconds', { expiresAt: 2_000, priority: 1 }, { expires_at: 2, priority: 1 }],
]

test.each(rows)('A push says of its item %s.', async (_, options, expected) => {
  const { queue, asked } = clientOf([pushed])
  await queue.push('a', options)
  await queue.pushMany([{ item: 'a', ...options }])
  expect(JSON.parse(asked[0]?.body ?? '')).toEqual({ item: 'a', ...expected })
  expect(JSON.parse(asked[1]?.body ?? '')).toEqual({ items: [{ item: 'a', ...expected }] })
})

test('An expiry that the service would refuse harms no other push that lingers.', async () => {
  const two = answers(200, { success: true, items_pushed: 2, ids: ['i0', 'i1'] })
  const { queue, asked } = clientOf([pushed, two], { linger: true })
  await Promise.all([
    queue.push('bad', { expiresInSeconds: 1.5 }),
    queue.push('a', { expiresInSeconds: 2 }),
    queue.push('b'),
  ])
  expect(asked).toHaveLength(2)
})

test('A popped item tells when it expires, in milliseconds.', async () => {
  const details = [{ id: 'i', priority: 0, pushed_at: 1, deliveries: 1, expires_at: 1.5 }]
  const { queue } = clientOf([answers(200, { items: [1], count: 1, details, more: true })])
  expect(await queue.pop()).toMatchObject({ items: [{ expiresAtMs: 1_500 }], more: true })
})
