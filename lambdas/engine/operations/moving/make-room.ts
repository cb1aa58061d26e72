import { doneLocks } from '../../core/locks.ts'
import type { QueueRecord } from '../../core/record.ts'
import { type Engine, readRecord } from '../attempts/engine.ts'
import { foldForRoom } from '../attempts/fold.ts'
import { useKeptRoom } from '../later/use-kept-room.ts'
import { expireForRoom } from './expire-for-room.ts'

/** Each round takes out expired items at the front of a lane; a push of a thousand may need several lanes. */
const ROUNDS_MAX = 20

/**
 * Makes room for so many items by removing those that nobody needs: acknowledged items that are not yet folded, and
 * expired ones. Due items come first: they take the room that is kept for them. Returns the record after that, which
 * may be as full as before.
 */
export async function makeRoom(
  engine: Engine,
  record: QueueRecord,
  items: number,
): Promise<QueueRecord | undefined> {
  let current: QueueRecord | undefined = record
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    if (current === undefined || current.room >= items) return current
    if (doneLocks(current) > 0) current = await foldForRoom(engine, current)
    else if (current.keptRoom > 0) {
      const used = await useKeptRoom(engine, current)
      if (used.isLost) return used.record
      current = used.record
    } else if (await expireForRoom(engine, current))
      current = await readRecord(engine, record.queue)
    else return current
  }
  return current
}
