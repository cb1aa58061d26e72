import { guardKey, rowKey } from '../../../../lambdas/rate/core/keys.ts'
import type { Change } from '../../../../testing/simulated/dynamodb/database.ts'
import type { Operation } from '../actors/callers/operation.ts'
import type { Model } from './model.ts'
import type { Snapshot } from './snapshot.ts'

// How many slots a window has is proved by the limiter's own simulation; here, that no call gets by.

const verbs = {
  push: 'push',
  pushTransactItem: 'push',
  transact: 'push',
  apply: 'push',
  pop: 'pop',
} as const

/** Every write to the row of a queue's limit takes a slot of it. */
export function isSlotOf({ command }: Operation, change: Change): boolean {
  const verb = verbs[command.verb as keyof typeof verbs]
  if (verb === undefined || change.newItem === undefined) return false
  return change.pk === rowKey(guardKey(verb, command.queue), 0).pk
}

/** By the limit that the record had at the moment of the write, whatever the caller knew of it. */
export function checkLimit(
  model: Model,
  { record }: Snapshot,
  setting: 'pushLimit' | 'popLimit',
  operation: Operation | undefined,
): void {
  if (record.configuration[setting] === undefined) return
  // A message that cannot be pushed is moved to the dead letters: no limit of theirs holds it up.
  if (operation?.command.verb === 'apply' && operation.command.queue !== record.queue) return
  model.world.statistics.count(`path under a ${setting}`)
  if (operation?.effects.slotsTaken === 0) {
    model.violated('nothing gets by a limit', `${setting} of ${record.queue}`)
  }
}
