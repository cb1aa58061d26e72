import { parseItemId } from '../../../../engine/core/keys.ts'
import { includes } from '../../../../engine/core/ranges.ts'
import type { Answer, Asked, Model } from './model.ts'
import { isBefore, type ScheduledItem } from './scheduled-items.ts'

/** A call answers `cancelled` for exactly the items that it cancelled, and `gone` only for items that are gone. */
export function checkCancelled(answer: Answer<'cancel'>): void {
  const { command, effects, value, say } = answer
  checkEach(answer, command.request, value)
  for (const { id, result } of value) {
    const isTaken = effects.takenOut.has(id)
    if (isTaken !== (result === 'cancelled')) say('a cancel tells what it did', `${id} ${result}`)
    if (result !== 'cancelled') checkLeft(answer, id, result)
  }
}

function checkEach({ say }: Asked, ids: readonly string[], results: readonly { id: string }[]) {
  if (results.map(({ id }) => id).join() === ids.join()) return
  say('each id has its result, in order', `${results.length} results`)
}

export function checkMoved(answer: Answer<'move'>): void {
  const { model, command, effects, value, say } = answer
  const { queue, request } = command
  const to = request.queue ?? queue
  checkEach(answer, request.ids, value)
  for (const one of value) {
    const { id } = one
    const isTaken = effects.takenOut.has(id)
    if (one.result !== 'moved') {
      if (isTaken) say('a move tells what it did', `${id} ${one.result}`)
      checkLeft(answer, id, one.result)
      continue
    }
    const { newId } = one
    if (!isTaken) {
      const isAsItWas = to === queue && newId === id && isThere(answer, id)
      if (!isAsItWas) say('a move tells what it did', `${id} ${newId}`)
      continue
    }
    const movedTo = newIdOf(answer, id)
    if (movedTo === unknown) continue
    if (newId !== undefined && newId !== movedTo)
      say('a new id leads to the item', `${newId}, not ${movedTo}`)
    if (newId === undefined && to === queue && model.world.faultFree) {
      say('without faults a new id in the same queue is known', id)
    }
  }
  checkOrderKept(answer)
}

/** Of several with one text, nobody can say which is which. */
const unknown = Symbol('unknown')

function newIdOf({ model, command, effects, queueModel }: Answer<'move'>, id: string) {
  const known = model.place(command.queue, id) ?? queueModel.scheduled.byId.get(id)
  const text = known?.item.text ?? ''
  return model.ledger.schedules.has(text) ? unknown : effects.movedTo.get(text)
}

/** It was where it was to go before. */
function isThere({ command, operation, queueModel }: Answer<'move'>, id: string): boolean {
  const { priority, deliverAtMs } = command.request
  const known = queueModel.scheduled.byId.get(id)
  const its = known?.priority ?? parseItemId(id)?.priority
  if (priority !== undefined && priority !== its) return false
  if (deliverAtMs === undefined) return true
  const due = Math.ceil(deliverAtMs / 1_000)
  return known === undefined ? 1_000 * due <= operation.latestMs : known.due === due
}

/** What was before in the order of pops comes before where it went to. */
function checkOrderKept(answer: Answer<'move'>): void {
  const { model, effects, say } = answer
  const { queue, request } = answer.command
  const to = request.queue ?? queue
  const places = [...effects.takenOut].flatMap((id) => {
    const newId = newIdOf(answer, id)
    const is = typeof newId === 'string' ? orderOf(model, to, newId) : undefined
    const was = orderOf(model, queue, id)
    return was && is ? [{ id, was, is }] : []
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
  if (a.scheduled && b.scheduled) return isBefore(a.scheduled, b.scheduled)
  if (a.scheduled || b.scheduled) return b.scheduled !== undefined
  return a.priority === b.priority ? a.order < b.order : a.priority < b.priority
}

/** `gone` stays true for ever; only what was handed out can have been locked. */
function checkLeft(asked: Asked, id: string, result: 'locked' | 'gone'): void {
  const { model, operation, command, queueModel, say } = asked
  const { scheduled, current } = queueModel
  const later = scheduled.byId.get(id)
  const isLater = later !== undefined && later.sinceCommit <= operation.startedAtCommit
  if (isLater && scheduled.isThere(id)) say('what is gone is gone', `${id} is scheduled`)
  const known = model.place(command.queue, id)
  if (result === 'locked') {
    if ((known?.handouts ?? 0) === 0) say('only what was popped is locked', id)
    return
  }
  const view = known && current?.view(known.log.priority)
  if (known === undefined || view?.lane.epoch !== known.log.epoch) return
  const isGone = includes(view.settled, known.sequence) || includes(view.dead, known.sequence)
  if (!isGone) say('what is gone is gone', id)
}
