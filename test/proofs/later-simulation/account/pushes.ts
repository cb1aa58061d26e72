import type { PushItem } from '../../../../lambdas/engine/queues.ts'
import type { Account } from './account.ts'
import { type Fate, newFate, type Push } from './fate.ts'

// What was pushed, and what its callers were told.

export function pushing(
  account: Account,
  queue: string,
  items: readonly PushItem[],
  clockMs: number,
): Push {
  const push: Push = {
    fates: [],
    outcome: 'none',
    ids: undefined,
    untilMs: Number.POSITIVE_INFINITY,
  }
  for (const item of items) {
    const fate = newFate(queue, item, clockMs, push)
    push.fates.push(fate)
    account.fates.set(item.text, fate)
  }
  account.note(`push to ${queue}: ${items.map((item) => JSON.stringify(item)).join()}`)
  return push
}

/** Once more, with its key. */
export function repeating(push: Push): void {
  push.untilMs = Number.POSITIVE_INFINITY
}

export function pushed(
  account: Account,
  push: Push,
  ids: readonly string[],
  clockMs: number,
): void {
  account.note(`pushed ${ids.join()}`)
  if (push.ids !== undefined && push.ids.join() !== ids.join() && ids.length > 0) {
    account.violate(`a repeated push answered ${ids.join()} after ${push.ids.join()}`)
  }
  push.outcome = 'pushed'
  push.untilMs = clockMs
  if (ids.length === 0) return
  push.ids = ids
  for (const [index, id] of ids.entries()) {
    const fate = push.fates[index] as Fate
    account.learn(id, fate.item.text, fate.pushedTo)
    account.dueById.set(id, fate.pushedForMs)
  }
}

/** `why`: the code of the error, or that nobody knows. */
export function refused(account: Account, push: Push, why: string, clockMs: number): void {
  account.note(`${why}: ${push.fates.map(({ item }) => item.text).join()}`)
  push.untilMs = clockMs
  // A queue that knows the key answers as before, even if it would refuse the call now.
  if (push.outcome === 'pushed' && why.startsWith('INVALID')) {
    account.violate(`${push.fates[0]?.item.text} was pushed, and its repetition got ${why}`)
  }
  if (push.outcome === 'pushed' || push.outcome === 'unknown') return
  push.outcome = why === 'unknown' ? 'unknown' : 'refused'
}
