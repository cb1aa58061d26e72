import { parseItemId } from '../../../../lambdas/engine/core/keys.ts'
import { includes } from '../../../../lambdas/engine/core/ranges.ts'
import type { Answer, Say } from './answer.ts'
import type { Place } from './lane-log.ts'
import type { Model } from './model.ts'

/** A call answers `cancelled` for exactly the items that it cancelled, and `gone` only for items that are gone. */
export function checkCancelled({ model, operation, value, say }: Answer<'cancel'>): void {
  const { command, effects } = operation
  if (value.map(({ id }) => id).join() !== command.request.join()) {
    say('each id has its result, in order', `${value.length} results`)
  }
  for (const { id, result } of value) {
    const isTaken = effects.takenOut.has(id)
    if (isTaken !== (result === 'cancelled')) say('a cancel tells what it did', `${id} ${result}`)
    if (result !== 'cancelled') checkLeft(model, command.queue, id, result, say)
  }
}

export function checkMoved({ model, operation, value, say }: Answer<'move'>): void {
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
      checkLeft(model, queue, one.id, one.result, say)
      continue
    }
    const { newId } = one
    if (!isTaken) {
      const isKept = [undefined, parseItemId(one.id)?.priority].includes(request.priority)
      const isThere = to === queue && isKept
      if (!isThere || newId !== one.id) say('a move tells what it did', `${one.id} ${newId}`)
      continue
    }
    const text = placeOf(model, queue, one.id)?.item.text ?? ''
    const movedTo = effects.movedTo.get(text)
    if (newId === undefined) model.world.statistics.count('path moved without a trace')
    else if (newId !== movedTo) say('a new id leads to the item', `${newId}, not ${movedTo}`)
    if (newId === undefined && to === queue && model.world.faultFree) {
      say('without faults a new id in the same queue is known', one.id)
    }
  }
  checkOrderKept(
    effects.takenOut,
    (id) => {
      return effects.movedTo.get(placeOf(model, queue, id)?.item.text ?? '')
    },
    say,
  )
}

/** What was before in the order of pops comes before where it went to. */
function checkOrderKept(
  taken: ReadonlySet<string>,
  newIdOf: (id: string) => string | undefined,
  say: Say,
): void {
  const last = new Map<string, number>()
  const inOrder = [...taken].flatMap((id) => {
    const place = parseItemId(id)
    return place === undefined ? [] : [{ id, ...place }]
  })
  inOrder.sort((a, b) => a.priority - b.priority || a.sequence - b.sequence)
  for (const { id } of inOrder) {
    const place = parseItemId(newIdOf(id))
    if (place === undefined) continue
    const lane = `${place.epoch} ${place.priority}`
    if (place.sequence < (last.get(lane) ?? 0)) say('a move keeps the order', id)
    last.set(lane, place.sequence)
  }
}

function placeOf(model: Model, queue: string, id: string): Place | undefined {
  const place = parseItemId(id)
  return place && model.log(queue, place.epoch, place.priority)?.places[place.sequence]
}

/** `gone` stays true for ever; only what was handed out can have been locked. */
function checkLeft(
  model: Model,
  queue: string,
  id: string,
  result: 'locked' | 'gone',
  say: Say,
): void {
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
