import { guardKey, rowKey } from '../../../../rate/core/row.ts'
import type { Change } from '../../../../testing/simulated/dynamodb/database.ts'
import type { Operation } from '../actors/callers/operation.ts'
import type { Model } from './model.ts'
import type { Snapshot } from './snapshot.ts'

const pushing = /^(push|pushTransactItem|transact|apply)$/

/** Every write to the row of a queue's limit takes a slot of it. */
export function isSlotOf({ command }: Operation, { pk, newItem }: Change): boolean {
  const verb = pushing.test(command.verb) ? 'push' : command.verb
  if (newItem === undefined || (verb !== 'push' && verb !== 'pop')) return false
  return pk === rowKey(guardKey(verb, command.queue), 0).pk
}

/** The rules of the limit whose slot this write took. */
export function noteSlot({ effects }: Operation, { newItem }: Change): void {
  const [rules = ''] = String(newItem?.e).split('~')
  effects.slots.add(rules)
}

/** By the limit that the record had at the moment of the write, whatever the caller knew of it. */
export function checkLimit(model: Model, { record }: Snapshot, setting: 'pushLimit' | 'popLimit') {
  const { operation } = model
  const limit = record.configuration[setting]
  if (limit === undefined) return
  // A message that cannot be pushed is moved to the dead letters: no limit of theirs holds it up.
  if (operation?.command.verb === 'apply' && operation.command.queue !== record.queue) return
  model.world.statistics.count(`path under a ${setting}`)
  const { maxRequests, windowMillis, algorithm, burst } = limit
  const rules = `${maxRequests}/${windowMillis}`
  const slot = algorithm === 'smooth' ? `s${rules}x${burst}` : `w${rules}`
  const slots = operation?.effects.slots
  if (slots === undefined || slots.has(slot)) return
  const had = [...slots].join() || 'none'
  model.violated('nothing gets by a limit', `${setting} ${slot} of ${record.queue}: had ${had}`)
}
