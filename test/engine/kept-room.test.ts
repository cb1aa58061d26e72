import { DeleteCommand } from '@aws-sdk/lib-dynamodb'
import { describe, expect, it } from 'vitest'
import type { PushItem } from '../../engine/queues.ts'
import { transactionCanceledByConflict } from '../../testing/simulated/network.ts'
import { type EngineOnWire, openSimulated, type Stage } from './stage.ts'
import { codeOf, expectCode, named, popItems, push } from './traffic.ts'
import { throttled } from './wire.ts'

// Room that a queue keeps for items that are due, and calls that find no other.

const CAPACITY = 5

/** A queue that was full when these came due; `pop` frees room for three, which it keeps for them. */
async function keeping(pushes: readonly (readonly PushItem[])[]) {
  const stage = openSimulated()
  const [queues, queue] = [stage.engine(), stage.queue()]
  await queues.configure(queue, { capacity: CAPACITY })
  for (const due of pushes) await push(queues, queue, due)
  await push(queues, queue, named('a', CAPACITY))
  stage.clock.pass(20_000)
  return { stage, queues, queue, pop: () => popItems(queues, queue, { count: 3 }) }
}

const one: readonly PushItem[] = [{ text: '"due"', delaySeconds: 10 }]
/** A queue keeps no more room than all that is scheduled would take. */
const muchLater: readonly PushItem[] = named('later', 2).map((item) => ({
  ...item,
  delaySeconds: 3_600,
}))
/** More than there is room for, and in one batch: what joins has to be read from it. */
const large: readonly PushItem[] = named('due', 40).map(({ text }) => ({
  text: JSON.stringify(text.padEnd(20_000)),
  delaySeconds: 10,
}))

/** An engine that cannot read any batch. */
const withoutBatches = (stage: Stage): EngineOnWire =>
  stage.engine({
    before({ service, input }) {
      if (service === 's3' || JSON.stringify(input).includes('b#')) throw throttled()
    },
  })

describe('Items that come from another queue', () => {
  const moveOne = async (stage: Stage, queue: string) => {
    const [queues, from] = [stage.engine(), stage.queue()]
    const { ids } = await push(queues, from, named('b', 1))
    const [moved] = await queues.move(from, { ids, queue })
    return moved?.result
  }

  it('find the room that due items leave.', async () => {
    const { stage, queue, pop } = await keeping([one, muchLater])
    await pop()
    expect(await moveOne(stage, queue)).toBe('moved')
    expect(await stage.record(queue)).toMatchObject({ room: 1, keptRoom: 0 })
  })

  it('find all of it if nothing is due any more.', async () => {
    const { stage, queues, queue, pop } = await keeping([one, muchLater])
    await pop()
    const { items } = await queues.scheduled(queue)
    await queues.cancel(
      queue,
      items.map(({ id }) => id),
    )
    expect(await moveOne(stage, queue)).toBe('moved')
  })

  it('do not come before what is due.', async () => {
    const { stage, queues, queue, pop } = await keeping([one, one, one])
    await pop()
    await expectCode(moveOne(stage, queue), 'QUEUE_FULL')
    expect(await queues.inspect(queue, { consistent: true })).toMatchObject({ scheduledCount: 0 })
  })
})

describe('A push that finds no room', () => {
  it('gives kept room back if nobody can read what is due.', async () => {
    const { stage, queue } = await keeping([large])
    const broken = withoutBatches(stage)
    for (let pops = 0; pops < CAPACITY; pops += 1) await popItems(broken, queue)
    await expectCode(broken.pop(queue), 'STORE_UNAVAILABLE')
    expect(await stage.record(queue)).toMatchObject({ room: 0, keptRoom: CAPACITY })
    await push(broken, queue, named('b', CAPACITY))
    expect(await stage.record(queue)).toMatchObject({ room: 0, keptRoom: 0 })
    expect(stage.background.map(({ step }) => step)).toContain('join')
  })

  it('gives kept room back if what is due is lost, and the sweeper reports that.', async () => {
    const { stage, queues, queue, pop } = await keeping([large])
    for (const { pk, sk } of await stage.rows(queue, 'b')) {
      const TableName = stage.store.tableName
      await stage.store.dynamodb.send(new DeleteCommand({ TableName, Key: { pk, sk } }) as never)
    }
    await pop()
    const { failed } = await stage.engine().returnExpiredLocks()
    expect(failed).toMatchObject([{ queue, error: { code: 'SEGMENT_UNAVAILABLE' } }])
    await push(queues, queue, named('b', 3))
    expect(await stage.record(queue)).toMatchObject({ room: 0, keptRoom: 0 })
  })

  it('writes once where kept room does not help, because the queue holds more than it may.', async () => {
    const { stage, queues, queue, pop } = await keeping([one, muchLater])
    await pop()
    await queues.configure(queue, { capacity: 1 })
    const producer = stage.engine()
    const refused = () =>
      producer.wire.during(() => expectCode(push(producer, queue, named('b', 1)), 'QUEUE_FULL'))
    expect((await refused()).length).toBeLessThanOrEqual(3)
    expect((await refused()).length).toBeLessThanOrEqual(1)
  })

  it('hears so soon if others keep what is due from joining.', async () => {
    // So many that some of them are in rows, so that a join is a transaction.
    const { stage, queue } = await keeping(Array.from({ length: 60 }, () => one))
    const crowded = stage.engine({
      before({ name }) {
        if (name === 'TransactWriteCommand') throw transactionCanceledByConflict(2)
      },
    })
    await popItems(crowded, queue)
    expect((await stage.record(queue)).keptRoom).toBe(1)
    const [sinceMs, sent] = [stage.clock.now, crowded.wire.sent.length]
    expect(await codeOf(push(crowded, queue, named('b', 1)))).toBe('QUEUE_FULL')
    expect(stage.clock.now - sinceMs).toBeLessThan(1_000)
    expect(crowded.wire.sent.length - sent).toBeLessThan(12)
  })
})
