import type { Row } from '../../foundation/dynamo.ts'
import { Expression } from '../../foundation/expression.ts'

// The row says who is awake (`h`), since when (`s`), until when that counts if nothing more is heard (`e`),
// and until when it must stay (`u`). Of two who ask at once, one gets the row and the other leaves a note in
// `u`. Who goes home clears the row on the condition that the note is as seen. So a note is either read, or
// comes too late: then its writer finds nobody awake, and is so itself.

export type Awake = { readonly holder: string; readonly stayMs: number | undefined }

/** It renews its lease every ten seconds: two renewals may get lost, or a request may hang. */
export const LEASE_MS = 30_000
export const RENEW_MS = 10_000
/**
 * Whoever is called later than this takes over: the minute's sweep calls while something is near, so a run
 * ends long before its time is up, by a hand-over without a gap, and tells of its work every few minutes.
 */
export const TERM_MS = 120_000

export const awakeIn = (row: Row | undefined): Awake | undefined =>
  row?.h === undefined
    ? undefined
    : { holder: row.h as string, stayMs: row.u as number | undefined }

type Update = ReturnType<Expression['build']>

export function takeUpdate(me: string, nowMs: number): Update {
  const update = new Expression()
  const [mine, now] = [update.value(me), update.value(nowMs)]
  // An end that is further away than any lease is that of a clock that goes wrong.
  const lives = `e BETWEEN ${now} AND ${update.value(nowMs + 2 * LEASE_MS)}`
  const isOld = `s<=${update.value(nowMs - TERM_MS)}`
  update.condition(`(attribute_not_exists(h) OR h=${mine} OR NOT ${lives} OR ${isOld})`)
  update.sets.push(`h=${mine}`, `s=${now}`)
  update.set('e', nowMs + LEASE_MS)
  return update.build()
}

export function renewUpdate(me: string, nowMs: number): Update {
  const update = new Expression()
  update.condition(`h=${update.value(me)}`)
  update.set('e', nowMs + LEASE_MS)
  return update.build()
}

/** For whoever holds it: stay until then. */
export function noteUpdate(holder: string, stayMs: number): Update {
  const update = new Expression()
  const stay = update.value(stayMs)
  update.condition(`h=${update.value(holder)}`)
  update.condition(`(attribute_not_exists(u) OR u<${stay})`)
  update.sets.push(`u=${stay}`)
  return update.build()
}

/** Goes home, unless there is another note than the one that was seen. The row stays, empty. */
export function homeUpdate({ holder, stayMs }: Awake): Update {
  const update = new Expression()
  update.condition(`h=${update.value(holder)}`)
  update.condition(stayMs === undefined ? 'attribute_not_exists(u)' : `u=${update.value(stayMs)}`)
  update.removes.push('h', 's', 'e', 'u')
  return update.build()
}
