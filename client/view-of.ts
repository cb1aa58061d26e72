// Converts from the wire to the client's names: camelCase, times in milliseconds, absent instead of null.
// Never convert items: their contents belong to the caller.

import { type CamelCase, camelCase } from '../lambdas/foundation/shared/wire-names.ts'

/** On the wire, times are in seconds, but the names do not say so; here, each name has its unit. */
const times = {
  start: 'startMs',
  end: 'endMs',
  pushed_at: 'pushedAtMs',
  due_at: 'dueMs',
  next_due_at: 'nextDueMs',
  dead_lettered_at: 'deadLetteredAtMs',
  expires_at: 'expiresAtMs',
  oldest_pushed_at: 'oldestPushedAtMs',
  lock_expires_at: 'expiresAtMs',
  retry_at: 'retryAtMs',
  blocked_until: 'blockedUntilMs',
  not_before: 'notBeforeMs',
  good_until: 'goodUntilMs',
  last_turn: 'lastTurnMs',
  starts_at: 'startsAtMs',
  ends_at: 'endsAtMs',
  next_at: 'nextAtMs',
  last_at: 'lastAtMs',
} as const

type Name<N> = N extends keyof typeof times ? (typeof times)[N] : CamelCase<N>

export type View<T> = T extends readonly (infer E)[]
  ? readonly View<E>[]
  : T extends object
    ? { readonly [N in keyof T as null extends T[N] ? never : Name<N>]: View<T[N]> } & {
        readonly [N in keyof T as null extends T[N] ? Name<N> : never]?: View<NonNullable<T[N]>>
      }
    : T

export const viewOf = <T>(body: T): View<T> => viewed(body) as View<T>

function viewed(body: unknown): unknown {
  if (Array.isArray(body)) return body.map(viewed)
  if (typeof body !== 'object' || body === null) return body
  const fields = Object.entries(body).filter(([, value]) => value !== null)
  return Object.fromEntries(
    fields.map(([name, value]) => {
      const time = times[name as keyof typeof times]
      return time === undefined ? [camelCase(name), viewed(value)] : [time, ms(value)]
    }),
  )
}

/** Epoch seconds as milliseconds: rounded, because 1709139275.123 * 1000 is not whole. */
export const ms = (seconds: number): number => Math.round(seconds * 1000)
