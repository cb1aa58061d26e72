import type { Row } from '../../foundation/dynamo.ts'
import { Expression } from '../../foundation/expression.ts'
import type { PatternsPlace, PatternsWalk } from '../core/patterns-walk.ts'
import { DUE } from '../operations/attempts/pass-limit.ts'

type Stored = {
  readonly a: number
  readonly r?: number
  readonly e?: number
  readonly b?: number
  readonly s?: number
  readonly w?: PatternsPlace
  readonly f?: true
  readonly n?: number
}

export function decodePatternsWalk(row: Row | undefined): PatternsWalk {
  const { a = 0, r = 0, e = 0, b, s, w, f = false, n = 0 } = (row ?? {}) as Partial<Stored>
  return {
    asked: a,
    noted: r,
    settledMs: e,
    ...(b !== undefined && { beginMs: b }),
    ...(s !== undefined && w !== undefined && { underWay: { startedMs: s, place: w, failed: f } }),
    walks: n,
  }
}

/**
 * Writes the next state of the walk. DynamoDB refuses it if somebody asked for another walk meanwhile, or another
 * sweeper began or ended one: then we read the row again.
 */
export function walkUpdate(
  before: PatternsWalk,
  after: PatternsWalk,
): ReturnType<Expression['build']> {
  const update = new Expression()
  update.condition(`a=${update.value(before.asked)}`)
  conditionOfSameWalk(update, before)
  update.set('r', after.noted)
  update.set('e', after.settledMs)
  update.set('n', after.walks)
  const { beginMs, underWay } = after
  const optional = {
    b: beginMs,
    s: underWay?.startedMs,
    w: underWay?.place,
    f: underWay?.failed || undefined,
    checkAt: underWay ? DUE : beginMs,
  }
  for (const [name, value] of Object.entries(optional)) {
    if (value === undefined) update.removes.push(name)
    else update.set(name, value)
  }
  return update.build()
}

/**
 * Notes how far a walk has come, no matter what anybody asked for meanwhile. It may overwrite a place that another
 * sweeper noted with an earlier one: then we look at some queues twice.
 */
export function placeUpdate(
  walk: PatternsWalk,
  place: PatternsPlace,
  failed: boolean,
): ReturnType<Expression['build']> {
  const update = new Expression()
  conditionOfSameWalk(update, walk)
  update.set('w', place)
  if (failed) update.set('f', true)
  return update.build()
}

function conditionOfSameWalk(update: Expression, { underWay }: PatternsWalk): void {
  update.condition(
    underWay === undefined ? 'attribute_not_exists(s)' : `s=${update.value(underWay.startedMs)}`,
  )
}
