// When the calls that wait for one queue go, and which of them together: decisions without a clock of
// their own. The client holds this folder too, so nothing here imports from elsewhere.

/** What a call brings. */
export type Load = {
  readonly items: number
  readonly bytes: number
  /** Nothing else goes with it. */
  readonly alone?: boolean | undefined
}

export type Batching = {
  /** How long a batch that could go waits for more calls. */
  readonly waitMs: number
  readonly itemsMax: number
  readonly bytesMax: number
}

export type Waiting = {
  readonly load: Load
  readonly joinedMs: number
  /** Somebody flushes: it waits for nobody any more. */
  isHurried: boolean
}

/** The calls for one queue. */
export type Line<W extends Waiting = Waiting> = {
  /** In the order in which they came. */
  readonly waiting: Set<W>
  /** A batch is under way. The next one goes after it: that keeps the order. */
  isFlying: boolean
  /** When the last batch had its answer. */
  freeSinceMs: number
}

export type Step =
  | { readonly kind: 'rest' }
  /** This may be now: then it goes in the next turn, so that other calls of this turn come along. */
  | { readonly kind: 'wait'; readonly untilMs: number }
  | { readonly kind: 'go'; readonly calls: number }

/** `isNewTurn`: all who called in the same turn as the last one that waits are here. */
type Now = { readonly ms: number; readonly isNewTurn: boolean }

export const newLine = <W extends Waiting>(): Line<W> => ({
  waiting: new Set(),
  isFlying: false,
  freeSinceMs: Number.NEGATIVE_INFINITY,
})

export function nextStep(
  { waiting, isFlying, freeSinceMs }: Line,
  batching: Batching,
  { ms, isNewTurn }: Now,
): Step {
  const [first] = waiting
  if (isFlying || first === undefined) return { kind: 'rest' }
  const { calls, isClosed } = frontOf(waiting, batching)
  // Counted from the last answer too: the callers that got it may be about to call again.
  const sinceMs = Math.max(first.joinedMs, freeSinceMs)
  const untilMs = sinceMs + batching.waitMs
  // A clock that was set back must not hold up anything.
  const isDue = ms >= untilMs || ms < sinceMs
  const goes = isClosed || first.isHurried || (isNewTurn && isDue)
  return goes ? { kind: 'go', calls } : { kind: 'wait', untilMs }
}

/** The calls at the front that make one batch: at least one; closed when no further call can join it. */
function frontOf(
  waiting: Iterable<Waiting>,
  { itemsMax, bytesMax }: Batching,
): { readonly calls: number; readonly isClosed: boolean } {
  let calls = 0
  let items = 0
  let bytes = 0
  for (const { load } of waiting) {
    const isTooMuch = items + load.items > itemsMax || bytes + load.bytes > bytesMax
    if (calls > 0 && (load.alone || isTooMuch)) return { calls, isClosed: true }
    calls += 1
    items += load.items
    bytes += load.bytes
    if (load.alone || items >= itemsMax || bytes >= bytesMax) return { calls, isClosed: true }
  }
  return { calls, isClosed: false }
}
