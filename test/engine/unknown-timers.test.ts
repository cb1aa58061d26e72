import { PutCommand } from '@aws-sdk/lib-dynamodb'
import { expect, it } from 'vitest'
import { shardOf } from '../../engine/core/keys.ts'
import { openSimulated } from './stage.ts'
import { lockItems, named, push } from './traffic.ts'

const QUEUE = 'orders'

/** Rows that a later release may put into the index beside records, one of them before all else in the shard. */
async function withOtherRows() {
  const stage = openSimulated()
  const queues = stage.engine()
  await push(queues, QUEUE, named('a', 1))
  await lockItems(queues, QUEUE, { ttlSeconds: 10 })
  const { tableName: TableName, dynamodb } = stage.store
  const due = stage.clock.nowMs()
  const rows = Array.from({ length: 150 }, (_, n) => ({
    ...(n === 0 ? { pk: 'x', sk: 'queue' } : { pk: `p#${QUEUE}`, sk: `permits-${n}` }),
    shard: shardOf(QUEUE),
    checkAt: n < 120 ? due : due + 60_000,
    H: { holder: due },
  }))
  for (const Item of rows) await dynamodb.send(new PutCommand({ TableName, Item }) as never)
  stage.clock.pass(20_000)
  return { stage, rows }
}

it('The sweeper passes over timers of rows that it does not know, and ends the locks behind them.', async () => {
  const { stage, rows } = await withOtherRows()
  const { queues, itemsReturned, failed, lagMs, nextDueMs } = await stage
    .engine()
    .returnExpiredLocks()
  expect({ queues, itemsReturned, failed }).toEqual({ queues: 1, itemsReturned: 1, failed: [] })
  expect(lagMs).toBe(10_000)
  // Wake does not stay awake for them.
  expect(nextDueMs).toBeUndefined()
  const stored = (await stage.store.rows()).filter(({ H }) => H !== undefined)
  expect(stored).toEqual(expect.arrayContaining(rows))
  expect(stored).toHaveLength(rows.length)
})
