import type { Account } from './account.ts'
import type { Fate } from './fate.ts'

// What was purged.

/** What is certainly there when a purge is asked for, and can only be taken, cancelled or purged. */
export function purging(account: Account, queue: string): readonly Fate[] {
  account.note(`purge ${queue}`)
  return [...account.fates.values()].filter(
    ({ push, queues, openMoves }) =>
      push.outcome === 'pushed' && queues.size === 1 && queues.has(queue) && openMoves === 0,
  )
}

export function purged(
  account: Account,
  queue: string,
  there: readonly Fate[],
  moves: readonly number[],
): void {
  account.note(`purged ${queue}`)
  for (const fate of account.fates.values()) if (fate.queues.has(queue)) fate.mayBeGone = true
  for (const [index, fate] of there.entries()) {
    // One that was moved meanwhile may have come behind the purge.
    if (fate.moves === moves[index]) account.end(fate, 'purged')
  }
}

export function purgeUnknown(account: Account, queue: string): void {
  account.note(`purge of ${queue}: unknown`)
  account.openPurges.add(queue)
}
