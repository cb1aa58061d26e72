import { describe, expect, it } from 'vitest'
import type { Queues } from '../../engine/queues.ts'
import { onSimulated, type Stage } from './stage.ts'
import { bulky, drain, push, tidy } from './traffic.ts'

// What a move of waiting items to a time ahead costs, and how long it tries.

const FAR_MS = 100_000

async function holding(count: number, bytes: number) {
  const { stage, queues, queue } = onSimulated()
  const items = Array.from({ length: count }, (_, n) => ({
    text: bytes > 4 ? bulky(`a${n}`, bytes) : `${n}`,
    priority: n % 10,
  }))
  const ids = [...(await push(queues, queue, items)).ids]
  await push(queues, 'others', [{ text: '"s"', delaySeconds: 1_000 }])
  return { stage, queues, queue, ids, deliverAtMs: stage.clock.nowMs() + FAR_MS }
}

/** Its first transactions find the other queue changed, so many of them. */
function disturbed(stage: Stage, times: number, disturb: () => Promise<unknown>) {
  let transactions = 0
  const engine = stage.engine({
    async before({ name }) {
      if (name === 'TransactWriteCommand' && ++transactions <= times) await disturb()
    },
  })
  return { engine, transactions: () => transactions }
}

const later = { text: '"l"', delaySeconds: 5_000 }
const cancelOne = async (queues: Queues) => {
  const { ids } = await push(queues, 'others', [later])
  await queues.cancel('others', ids)
}

const batches = async (stage: Stage): Promise<number> =>
  (await stage.rows('others', 'b')).length + (await stage.store.objects()).length

describe('A move to a time ahead in a busy queue', () => {
  it('writes its batches once, however often it loses.', async () => {
    const { stage, queues, queue, ids, deliverAtMs } = await holding(20, 900)
    const { engine, transactions } = disturbed(stage, 5, () => cancelOne(queues))
    const moving = () => engine.move(queue, { ids, deliverAtMs, queue: 'others' })
    const sent = await engine.wire.during(moving)
    expect(transactions()).toBe(6)
    expect(
      sent.filter((name) => name === 'BatchWriteCommand' || name === 'PutCommand').length,
    ).toBe(10)
    expect(await batches(stage)).toBe(10)
    expect((await queues.inspect('others')).scheduledCount).toBe(21)
    stage.clock.pass(FAR_MS + 1_000)
    expect(await drain(queues, 'others')).toHaveLength(20)
  })

  it('gives up after eight tries, says that nothing has changed, and leaves no batch.', async () => {
    const { stage, queues, queue, ids, deliverAtMs } = await holding(20, 900)
    const { engine, transactions } = disturbed(stage, 1_000, () => cancelOne(queues))
    const moving = engine.move(queue, { ids, deliverAtMs, queue: 'others' })
    await expect(moving).rejects.toMatchObject({ code: 'BUSY', outcome: undefined })
    expect(transactions()).toBe(8)
    expect(await batches(stage)).toBe(0)
    expect(await drain(queues, queue)).toHaveLength(20)
    expect((await queues.inspect('others')).scheduledCount).toBe(1)
  })

  it('gives its items other ids where those that it had would no longer lead to them.', async () => {
    const { stage, queues, queue, ids, deliverAtMs } = await holding(20, 900)
    let { ids: moving } = await push(queues, 'others', [later])
    const { engine } = disturbed(stage, 1, async () => {
      for (let seal = 0; seal < 20; seal += 1) {
        const far = stage.clock.nowMs() + 5_000_000 + 1_000 * seal
        const [one] = await queues.move('others', { ids: moving, deliverAtMs: far })
        moving = [(one?.result === 'moved' && one.newId) || '']
      }
    })
    const results = await engine.move(queue, { ids, deliverAtMs, queue: 'others' })
    const newIds = results.map((one) => (one.result === 'moved' && one.newId) || '')
    const cancelled = await queues.cancel('others', newIds)
    expect(new Set(cancelled.map(({ result }) => result))).toEqual(new Set(['cancelled']))
    await tidy(queues, 'others')
    expect(await batches(stage)).toBe(0)
  })
})

describe('A move of tiny items to a time ahead', () => {
  it('writes no batch, of however many priorities they are.', async () => {
    const { stage, queues, queue, ids, deliverAtMs } = await holding(50, 2)
    const engine = stage.engine()
    const moving = () => engine.move(queue, { ids, deliverAtMs })
    const sent = await engine.wire.during(moving)
    expect(sent.at(-2)).toBe('TransactWriteCommand')
    expect(sent.filter((name) => name === 'BatchWriteCommand' || name === 'PutCommand')).toEqual([])
    stage.clock.pass(FAR_MS + 1_000)
    const texts = (await drain(queues, queue)).map(({ text, priority }) => [priority, text])
    expect(texts).toEqual(
      ids.map((_, n) => [Math.floor(n / 5), `${(n % 5) * 10 + Math.floor(n / 5)}`]),
    )
  })

  it('writes a batch of the large ones beside them.', async () => {
    const { stage, queues, queue } = await holding(1, 4)
    const items = [{ text: bulky('big', 3_000) }, { text: '"t"', priority: 7 }]
    const { ids } = await push(queues, queue, items)
    const deliverAtMs = stage.clock.nowMs() + FAR_MS
    await queues.move(queue, { ids, deliverAtMs, queue: 'others' })
    expect(await batches(stage)).toBe(1)
    stage.clock.pass(FAR_MS + 1_000)
    expect(await drain(queues, 'others')).toHaveLength(2)
  })
})
