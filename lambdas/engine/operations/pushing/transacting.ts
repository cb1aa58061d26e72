import type { Queues } from '../../verbs.ts'
import type { Engine } from '../attempts/engine.ts'
import { transact } from './transact.ts'
import { pushTransactItem } from './transact-item.ts'

/** Pushes in a transaction of the caller's own. */
export const transactingVerbs = (
  engine: Engine,
): Pick<Queues, 'transact' | 'pushTransactItem'> => ({
  transact: (queue, items, send) => transact(engine, queue, items, send),
  pushTransactItem: (queue, item) => pushTransactItem(engine, queue, item),
})
