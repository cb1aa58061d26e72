// Which messages a receive looks at, in order.

import type { Message } from './message.ts'
import type { Random } from './receipt.ts'
import type { Shelf } from './shelf.ts'

/**
 * SQS looks through this many messages for groups that are free. A backlog of one group that is larger hides the
 * groups behind it.
 */
export const LOOKED_AT_MAX = 120_000

/** All messages of one group, then the next group; of each group only what lies before its first message in flight. */
export function* fifoOrder(shelf: Shelf): Generator<Message> {
  const seen = new Set<string>()
  // As many as there were: who takes these messages may remove them, and with the last one its group.
  const { groups } = shelf
  let looked = 0
  for (const { groupId = '' } of shelf.all()) {
    looked += 1
    if (looked > LOOKED_AT_MAX || seen.size === groups) return
    if (seen.has(groupId)) continue
    seen.add(groupId)
    for (const message of shelf.group(groupId)) {
      if (shelf.isDelayed(message) || shelf.isInFlight(message)) break
      yield message
    }
  }
}

/** A standard queue promises no order, so code that needs one should fail here. */
export function* anyOrder(shelf: Shelf, random: Random, window = WINDOW): Generator<Message> {
  const near: Message[] = []
  for (const message of shelf.all()) {
    if (shelf.isInFlight(message) || shelf.isDelayed(message)) continue
    near.push(message)
    if (near.length < window) continue
    yield pick(near, random)
  }
  while (near.length > 0) yield pick(near, random)
}

/** About as far as neighbours get apart on AWS's servers. */
const WINDOW = 20

function pick(near: Message[], random: Random): Message {
  const at = Math.floor(random() * near.length)
  const [picked] = near.splice(at, 1)
  return picked as Message
}
