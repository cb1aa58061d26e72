import type { PushItem } from '../../../../lambdas/engine/queues.ts'
import type { Operation } from '../actors/callers/operation.ts'
import type { Refusal } from './answer.ts'
import { itemsIn } from './check-arrival.ts'

/** A queue is full only for those that come now and are more than there was room for at some moment of the call. */
export function checkRefusedForRoom({ model, operation, code, say }: Refusal): void {
  const { command, startedAtCommit } = operation
  const items = itemsIn(command)
  if (code !== 'QUEUE_FULL' || items.length === 0) return
  const now = items.filter((item) => mayBeNow(item, operation)).length
  const { queue, availability } = model.queue(command.queue)
  const leastRoom = -availability.lackOfRoom.since(startedAtCommit)
  if (leastRoom >= Math.max(1, now)) {
    say('full is never guessed', `${queue} had room for ${leastRoom}, and ${now} were to come now`)
  }
}

const mayBeNow = ({ delaySeconds = 0, deliverAtMs }: PushItem, { latestMs }: Operation): boolean =>
  deliverAtMs === undefined ? delaySeconds === 0 : deliverAtMs <= latestMs

/** What would be refused now has been accepted: the key has its answer. */
export function checkRefusedTimes({ model, operation, code, say }: Refusal): void {
  const { command, startedAtCommit } = operation
  if (command.verb !== 'push' || code !== 'INVALID_PARAMETER') return
  const pushedBy = model.ledger.item(command.request.items[0]?.text ?? '')?.pushedBy
  if (pushedBy === undefined || pushedBy.keyLife !== model.ledger.keyLife) return
  const isEarlier = pushedBy.operations.some(
    ({ outcome }) => outcome?.kind === 'success' && outcome.atCommit <= startedAtCommit,
  )
  if (isEarlier) {
    say('a key has one answer', `${code} after a success`)
  }
}
