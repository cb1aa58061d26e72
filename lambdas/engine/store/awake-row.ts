import type { Row } from '../../foundation/dynamo.ts'
import { Expression } from '../../foundation/expression.ts'

// The row says which run of Wake is awake (`h`), since when (`s`), until when that counts unless it renews its
// lease (`e`), and until when it must stay (`u`). If two runs ask at once, one gets the row and the other leaves a
// note in `u`. A run that ends clears the row on the condition that the note is as it saw it. So either it reads
// the note, or the note comes too late: then the writer of the note finds no run awake, and stays awake itself.

export type Awake = { readonly holder: string; readonly stayMs: number | undefined }

/** A run renews its lease every ten seconds: two renewals may get lost, or a request may hang. */
export const LEASE_MS = 30_000
export const RENEW_MS = 10_000
/**
 * A run that is called later than this takes over. The minute's sweep calls while something is near, so a run hands
 * over long before its time is up, without a gap, and reports its work every few minutes.
 */
export const TERM_MS = 120_000

export const awakeIn = (row: Row | undefined): Awake | undefined =>
  row?.h === undefined
    ? undefined
    : { holder: row.h as string, stayMs: row.u as number | undefined }

type Update = ReturnType<Expression['build']>

/** Succeeds if no run is awake, or the one that is has been so for its term. */
export function takeUpdate(me: string, nowMs: number, termMs: number): Update {
  const update = new Expression()
  const [mine, now] = [update.value(me), update.value(nowMs)]
  // If the lease ends later than any lease can, it comes from a wrong clock.
  const lives = `e BETWEEN ${now} AND ${update.value(nowMs + 2 * LEASE_MS)}`
  const isOld = `s<=${update.value(nowMs - termMs)}`
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

/** A note for the run that holds the row: stay until then. */
export function noteUpdate(holder: string, stayMs: number): Update {
  const update = new Expression()
  const stay = update.value(stayMs)
  update.condition(`h=${update.value(holder)}`)
  update.condition(`(attribute_not_exists(u) OR u<${stay})`)
  update.sets.push(`u=${stay}`)
  return update.build()
}

/** Ends this run's turn, unless the note has changed since it was read. The row stays, empty. */
export function homeUpdate({ holder, stayMs }: Awake): Update {
  const update = new Expression()
  update.condition(`h=${update.value(holder)}`)
  update.condition(stayMs === undefined ? 'attribute_not_exists(u)' : `u=${update.value(stayMs)}`)
  update.removes.push('h', 's', 'e', 'u')
  return update.build()
}
