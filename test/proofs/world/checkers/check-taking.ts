import { itemId } from '../../../../lambdas/engine/core/keys.ts'
import {
  none,
  numbersOf,
  type Ranges,
  subtract,
  union,
} from '../../../../lambdas/engine/core/ranges.ts'
import { stretchesOf } from '../../../../lambdas/engine/core/record.ts'
import type { CommandOf } from '../actors/callers/command.ts'
import type { Operation, Take } from '../actors/callers/operation.ts'
import { checkDueFirst } from './check-due-first.ts'
import { checkLimit } from './check-limits.ts'
import { checkLocksAtPop } from './check-locks-at-pop.ts'
import { disorderIn } from './check-order.ts'
import { mayBeOver, passedOver } from './expiry.ts'
import type { LaneChange } from './lane-change.ts'
import type { Model } from './model.ts'
import type { Write } from './snapshot.ts'

/**
 * A pop takes the first visible items, best priority first, and passes over none: by the record
 * as it was at the moment of the write, whatever the pop had seen before.
 */
export function checkTaking(write: Write, changes: readonly LaneChange[]): void {
  const { model, queue, before } = write
  const { operation } = model
  const takes = new Map<number, Ranges>()
  const passed = new Map<number, Ranges>()
  const lockIds = new Set<string | undefined>()
  const direct = operation?.command.verb === 'pop' && !operation.command.request.requireAck
  for (const change of changes) {
    const over = passedOver(write, change)
    if (over.length > 0) passed.set(change.priority, over)
    let taken: Ranges = direct ? subtract(change.settledFree, over) : none
    if (taken.length > 0) lockIds.add(undefined)
    for (const [lockId, numbers] of change.handed) {
      lockIds.add(lockId)
      taken = union(taken, numbers)
    }
    // Items of a lock that this very write ended, taken without acknowledgement.
    if (direct) {
      for (const [lockId, numbers] of change.settledLocked) {
        if (isAcknowledged(operation, lockId)) continue
        taken = union(taken, subtract(numbers, over))
      }
    }
    if (taken.length > 0) takes.set(change.priority, taken)
  }
  if (takes.size === 0) return
  if (operation?.command.verb !== 'pop' || operation.command.queue !== queue || lockIds.size > 1) {
    model.violated('only a pop takes items', `from ${queue}`)
    return
  }
  const popping = operation as Operation<CommandOf<'pop'>>
  const lockId = [...lockIds][0]
  const take = takeOf(write, lockId, takes)
  const taken = take.stretches.reduce((sum, { from, to }) => sum + to - from, 0)
  if (take.maybe.size === taken) {
    popping.effects.maybeTaken = take
    return
  }
  noteTake(write, popping, take, taken)
  checkDueFirst(model, model.queue(queue), popping, take)
  checkLimit(model, before, 'popLimit', popping)
  checkOrder(write, lockId, takes, passed)
  checkLocksAtPop(write, popping, lockId, takes)
}

/** What may have expired while the pop ran was taken, or passed over: one of the two must be in order. */
function checkOrder(
  write: Write,
  lockId: string | undefined,
  takes: ReadonlyMap<number, Ranges>,
  passed: ReadonlyMap<number, Ranges>,
): void {
  const disorder = disorderIn(write, takes, passed)
  if (disorder === undefined) return
  const [sure, over] = [new Map(takes), new Map(passed)]
  for (const [priority, numbers] of takes) {
    const perhaps = lockId === undefined ? mayBeOver(write, priority, numbers) : none
    const left = subtract(numbers, perhaps)
    if (left.length > 0) sure.set(priority, left)
    else sure.delete(priority)
    over.set(priority, union(passed.get(priority) ?? none, perhaps))
  }
  if (disorderIn(write, sure, over) === undefined) return
  write.model.violated('a pop takes the first visible items and passes over none', disorder)
}

const isAcknowledged = (operation: Operation | undefined, lockId: string): boolean =>
  operation?.command.verb === 'pop' && operation.command.request.acknowledge === lockId

function takeOf(
  write: Write,
  lockId: string | undefined,
  takes: ReadonlyMap<number, Ranges>,
): Take {
  const { after } = write
  const maybe = new Set<string>()
  const stretches: Take['stretches'][number][] = []
  for (const [priority, numbers] of [...takes].sort(([a], [b]) => a - b)) {
    const epoch = after.record.lanes.get(priority)?.epoch ?? ''
    for (const stretch of stretchesOf(priority, numbers)) stretches.push({ ...stretch, epoch })
    const perhaps = lockId === undefined ? mayBeOver(write, priority, numbers) : none
    for (const sequence of numbersOf(perhaps)) maybe.add(itemId({ epoch, priority, sequence }))
  }
  return { lockId, stretches, maybe }
}

function noteTake(
  { model, queue }: Write,
  operation: Operation<CommandOf<'pop'>>,
  take: Take,
  taken: number,
): void {
  noteHandouts(model, queue, take)
  const { count = 1 } = operation.command.request
  const items = taken - take.maybe.size
  if (items > count) model.violated('a pop takes what it asked for', `${items} of ${count}`)
  if (operation.effects.takes.length > 0) {
    model.violated('a pop takes once', `${queue}, again ${JSON.stringify(take.stretches)}`)
  }
  model.noteEffect(`items were taken from ${queue}`)
  operation.effects.takes.push(take)
  model.queue(queue).takenMs = model.world.scheduler.nowMs
}

export function noteHandouts(model: Model, queue: string, { stretches }: Take): void {
  for (const { epoch, priority, ...range } of stretches) {
    const log = model.log(queue, epoch, priority)
    for (const n of numbersOf([range])) {
      const place = log?.places[n]
      if (place !== undefined) place.handouts += 1
    }
  }
}
