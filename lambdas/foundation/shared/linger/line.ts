// When to send the calls that wait for one queue, and which of them together. These decisions take the time as an
// argument. The client bundles this folder too, so nothing here imports from elsewhere.

/** What a call brings. */
export type Load = {
  readonly items: number
  readonly bytes: number
  /** How many of the items certainly take up room at once, and not only when they are due. Default: all. */
  readonly itemsNow?: number | undefined
  /** It must be sent alone. */
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
  /** Somebody has called `flush`: do not wait for other calls any more. */
  isHurried: boolean
}

/** The calls for one queue. */
export type Line<W extends Waiting = Waiting> = {
  /** In the order in which they came. */
  readonly waiting: Set<W>
  /** A batch is under way. To keep the order, the next one goes after it. */
  isFlying: boolean
  /** When the last batch had its answer. */
  freeSinceMs: number
}

export type Step =
  | { readonly kind: 'rest' }
  /** `untilMs` may be now: then the batch goes in the next turn, so that other calls of this turn can join. */
  | { readonly kind: 'wait'; readonly untilMs: number }
  | { readonly kind: 'go'; readonly calls: number }

/** `isNewTurn`: all calls of the same turn as the last waiting one have come. */
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
  // Count from the last answer, too: the callers that got it may be about to call again.
  const sinceMs = Math.max(first.joinedMs, freeSinceMs)
  const untilMs = sinceMs + batching.waitMs
  // If somebody has set the clock back, that must not hold up anything.
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
