import type { PushItem } from '../../../../lambdas/engine/queues.ts'

// What became of each item, as far as its callers know.

/** When a call was made: by the order of all calls and answers, and by the clock of who called. */
export type Call = { readonly at: number; readonly clockMs: number }

/** A call, and the clock of who called when the answer came. */
export type When = { readonly call: Call; readonly clockMs: number }

export type Push = {
  readonly fates: Fate[]
  outcome: 'none' | 'pushed' | 'refused' | 'unknown'
  ids: readonly string[] | undefined
  /** By the clock of who pushes: when the last sending ended, if it has. */
  untilMs: number
}

export type Fate = {
  readonly item: PushItem
  readonly push: Push
  readonly pushedTo: string
  /** By the clock of who pushed. */
  readonly calledMs: number
  readonly pushedForMs: number
  /** Where it may be. */
  readonly queues: Set<string>
  /** Earlier than that nobody wanted it anywhere. */
  earliestMs: number
  /** It was released until then. */
  notBeforeMs: number
  moves: number
  /** Those that are under way, or whose outcome nobody knows. */
  openMoves: number
  /** How often it was handed out, taken for good, and so on. */
  seen: number
  taken: number
  cancelled: number
  dead: number
  /** It left its queue for good, and was told so at this moment. */
  ended: { readonly how: string; readonly at: number } | undefined
  mayBeGone: boolean
  /** A move may have scheduled it while it waited in a lane. */
  isPutOff: boolean
}

export function newFate(queue: string, item: PushItem, clockMs: number, push: Push): Fate {
  const pushedForMs = item.deliverAtMs ?? clockMs + 1_000 * (item.delaySeconds ?? 0)
  return {
    item,
    push,
    pushedTo: queue,
    calledMs: clockMs,
    pushedForMs,
    queues: new Set([queue]),
    earliestMs: pushedForMs,
    notBeforeMs: 0,
    moves: 0,
    openMoves: 0,
    seen: 0,
    taken: 0,
    cancelled: 0,
    dead: 0,
    ended: undefined,
    mayBeGone: false,
    isPutOff: false,
  }
}
