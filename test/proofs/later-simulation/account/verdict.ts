import type { Account } from './account.ts'
import type { Fate } from './fate.ts'

// What must have come of each item in the end.

/** `keepsExpired`: the queues whose expired items become dead letters. */
export function verdict(account: Account, keepsExpired: ReadonlySet<string>): void {
  for (const fate of account.fates.values()) judge(account, fate, keepsExpired)
}

function judge(account: Account, fate: Fate, keepsExpired: ReadonlySet<string>): void {
  const { item, taken, cancelled, dead, push, queues, ended } = fate
  const { text } = item
  const ends = taken + cancelled + dead
  if (taken > 1) account.violate(`${text} was taken ${taken} times`)
  if (cancelled > 1) account.violate(`${text} was cancelled ${cancelled} times`)
  if (dead > 1) account.violate(`${text} died ${dead} times`)
  if (ends > 1) {
    account.violate(`${text} was taken ${taken}, cancelled ${cancelled}, buried ${dead} times`)
  }
  const isThere = fate.seen > 0 || ends > 0
  if (isThere && push.outcome === 'refused') account.violate(`${text} was refused, and is there`)
  if (ends > 0 || push.outcome !== 'pushed' || ended !== undefined) return
  const isPurged = [...queues].some((queue) => account.openPurges.has(queue))
  const expires = item.expiresAtMs !== undefined || item.expiresInSeconds !== undefined
  const mayExpire = expires && [...queues].some((queue) => !keepsExpired.has(queue))
  if (!fate.mayBeGone && !isPurged && !mayExpire) account.violate(`${text} is lost`)
}
