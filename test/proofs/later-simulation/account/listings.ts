import type { PoppedItem, ScheduledItem } from '../../../../lambdas/engine/queues.ts'
import type { Account } from './account.ts'
import type { Call } from './fate.ts'

// What lists showed.

/** Shown as scheduled, or as waiting in a lane. `mayBeOld`: a row may be as it was before a transaction. */
export function shown(
  account: Account,
  queue: string,
  items: readonly (ScheduledItem | PoppedItem)[],
  call: Call,
  mayBeOld: boolean,
): void {
  let last = 0
  for (const item of items) {
    const { text, id, dueMs = 0 } = item
    const fate = account.fates.get(text)
    const isScheduled = id.startsWith('t-')
    if (isScheduled && dueMs < last) account.violate(`${queue}: ${text} is listed out of order`)
    last = dueMs
    account.learn(id, text, queue)
    for (const ended of [fate?.ended, account.endedIds.get(id)]) {
      if (ended === undefined || ended.at > call.at || mayBeOld) continue
      account.violate(`${text} is shown as ${id}, and was ${ended.how}`)
    }
    if (fate === undefined) account.violate(`${text} was never pushed`)
    else if (isScheduled && dueMs < fate.earliestMs) account.violate(`${text} is due too early`)
  }
}
