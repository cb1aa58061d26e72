import { type GuardLimit, guardNames } from '../../rate/core/setting-fields.ts'

/**
 * What takes a call past a queue's limit: a slot of that very limit; or `free`, because no limit counts the call. If
 * the limit changes before the call's write lands, the slot is good for nothing: the call needs one of the new limit.
 */
export type Pass = GuardLimit | 'free' | undefined

export const isGoodFor = (pass: Pass, limit: GuardLimit | undefined): boolean =>
  limit === undefined ||
  pass === 'free' ||
  (pass !== undefined && guardNames.every((name) => pass[name] === limit[name]))
