import { LOCKS_PER_WRITE } from './limits.ts'
import { endLock } from './locks.ts'
import {
  forOneWriteOf,
  lockWith,
  type NamedItem,
  namedIn,
  stretchesOfNamed,
  takeOut,
} from './named.ts'
import { subtract } from './ranges.ts'
import { type Lock, type QueueRecord, stretchesIn, stretchesOf } from './record.ts'

/**
 * One step of a purge of these items, locked ones too: as many as one write's expression has room for. It
 * settles what is free and what locks hold, and takes it out of those locks.
 */
export function purgeNamedStep(
  record: QueueRecord,
  named: readonly NamedItem[],
  nowMs: number,
): { draft: QueueRecord; items: readonly NamedItem[] } {
  const locks = new Set<string>()
  const chosen = forOneWriteOf(namedIn(record, named)).filter((item) => {
    const lockId = lockWith(record, item)?.[0]
    if (lockId === undefined || locks.has(lockId)) return true
    return locks.size < LOCKS_PER_WRITE && locks.add(lockId).size > 0
  })
  const stretches = stretchesOfNamed(chosen)
  let draft = record
  for (const lockId of locks) {
    const lock = draft.locks.get(lockId) as Lock
    const rest = lock.stretches.flatMap(({ priority, ...range }) =>
      stretchesOf(priority, subtract([range], stretchesIn(stretches, priority))),
    )
    draft =
      rest.length > 0
        ? { ...draft, locks: new Map(draft.locks).set(lockId, { ...lock, stretches: rest }) }
        : endLock(draft, lockId, 'purged', nowMs)
  }
  return { draft: takeOut(draft, stretches), items: chosen }
}
