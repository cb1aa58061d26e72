// Times go to the service in seconds; callers give a Date or milliseconds. What is neither must not be taken for
// another time.

import { expect, test } from 'vitest'
import { answers, clientOf } from './scripted.ts'

type Queue = ReturnType<typeof clientOf>['queue']
// biome-ignore lint/suspicious/noExplicitAny: what no compiler has checked.
type Given = any

const takers: readonly (readonly [string, (queue: Queue, time: Given) => Promise<unknown>])[] = [
  ['deliverAt', (queue, deliverAt) => queue.push(1, { deliverAt })],
  ['expiresAt', (queue, expiresAt) => queue.push(1, { expiresAt })],
  [
    'items[1].deliverAt',
    (queue, deliverAt) => queue.pushMany([{ item: 1 }, { item: 2, deliverAt }]),
  ],
  ['deliverAt', (queue, deliverAt) => queue.move(['i'], { deliverAt })],
  ['from', (queue, from) => queue.scheduled({ from })],
  ['to', (queue, to) => queue.scheduled({ to })],
  [
    'startsAt',
    (queue, startsAt) => queue.schedules.put('s', { item: 1, everySeconds: 60, startsAt }),
  ],
  ['endsAt', (queue, endsAt) => queue.schedules.put('s', { item: 1, everySeconds: 60, endsAt })],
]

const wrong: readonly (readonly [unknown, string])[] = [
  [1_924_992_000, '1924992000 looks like seconds'],
  [new Date(1_924_992_000), '1924992000 looks like seconds'],
  ['2031-01-01', 'is 2031-01-01'],
  [new Date('nope'), 'is Invalid Date'],
  [Number.NaN, 'is NaN'],
  [null, 'is null'],
]

test.each(
  takers.flatMap(([field, call]) => wrong.map(([time, why]) => ({ field, time, why, call }))),
)(
  '$field refuses $time, because it $why, and sends nothing.',
  async ({ field, time, why, call }) => {
    const { queue, asked } = clientOf([answers(200, {})])
    await expect(call(queue, time)).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
      field,
      message: `${field} must be a Date or milliseconds since 1970, and ${why}`,
    })
    expect(asked).toEqual([])
  },
)

test('A time that has passed is sent as it is: the service takes it for now.', async () => {
  const { queue, asked } = clientOf([answers(200, { success: true, items_pushed: 1, ids: ['i'] })])
  for (const deliverAt of [0, 5_000, Date.parse('1995-01-01T00:00Z')]) {
    await queue.push(1, { deliverAt })
    expect(JSON.parse(asked.at(-1)?.body ?? '')).toEqual({ item: 1, deliver_at: deliverAt / 1_000 })
  }
})

test('A schedule takes its bounds as dates and as milliseconds.', async () => {
  const { queue, asked } = clientOf([answers(200, { name: 's', item: 1 })])
  const startsAt = new Date('2031-01-01T00:00Z')
  await queue.schedules.put('s', {
    item: 1,
    everySeconds: 60,
    startsAt,
    endsAt: startsAt.getTime() + 5_000,
  })
  expect(JSON.parse(asked[0]?.body ?? '')).toEqual({
    item: 1,
    every_seconds: 60,
    starts_at: 1_924_992_000,
    ends_at: 1_924_992_005,
  })
})
