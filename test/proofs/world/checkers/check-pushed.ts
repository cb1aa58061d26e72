import { parseItemId } from '../../../../engine/core/keys.ts'
import type { PushItem } from '../../../../engine/queues.ts'
import { latestFor } from './expiry.ts'
import { itemsIn } from './ledger.ts'
import type { Answer, Model, Refusal } from './model.ts'

/** The ids of a push lead to its items; repeats of one key all give the same ids. */
export function checkPushed(answer: Answer<'push'>): void {
  const { model, operation, command, effects, queueModel, value, say } = answer
  const { items, idempotencyKey } = command.request
  const { ids, repeated = false } = value
  if (repeated) model.world.statistics.count('path repeated push by key')
  if (repeated && effects.appended > 0) {
    say('a repetition changes nothing', `it appended ${effects.appended}`)
  }
  if (ids.length !== items.length) say('a push answers an id for each item', `${ids.length}`)
  const last = new Map<string, number>()
  for (const [i, { text, priority = 0 }] of items.entries()) {
    const scheduled = queueModel.scheduled.byId.get(ids[i] ?? '')
    if (scheduled?.item.text === text && scheduled.priority === priority) continue
    const place = model.place(command.queue, ids[i])
    if (place?.item.text !== text)
      return void say('an id leads to its item', `${ids[i]} is not ${text}`)
    const { log, sequence } = place
    if (log.priority !== priority) say('an item keeps its priority', `${text} at ${ids[i]}`)
    const lane = `${log.epoch} ${priority}`
    if (sequence !== (last.get(lane) ?? sequence - 1) + 1) {
      say('a bulk push keeps its order', `${text} at ${sequence} after ${last.get(lane)}`)
    }
    last.set(lane, sequence)
  }
  if (!repeated && operation.together !== undefined) checkCallOrder(answer)
  const pushedBy = model.ledger.item(items[0]?.text ?? '')?.pushedBy
  if (pushedBy === undefined) return
  if (pushedBy.appended !== pushedBy.texts.length) {
    say('a success has its effect', `${pushedBy.appended} of ${items.length} items were appended`)
  }
  if (idempotencyKey === undefined) return
  for (const other of pushedBy.operations) {
    if (other === operation || other.command.verb !== 'push') continue
    if (other.outcome?.kind !== 'success') continue
    const { ids: earlier } = other.outcome.value as { ids: readonly string[] }
    if (JSON.stringify(earlier) !== JSON.stringify(ids)) {
      say('a key has one answer', `#${other.id} got ${earlier.join()}, this one ${ids.join()}`)
    }
  }
}

/**
 * Pushes of one process that linger have their items in the order of their calls, in each lane. Answers come in
 * that order too, so the last one that we saw is the one before.
 */
function checkCallOrder({ model, operation, command, value, say }: Answer<'push'>): void {
  const { writer, id } = operation
  for (const itemId of value.ids) {
    const { epoch, priority, sequence } = parseItemId(itemId) ?? {}
    if (sequence === undefined) continue
    const lane = `${writer} ${command.queue} ${epoch} ${priority}`
    const before = model.lastOfCalls.get(lane)
    if (before !== undefined && (sequence <= before.sequence || id < before.operation)) {
      say('the order of calls is the order of items', `${sequence} after ${before.sequence}`)
    }
    model.lastOfCalls.set(lane, { sequence, operation: id })
  }
}

/** 422 only where the key was really used with another body. */
export function checkRefusedKey({ model: { ledger }, command, say }: Refusal): void {
  if (command.verb !== 'push') return
  const { items, idempotencyKey } = command.request
  const isUsed = [...ledger.pushes()]
    .filter(({ key, keyLife }) => key === idempotencyKey && keyLife === ledger.keyLife)
    .filter(({ queue, appended }) => queue === command.queue && appended > 0)
    .some(({ texts }) => texts[0] !== items[0]?.text)
  if (!isUsed) say('a key conflicts only with another body', `${idempotencyKey}`)
}

/** At the end: of all pushes with one key, at most one body has had an effect. */
export function checkKeysOnce(model: Model): void {
  const used = new Map<string, string>()
  for (const { key, keyLife, queue, appended, isBuried, texts } of model.ledger.pushes()) {
    if (key === undefined || appended === 0 || isBuried) continue
    const name = `${queue} ${key} ${keyLife}`
    const other = used.get(name)
    if (other !== undefined) {
      model.world.violated('a key has one effect', `${name}: ${other} and ${texts[0]}`)
    }
    used.set(name, texts[0] as string)
  }
}

/** A queue is full only for those that come now and are more than there was room for at some moment of the call. */
export function checkRefusedForRoom({ model, operation, command, queueModel, say }: Refusal): void {
  const items = itemsIn(command)
  if (items.length === 0) return
  const latestMs = latestFor(model.world, operation, operation.latestMs)
  const now = items.filter((item) => mayBeNow(item, latestMs)).length
  const { queue, availability } = queueModel
  const leastRoom = -availability.lackOfRoom.since(operation.startedAtCommit)
  if (now === 0 || leastRoom >= now) {
    say('full is never guessed', `${queue} had room for ${leastRoom}, and ${now} were to come now`)
  }
}

const mayBeNow = ({ delaySeconds = 0, deliverAtMs }: PushItem, latestMs: number): boolean =>
  deliverAtMs === undefined ? delaySeconds === 0 : deliverAtMs <= latestMs

/** What would be refused now has been accepted: the key has its answer. */
export function checkRefusedTimes({ model, operation, command, code, say }: Refusal): void {
  if (command.verb !== 'push') return
  const pushedBy = model.ledger.item(command.request.items[0]?.text ?? '')?.pushedBy
  if (pushedBy === undefined || pushedBy.keyLife !== model.ledger.keyLife) return
  // The inbox could not push it either, and put it into the dead letters: that is no answer of the key.
  if (pushedBy.isBuried) return
  const isEarlier = pushedBy.operations.some(
    ({ outcome }) => outcome?.kind === 'success' && outcome.atCommit <= operation.startedAtCommit,
  )
  if (isEarlier) say('a key has one answer', `${code} after a success`)
}
