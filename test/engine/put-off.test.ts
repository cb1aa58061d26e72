import { describe, expect, it } from 'vitest'
import type { MoveRequest, PoppedItem, PushItem, Queues } from '../../lambdas/engine/queues.ts'
import { type EngineOnWire, onSimulated, type Stage } from './stage.ts'
import {
  bulky,
  drain,
  lockItems,
  named,
  popItems,
  push,
  pushOneByOne,
  textsOf,
  tidy,
} from './traffic.ts'

// A move of items that wait to a time ahead: they are scheduled then.

const FAR_MS = 100_000
const competing = { requireAck: true, competing: true, ttlSeconds: 60 } as const

/** The results in a row, and the new ids of those that were moved. */
async function moved(queues: Queues, queue: string, request: MoveRequest) {
  const results = await queues.move(queue, request)
  expect(results.map(({ id }) => id)).toEqual(request.ids)
  return {
    results: results.map(({ result }) => result).join(' '),
    newIds: results.flatMap((it) => (it.result === 'moved' && it.newId ? [it.newId] : [])),
  }
}

async function holding(items: readonly PushItem[]) {
  const { stage, queues, queue } = onSimulated()
  const ids = await pushOneByOne(queues, queue, items)
  const at = (n: number) => ids[n] as string
  return { stage, queues, queue, ids, at, deliverAtMs: stage.clock.nowMs() + FAR_MS }
}

/** Cut to the name of the item: `a7`. */
const nameOf = (text: string): string => text.slice(1).split(/[:"]/)[0] as string
const namesOf = (items: readonly { readonly text: string }[]): string =>
  items.map(({ text }) => nameOf(text)).join(' ')

const bulk = (count: number, bytes: number): PushItem[] =>
  Array.from({ length: count }, (_, n) => ({ text: bulky(`a${n}`, bytes), priority: n % 2 }))

/** Twelve items of two priorities, wherever items can lie: `[what, how they come there]`. */
const places: readonly [string, (queues: EngineOnWire, queue: string) => Promise<string[]>][] = [
  ['in the record', (queues, queue) => pushOneByOne(queues, queue, bulk(12, 60))],
  [
    'in rows',
    async (queues, queue) => {
      const ids = await pushOneByOne(queues, queue, bulk(12, 400))
      await tidy(queues, queue)
      return ids
    },
  ],
  ['in a batch of rows', async (queues, queue) => [...(await push(queues, queue, bulk(12, 300))).ids]],
  ['in a batch in S3', async (queues, queue) => [...(await push(queues, queue, bulk(12, 4_000))).ids]],
  [
    'in segments in S3',
    async (queues, queue) => {
      await queues.configure(queue, { segmentSize: 2 })
      const ids = await pushOneByOne(queues, queue, bulk(12, 400))
      await tidy(queues, queue)
      return ids
    },
  ],
  [
    'waiting for their retry',
    async (queues, queue) => {
      const ids = await pushOneByOne(queues, queue, bulk(12, 60))
      for (let n = 0; n < 3; n += 1) {
        const { lock } = await lockItems(queues, queue, { ...competing, count: 4 })
        await queues.release(queue, { lockId: lock.id, delaySeconds: 500, overtake: true })
      }
      return ids
    },
  ],
  [
    'of a lock whose time is over',
    async (queues, queue) => {
      const ids = await pushOneByOne(queues, queue, bulk(12, 60))
      await lockItems(queues, queue, { ...competing, count: 12, ttlSeconds: 1 })
      return ids
    },
  ],
]

/** Pushed in this order: 0 … 11, the even ones to priority 0. */
const CHOSEN = [7, 2, 3, 10, 0]
const IN_ORDER = 'a0 a2 a10 a3 a7'

async function expectPutOff(
  stage: Stage,
  queues: EngineOnWire,
  queue: string,
  ids: readonly string[],
  target: { readonly to: string; readonly priority: number | undefined },
): Promise<void> {
  const { to, priority } = target
  const pushedAtMs = stage.clock.nowMs() - 2_000
  const deliverAtMs = stage.clock.nowMs() + FAR_MS
  const request = { ids: CHOSEN.map((n) => ids[n] as string), deliverAtMs, priority }
  const other = to === queue ? {} : { queue: to }
  const { results, newIds } = await moved(queues, queue, { ...request, ...other })
  expect(results).toBe('moved moved moved moved moved')
  expect(newIds.every((id) => id.startsWith('t-'))).toBe(true)
  expect((await moved(queues, queue, { ...request, ...other })).results).toBe(
    'gone gone gone gone gone',
  )
  expect(await queues.inspect(to)).toMatchObject({ scheduledCount: 5 })
  expect((await queues.inspect(queue)).count).toBe(7)
  const { items } = await queues.scheduled(to)
  expect(namesOf(items)).toBe(IN_ORDER)
  expect(items.map(({ id }) => id)).toEqual([4, 1, 3, 2, 0].map((n) => newIds[n]))
  stage.clock.pass(FAR_MS - 1_000)
  expect(namesOf(await popped(queues, to)).split(' ')).not.toContain('a0')
  stage.clock.pass(1_000)
  const joined = await popped(queues, to)
  expect(namesOf(joined)).toBe(IN_ORDER)
  for (const [n, item] of joined.entries()) {
    expect(item).toMatchObject({
      priority: priority ?? (n < 3 ? 0 : 1),
      dueMs: 1_000 * Math.ceil(deliverAtMs / 1_000),
      scheduledId: items[n]?.id,
      deliveries: 1,
    })
    expect(item.pushedAtMs).toBe(pushedAtMs)
  }
}

const popped = async (queues: Queues, queue: string): Promise<PoppedItem[]> => {
  const outcome = await queues.pop(queue, { count: 100 })
  return outcome.kind === 'items' ? [...outcome.items] : []
}

describe('A move of waiting items to a time ahead', () => {
  const rows = places.flatMap(([what, fill]) =>
    (['the same', 'another'] as const).flatMap((where) =>
      [undefined, 3].map((priority) => [what, where, priority, fill] as const),
    ),
  )

  it.each(rows)(
    'takes items %s to a time in %s queue, at priority %s: no pop has them until then.',
    async (_, where, priority, fill) => {
      const { stage, queues, queue } = onSimulated()
      const to = where === 'the same' ? queue : stage.queue()
      const ids = await fill(queues, queue)
      stage.clock.pass(2_000)
      await expectPutOff(stage, queues, queue, ids, { to, priority })
      stage.clock.pass(1_000_000)
      if (to !== queue) await drain(queues, queue)
      await drain(queues, to)
      for (const one of new Set([queue, to])) {
        expect(await queues.inspect(one)).toMatchObject({ count: 0, scheduledCount: 0 })
      }
    },
  )
})
