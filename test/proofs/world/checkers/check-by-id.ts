import { parseItemId } from '../../../../lambdas/engine/core/keys.ts'
import { includes } from '../../../../lambdas/engine/core/ranges.ts'
import type { CommandOf } from '../actors/callers/command.ts'
import type { Operation } from '../actors/callers/operation.ts'
import type { Place } from './lane-view.ts'
import type { Answer, Model, Say } from './model.ts'
import { isBefore, type ScheduledItem } from './scheduled-items.ts'

/** A call answers `cancelled` for exactly the items that it cancelled, and `gone` only for items that are gone. */
export function checkCancelled(answer: Answer<'cancel'>): void {
  const { operation, value, say } = answer
  const { command, effects } = operation
  if (value.map(({ id }) => id).join() !== command.request.join()) {
    say('each id has its result, in order', `${value.length} results`)
  }
  for (const { id, result } of value) {
    const isTaken = effects.takenOut.has(id)
    if (isTaken !== (result === 'cancelled')) say('a cancel tells what it did', `${id} ${result}`)
    if (result !== 'cancelled') checkLeft(answer, id, result, say)
  }
}

export function checkMoved(answer: Answer<'move'>): void {
  const { model, operation, value, say } = answer
  const { command, effects } = operation
  const { queue, request } = command
  const to = request.queue ?? queue
  if (value.map(({ id }) => id).join() !== request.ids.join()) {
    say('each id has its result, in order', `${value.length} results`)
  }
  for (const one of value) {
    const isTaken = effects.takenOut.has(one.id)
    if (one.result !== 'moved') {
      if (isTaken) say('a move tells what it did', `${one.id} ${one.result}`)
      checkLeft(answer, one.id, one.result, say)
      continue
    }
    const { newId } = one
    if (!isTaken) {
      if (to !== queue || newId !== one.id || !isThere(model, operation, one.id)) {
        say('a move tells what it did', `${one.id} ${newId}`)
      }
      continue
    }
    const text = textOf(model, queue, one.id)
    // Of several with one text, nobody can say which is which.
    if (model.ledger.schedules.has(text)) continue
    const movedTo = effects.movedTo.get(text)
    if (newId === undefined) model.world.statistics.count('path moved without a trace')
    else if (newId !== movedTo) say('a new id leads to the item', `${newId}, not ${movedTo}`)
    if (newId === undefined && to === queue && model.world.faultFree) {
      say('without faults a new id in the same queue is known', one.id)
    }
  }
  checkOrderKept(answer)
}

/** Of several with one text, nobody can say which is which. */
function newIdOf({ model, operation }: Answer<'move'>, id: string): string | undefined {
  const text = textOf(model, operation.command.queue, id)
  return model.ledger.schedules.has(text) ? undefined : operation.effects.movedTo.get(text)
}

const textOf = (model: Model, queue: string, id: string): string =>
  (placeOf(model, queue, id) ?? model.queue(queue).scheduled.byId.get(id))?.item.text ?? ''

/** It was where it was to go before. */
function isThere(
  model: Model,
  { command: { queue, request }, latestMs }: Operation<CommandOf<'move'>>,
  id: string,
): boolean {
  const { priority, deliverAtMs } = request
  const { scheduled } = model.queue(queue)
  const known = scheduled.byId.get(id)
  const its = known?.priority ?? parseItemId(id)?.priority
  if (priority !== undefined && priority !== its) return false
  if (deliverAtMs === undefined) return true
  const due = Math.ceil(deliverAtMs / 1_000)
  return known === undefined ? 1_000 * due <= latestMs : known.due === due
}

/** What was before in the order of pops comes before where it went to. */
function checkOrderKept(answer: Answer<'move'>): void {
  const { model, operation, say } = answer
  const { queue, request } = operation.command
  const { effects } = operation
  const to = request.queue ?? queue
  const places = [...effects.takenOut].flatMap((id) => {
    const [was, is] = [orderOf(model, queue, id), orderOf(model, to, newIdOf(answer, id) ?? '')]
    return was === undefined || is === undefined ? [] : [{ id, was, is }]
  })
  for (const [name, group] of Map.groupBy(places, ({ is }) => is.name)) {
    group.sort((a, b) => a.is.order - b.is.order)
    for (const [at, { id, was }] of group.entries()) {
      const passed = group.slice(0, at).find((before) => wasBefore(was, before.was))
      if (passed !== undefined) say('a move keeps the order', `${passed.id}, ${id} in ${name}`)
    }
  }
}

type Order = {
  /** Where the order holds: in a lane, or among those of a second. */
  readonly name: string
  readonly order: number
  readonly priority: number
  readonly scheduled?: ScheduledItem
}

function orderOf(model: Model, queue: string, id: string): Order | undefined {
  const scheduled = model.queue(queue).scheduled.byId.get(id)
  if (scheduled !== undefined) {
    const { due, priority, order } = scheduled
    return { name: `${due}.${priority}`, order, priority, scheduled }
  }
  const place = parseItemId(id)
  if (place === undefined) return undefined
  const { epoch, priority, sequence } = place
  return { name: `${epoch} ${priority}`, order: sequence, priority }
}

/** Whether the first of two was certainly to be popped first. Writes move what waits before what is scheduled. */
function wasBefore(a: Order, b: Order): boolean {
  if (a.scheduled !== undefined)
    return b.scheduled !== undefined && isBefore(a.scheduled, b.scheduled)
  if (b.scheduled !== undefined) return true
  return a.priority === b.priority ? a.order < b.order : a.priority < b.priority
}

function placeOf(model: Model, queue: string, id: string): Place | undefined {
  const place = parseItemId(id)
  return place && model.log(queue, place.epoch, place.priority)?.places[place.sequence]
}

/** `gone` stays true for ever; only what was handed out can have been locked. */
function checkLeft(
  { model, operation: { command, startedAtCommit } }: Answer<'cancel'> | Answer<'move'>,
  id: string,
  result: 'locked' | 'gone',
  say: Say,
): void {
  const { queue } = command
  const { scheduled } = model.queue(queue)
  const later = scheduled.byId.get(id)
  if (later !== undefined && later.sinceCommit <= startedAtCommit && scheduled.isThere(id)) {
    say('what is gone is gone', `${id} is scheduled`)
  }
  const place = parseItemId(id)
  const known = placeOf(model, queue, id)
  if (place === undefined || known === undefined) {
    if (result === 'locked') say('only what was popped is locked', id)
    return
  }
  if (result === 'locked') {
    if (known.handouts === 0) say('only what was popped is locked', id)
    return
  }
  const view = model.queue(queue).current?.view(place.priority)
  if (view?.lane.epoch !== place.epoch) return
  const isGone = includes(view.settled, place.sequence) || includes(view.dead, place.sequence)
  if (!isGone) say('what is gone is gone', id)
}
