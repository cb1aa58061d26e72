import { setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { openSimulated, type Stage } from './stage.ts'
import { bulky, expectCode, push } from './traffic.ts'
import type { Request } from './wire.ts'

// Callers wait for batches that are written or deleted: several at a time.

const LANES = 40

/** One item for each of many priorities, so large together that each goes into a batch. */
const items = Array.from({ length: LANES }, (_, priority) => ({ text: bulky('a', 200), priority }))

/** An engine, and how many such requests it has had under way at once. */
function counting(stage: Stage, isCounted: (request: Request) => boolean) {
  const counted = { now: 0, most: 0 }
  const queues = stage.engine({
    async before(request) {
      if (!isCounted(request)) return
      counted.now += 1
      counted.most = Math.max(counted.most, counted.now)
      await turn()
    },
    after(request) {
      if (isCounted(request)) counted.now -= 1
    },
  })
  return { queues, counted }
}

it('A push to many priorities that is refused deletes its batches side by side.', async () => {
  const stage = openSimulated()
  const queue = stage.queue()
  const { queues, counted } = counting(stage, ({ name }) => name === 'BatchWriteCommand')
  await queues.configure(queue, { capacity: LANES })
  await push(queues, queue, items.slice(0, 1))
  await expectCode(push(queues, queue, items), 'QUEUE_FULL')
  expect(counted).toEqual({ now: 0, most: 16 })
  expect(await stage.rows(queue, 'b')).toEqual([])
})

it('A join to many priorities writes its batches side by side.', async () => {
  const stage = openSimulated()
  const queue = stage.queue()
  const producer = stage.engine()
  const deliverAtMs = stage.clock.now + 10_000
  for (const item of items.slice(0, 20)) {
    await push(producer, queue, [{ ...item, deliverAtMs }])
  }
  stage.clock.pass(11_000)
  const { queues, counted } = counting(stage, ({ name }) => name === 'PutCommand')
  await queues.pop(queue)
  expect(counted).toEqual({ now: 0, most: 8 })
})
