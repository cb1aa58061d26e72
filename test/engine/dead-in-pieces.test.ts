import { describe, expect, it } from 'vitest'
import type { PushItem } from '../../engine/queues.ts'
import { deadLetterQueueOf } from '../../shared/bounds.ts'
import { onSimulated } from './stage.ts'
import { bulky, drain, lockItems, pushOneByOne, textsOf, tidy } from './traffic.ts'
import { throttled } from './wire.ts'

/** Every other item expires, so those that die lie in as many stretches; a lock has the others. */
async function inPieces(count: number, text = (n: number) => `"a${n}"`) {
  const { stage, queues, queue } = onSimulated()
  const dead = deadLetterQueueOf(queue)
  await queues.configure(queue, {
    expired: 'dead_letter',
    maxDeliveries: 1,
    segmentSize: 10,
    bufferSegments: 1,
  })
  const items: PushItem[] = Array.from({ length: count }, (_, n) => ({
    text: text(n),
    ...(n % 2 === 0 && { expiresInSeconds: 10 }),
  }))
  await pushOneByOne(queues, queue, items)
  await tidy(queues, queue)
  stage.clock.pass(10_000)
  const { lock } = await lockItems(queues, queue, { count: 100 })
  const pieces = (await stage.record(queue)).lanes.get(0)?.dead.length
  return { stage, queues, queue, dead, lock, pieces }
}

const transactionsIn = (sent: readonly string[]) =>
  sent.filter((name) => name === 'TransactWriteCommand').length

describe('Dead items that lie in many places of a lane', () => {
  it('go together, up to a hundred a transaction, in order.', async () => {
    const { stage, queue, dead, pieces } = await inPieces(240)
    expect(pieces).toBe(100)
    const process = stage.engine()
    const sent = await process.wire.during(() => tidy(process, queue))
    // Those in rows, those in S3, and those in the rows behind them.
    expect(transactionsIn(sent)).toBe(3)
    const evens = Array.from({ length: 100 }, (_, n) => `"a${2 * n}"`)
    expect(textsOf(await drain(process, dead))).toEqual(evens)
  })

  it('keep their own reasons and deliveries.', async () => {
    const { stage, queues, queue, dead, lock } = await inPieces(8)
    await queues.release(queue, { lockId: lock.id })
    const process = stage.engine()
    const sent = await process.wire.during(() => tidy(process, queue))
    expect(transactionsIn(sent)).toBe(1)
    const expected = Array.from({ length: 8 }, (_, n) => ({
      text: `"a${n}"`,
      reason: n % 2 === 0 ? 'expired' : 'max_deliveries',
      priorDeliveries: n % 2,
    }))
    expect((await process.browse(dead)).items).toMatchObject(expected)
    expect(await process.inspect(queue, { consistent: true })).toMatchObject({ count: 0 })
  })

  it('go as far as one transaction has room for large ones.', async () => {
    const { stage, queue, dead } = await inPieces(40, (n) => bulky(`n${n}`, 200_000))
    await tidy(stage.engine(), queue)
    const { items } = await stage.engine().browse(dead, { limit: 100 })
    expect(items).toHaveLength(20)
  })

  it('move out of rows, in front of others that are out of reach in S3.', async () => {
    const { stage, queues, queue, dead, pieces } = await inPieces(100)
    expect(pieces).toBe(50)
    const before = ({ service }: { service: string }) => {
      if (service === 's3') throw throttled()
    }
    await stage.engine({ before }).housekeep(queue)
    const first = (await queues.browse(dead, { limit: 100 })).items
    expect([first.length > 0, first.length < 50]).toEqual([true, true])
    await tidy(queues, queue)
    const evens = Array.from({ length: 50 }, (_, n) => `"a${2 * n}"`)
    expect(textsOf((await queues.browse(dead, { limit: 100 })).items)).toEqual(evens)
  })

  it('move out of one object in S3, in front of others that are out of reach in the next.', async () => {
    const { stage, queues, queue, dead } = await inPieces(100)
    const outOfReach = async (objects: number) => {
      const known = new Set<unknown>()
      const process = stage.engine({
        before({ service, name, input }) {
          if (service !== 's3' || name !== 'GetObjectCommand') return
          if (known.size < objects) known.add(input.Key)
          if (!known.has(input.Key)) throw throttled()
        },
      })
      await process.housekeep(queue)
      return (await queues.browse(dead, { limit: 100 })).items.length
    }
    const inRows = await outOfReach(0)
    expect(await outOfReach(1)).toBeGreaterThan(inRows)
  })
})
