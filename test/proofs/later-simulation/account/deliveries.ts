import type { PoppedItem } from '../../../../lambdas/engine/queues.ts'
import type { Account } from './account.ts'
import type { Call, Fate, When } from './fate.ts'

// What pops handed out, and what became of it: taken, released, or dead.

/** Handed out by a pop, to whomever, and whatever became of it then. */
export function seen(
  account: Account,
  queue: string,
  items: readonly PoppedItem[],
  { call, clockMs }: When,
): void {
  for (const item of items) {
    const { text, id, scheduledId, dueMs = 0 } = item
    const fate = account.fates.get(text)
    if (fate === undefined) {
      account.violate(`${text} was never pushed`)
      continue
    }
    fate.seen += 1
    const byId = scheduledId === undefined ? 0 : (account.dueById.get(scheduledId) ?? 0)
    const earliestMs = Math.max(dueMs, byId, fate.earliestMs, fate.notBeforeMs)
    if (clockMs + account.apartMs < earliestMs) {
      account.violate(`${text} came ${earliestMs - clockMs} ms early`)
    }
    checkExpiry(account, fate, item, call)
    checkPlace(account, fate, queue, item)
    if (fate.ended !== undefined && fate.ended.at < call.at) {
      account.violate(`${text} came after it was ${fate.ended.how}`)
    }
    checkIds(account, text, item, call)
    account.learn(id, text, queue)
  }
}

function checkExpiry(
  account: Account,
  { item, push, calledMs }: Fate,
  { text, expiresAtMs = 0 }: PoppedItem,
  call: Call,
): void {
  const { expiresInSeconds } = item
  if (item.expiresAtMs === undefined && expiresInSeconds === undefined) return
  const lateMs = call.clockMs - (expiresAtMs ?? 0)
  if (lateMs >= 0) account.violate(`${text} came ${lateMs} ms after its expiry`)
  const isIts =
    expiresInSeconds === undefined
      ? expiresAtMs === item.expiresAtMs
      : expiresAtMs >= calledMs + 1_000 * expiresInSeconds &&
        expiresAtMs <= push.untilMs + 1_000 * expiresInSeconds
  if (!isIts) account.violate(`${text} has another expiry, ${expiresAtMs}`)
}

function checkPlace(
  account: Account,
  fate: Fate,
  queue: string,
  { id, scheduledId }: PoppedItem,
): void {
  const { text } = fate.item
  const belongs = account.queueById.get(id) ?? queue
  if (!fate.queues.has(queue) || belongs !== queue) account.violate(`${text} came out of ${queue}`)
  if (scheduledId === undefined) return
  const its = account.byId.get(scheduledId)
  if (its !== undefined && its !== fate) {
    account.violate(`${text} has the id ${scheduledId} of ${its.item.text}`)
  }
}

function checkIds(
  account: Account,
  text: string,
  { id, scheduledId = '', dueMs = 0 }: PoppedItem,
  call: Call,
): void {
  const ended = account.endedIds.get(id)
  if (ended !== undefined && ended.at < call.at) {
    account.violate(`${text} came as ${id}, which was ${ended.how}`)
  }
  const before = account.endedIds.get(scheduledId)
  if (before === undefined) return
  if (before.how !== 'gone') {
    account.violate(`${text} came as ${scheduledId}, which was ${before.how}`)
  } else if (before.clockMs + account.apartMs < dueMs) {
    // It had not joined by then, so it was there.
    account.violate(`${text} came, and ${scheduledId} was gone before it was due`)
  }
}

export function taken(account: Account, queue: string, texts: readonly string[]): void {
  account.note(`taken from ${queue}: ${texts.join()}`)
  for (const text of texts) account.end(account.fates.get(text), 'taken')
}

/** Nobody knows whether a call has ended these. */
export function mayBeGone(account: Account, texts: readonly string[], why: string): void {
  account.note(`may be gone (${why}): ${texts.join()}`)
  for (const text of texts) (account.fates.get(text) as Fate).mayBeGone = true
}

export function released(account: Account, texts: readonly string[], untilMs: number): void {
  account.note(`released until ${untilMs % 10_000_000}: ${texts.join()}`)
  for (const text of texts) {
    const fate = account.fates.get(text)
    // Somebody moved it meanwhile: then it is free where it is.
    if (fate !== undefined && fate.moves === 0) fate.notBeforeMs = untilMs
  }
}

export function buried(account: Account, queue: string, items: readonly PoppedItem[]): void {
  for (const { text, reason, expiresAtMs } of items) {
    account.note(`dead letter of ${queue}: ${text} ${reason}`)
    const fate = account.fates.get(text)
    if (fate === undefined) account.violate(`${text} was never pushed`)
    else fate.dead += 1
    if (reason !== 'expired') account.violate(`${text} is dead for the reason ${reason}`)
    if (expiresAtMs !== undefined) account.violate(`${text} is dead, and expires`)
  }
}
