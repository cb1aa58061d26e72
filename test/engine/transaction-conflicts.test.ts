import { expect, it } from 'vitest'
import { simulateProducers } from '../../bench/simulated-producers.ts'
import { deadLetterQueueOf } from '../../shared/bounds.ts'
import { openSimulated } from './stage.ts'
import { lockItems, named, push } from './traffic.ts'
import type { Request } from './wire.ts'

/**
 * On AWS a transaction holds its items for some milliseconds, and whatever else writes to them meanwhile
 * is refused. Taken for throttling, these refusals made 643 of some thousand pushes give up.
 */
it('Beside transactions of others, hardly any producer has to come back.', async () => {
  const result = await simulateProducers({
    producers: 64,
    keyed: 24,
    transacting: 32,
    seconds: 4,
    itemBytes: 200,
    slowTransactions: true,
  })
  expect(result.transacting.done).toBeGreaterThan(50)
  expect(result.keyed.done).toBeGreaterThan(50)
  expect(result.gaveWay / (result.done + result.gaveWay)).toBeLessThanOrEqual(0.02)
})

it('Between two transactions that move items, others have as much time as the first took.', async () => {
  const stage = openSimulated()
  const { clock } = stage
  const [queues, queue] = [stage.engine(), 'queue']
  for (const priority of [0, 1, 2]) await push(queues, queue, named('a', 1, priority))
  const { lock } = await lockItems(queues, queue, { count: 3 })
  await queues.deadLetter(queue, { lockId: lock.id })
  const transactions: { readonly from: number; to: number }[] = []
  const isOne = ({ name }: Request): boolean => name === 'TransactWriteCommand'
  const mover = stage.engine({
    before: (request) => isOne(request) && transactions.push({ from: clock.now, to: 0 }),
    after(request) {
      if (!isOne(request)) return
      clock.pass(80)
      Object.assign(transactions.at(-1) as object, { to: clock.now })
    },
  })
  await mover.redrive(deadLetterQueueOf(queue))
  expect(transactions).toHaveLength(3)
  for (const [index, { from }] of transactions.slice(1).entries()) {
    expect(from - (transactions[index]?.to ?? 0)).toBeGreaterThanOrEqual(80)
  }
})
