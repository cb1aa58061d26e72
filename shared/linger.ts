// Sends the pushes of one process together: which calls share a batch, when it goes, and which call gets which answer.
//
//   waiting ──full, hurried, or waited long enough──▶ under way ──answered──▶ settled
//      └──its caller gives up──▶ settled: nothing was sent    └──its caller gives up──▶ settled: nobody knows
//
// A queue has one batch under way, so that its items keep their order. If a batch is refused for a reason that may lie
// with only some of its calls, we send it again in halves, in order, until every call has its own answer. The first
// outcome of a call counts. The decisions take the time as an argument. The client bundles this file.

import { ITEMS_PER_PUSH_MAX, PRIORITIES_PER_PUSH_MAX, PUSH_BYTES_MAX } from './bounds.ts'
import { type Names, refuseUnknown } from './options.ts'

export type LingerOptions = {
  /**
   * How long a push waits for others before they go together, 0–10,000. Default 0: no push waits, but pushes
   * that come while a batch is under way form the next one.
   */
  readonly waitMs?: number | undefined
  /** Items with which a batch goes at once, 1–1,000. Default 1,000. */
  readonly itemsMax?: number | undefined
  /** Bytes of items with which a batch goes at once, up to 2.5 MB. Default 1 MiB. */
  readonly bytesMax?: number | undefined
}

const names: Names<LingerOptions> = { waitMs: 0, itemsMax: 0, bytesMax: 0 }

/** A caller that can wait longer should collect a list and push it in bulk. */
const WAIT_MS_MAX = 10_000
/** A larger batch costs no less per item, and all of its calls wait for the last byte. */
const BYTES_DEFAULT = 1024 * 1024
/** The body of a bulk push has a few characters around its items. */
const BYTES_MAX = PUSH_BYTES_MAX - 64

export type Batching = {
  /** How long a batch that could go waits for more calls. */
  readonly waitMs: number
  readonly itemsMax: number
  readonly bytesMax: number
}

/** The options with their defaults; undefined if pushes do not linger. */
export function batchingOf(linger: boolean | LingerOptions | undefined): Batching | undefined {
  if (linger === undefined || linger === false) return undefined
  const options = linger === true ? {} : linger
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`Cannot use ${String(linger)} as linger: say true, or { waitMs: 5 }`)
  }
  refuseUnknown(options, names)
  const within = (name: keyof LingerOptions, unset: number, least: number, most: number) => {
    const value = options[name] ?? unset
    if (typeof value === 'number' && value >= least && value <= most) return value
    throw new TypeError(`linger.${name} must be ${least} to ${most}, and is ${String(value)}`)
  }
  return {
    waitMs: within('waitMs', 0, 0, WAIT_MS_MAX),
    itemsMax: within('itemsMax', ITEMS_PER_PUSH_MAX, 1, ITEMS_PER_PUSH_MAX),
    bytesMax: within('bytesMax', BYTES_DEFAULT, 1, BYTES_MAX),
  }
}

/**
 * Calls that wait or are under way in one process, for all queues. We cannot make a caller come later, so we refuse
 * a call too many. This many promises take some 100 MB.
 */
const UNANSWERED_CALLS_MAX = 100_000
/** Some dozens of the largest batches. */
export const UNANSWERED_BYTES_MAX = 64 * 1024 * 1024

type Sending = {
  /** Aborted when no caller waits for the answer any more. */
  readonly signal: AbortSignal
  /** Try again before a refusal that may lie with the call itself becomes its answer. */
  readonly isPatient: boolean
}

type Service<C, A> = {
  nowMs(): number
  /** Resolves in a later turn, even for 0, and keeps the process alive until then. */
  sleep(ms: number): Promise<void>
  /** Pushes the items of the calls, in order, all or nothing; returns an outcome for each call. */
  send(queue: string, calls: readonly C[], sending: Sending): Promise<readonly Outcome<A>[]>
  blame(error: unknown): Blame
  /** The error of a call whose signal came. Nothing has changed if it was not sent. */
  givenUp(signal: AbortSignal, wasSent: boolean): unknown
  /** The error for a call too many. */
  tooMany(message: string): unknown
}

type Pending<C, A> = Waiting & {
  readonly call: C
  readonly answered: Promise<A>
  /** The first outcome counts. */
  settle(outcome: Outcome<A>): void
  /** Set once its batch is under way. */
  flight: Flight<C, A> | undefined
}

type Flight<C, A> = { readonly batch: readonly Pending<C, A>[]; readonly over: AbortController }

type WatchedLine<C, A> = Line<Pending<C, A>> & { readonly queue: string; isWatched: boolean }

export class Lingering<C, A> {
  readonly #batching: Batching
  readonly #service: Service<C, A>
  readonly #lines = new Map<string, WatchedLine<C, A>>()
  readonly #unanswered = new Set<Pending<C, A>>()
  #unansweredBytes = 0

  constructor(batching: Batching, service: Service<C, A>) {
    this.#batching = batching
    this.#service = service
  }

  /** The call takes its place before this returns, so the order of calls is the order of items. */
  async push(queue: string, call: C, load: Load, signal?: AbortSignal): Promise<A> {
    if (signal?.aborted) throw this.#service.givenUp(signal, false)
    const [calls, bytes] = [this.#unanswered.size, this.#unansweredBytes]
    if (calls >= UNANSWERED_CALLS_MAX || bytes + load.bytes > UNANSWERED_BYTES_MAX) {
      throw this.#service.tooMany(
        `Cannot push because ${calls} pushes with ${bytes} bytes wait for their answers already; await some of them first`,
      )
    }
    const line = this.#lines.get(queue) ?? { ...newLine<Pending<C, A>>(), queue, isWatched: false }
    this.#lines.set(queue, line)
    const one = this.#pending(call, load)
    line.waiting.add(one)
    this.#proceed(line)
    if (signal === undefined) return one.answered
    const stop = () => this.#giveUp(line, one, signal)
    signal.addEventListener('abort', stop)
    return one.answered.finally(() => signal.removeEventListener('abort', stop))
  }

  /** Sends all waiting calls, and resolves when all calls so far have their answers. */
  async flush(): Promise<void> {
    const answers = Array.from(this.#unanswered, ({ answered }) => answered)
    for (const line of this.#lines.values()) {
      for (const one of line.waiting) one.isHurried = true
      this.#proceed(line)
    }
    await Promise.allSettled(answers)
  }

  #pending(call: C, load: Load): Pending<C, A> {
    let settle: Pending<C, A>['settle'] = () => {}
    const answered = new Promise<A>((resolve, reject) => {
      settle = (outcome) => {
        if (!this.#unanswered.delete(one)) return
        this.#unansweredBytes -= load.bytes
        if (outcome.kind === 'answer') resolve(outcome.answer)
        else reject(outcome.error)
      }
    })
    const joinedMs = this.#service.nowMs()
    const one = { call, load, joinedMs, isHurried: false, answered, settle, flight: undefined }
    this.#unanswered.add(one)
    this.#unansweredBytes += load.bytes
    return one
  }

  #proceed(line: WatchedLine<C, A>, isNewTurn = false): void {
    const step = nextStep(line, this.#batching, { ms: this.#service.nowMs(), isNewTurn })
    if (step.kind === 'go') void this.#fly(line, step.calls)
    else if (step.kind === 'wait') void this.#watch(line, step.untilMs)
    else if (!line.isFlying && !line.isWatched) this.#lines.delete(line.queue)
  }

  /** One timer for each line: if it fires too early for the batch that waits by then, we set it again. */
  async #watch(line: WatchedLine<C, A>, untilMs: number): Promise<void> {
    if (line.isWatched) return
    line.isWatched = true
    const ms = untilMs - this.#service.nowMs()
    await this.#service.sleep(Math.min(Math.max(0, ms), this.#batching.waitMs))
    line.isWatched = false
    this.#proceed(line, true)
  }

  async #fly(line: WatchedLine<C, A>, calls: number): Promise<void> {
    const batch: Pending<C, A>[] = []
    const over = new AbortController()
    for (const one of line.waiting) {
      if (batch.length === calls) break
      line.waiting.delete(one)
      one.flight = { batch, over }
      batch.push(one)
    }
    line.isFlying = true
    const { signal } = over
    const { send, blame } = this.#service
    await deliver<Pending<C, A>, A>(batch, {
      send: (part, isPatient) => {
        const calls = part.map(({ call }) => call)
        return send(line.queue, calls, { signal, isPatient })
      },
      blame,
      isWanted: (one) => this.#unanswered.has(one),
      tell: (one, outcome) => one.settle(outcome),
    })
    line.isFlying = false
    line.freeSinceMs = this.#service.nowMs()
    this.#proceed(line)
  }

  #giveUp(line: WatchedLine<C, A>, one: Pending<C, A>, signal: AbortSignal): void {
    const { flight } = one
    one.settle({ kind: 'error', error: this.#service.givenUp(signal, flight !== undefined) })
    line.waiting.delete(one)
    const isOver = flight?.batch.every((other) => !this.#unanswered.has(other))
    if (isOver) flight?.over.abort(signal.reason)
  }
}

/** What a call brings. */
export type Load = {
  readonly items: number
  readonly bytes: number
  /** How many of the items certainly take up room at once, and not only when they are due. Default: all. */
  readonly itemsNow?: number | undefined
  /** Each priority that its items have, if a batch may have only so many. Default: 0 alone. */
  readonly priorities?: ReadonlySet<number> | undefined
  /** It must be sent alone. */
  readonly alone?: boolean | undefined
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

type Step =
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
  const priorities = new Set<number>()
  for (const { load } of waiting) {
    const own = load.priorities ?? plain
    const isTooMuch =
      items + load.items > itemsMax ||
      bytes + load.bytes > bytesMax ||
      widthOf(priorities, own) > PRIORITIES_PER_PUSH_MAX
    if (calls > 0 && (load.alone || isTooMuch)) return { calls, isClosed: true }
    calls += 1
    for (const priority of own) priorities.add(priority)
    items += load.items
    bytes += load.bytes
    if (load.alone || items >= itemsMax || bytes >= bytesMax) return { calls, isClosed: true }
  }
  return { calls, isClosed: false }
}

const plain: ReadonlySet<number> = new Set([0])

function widthOf(priorities: ReadonlySet<number>, more: ReadonlySet<number>): number {
  let width = priorities.size
  for (const priority of more) if (!priorities.has(priority)) width += 1
  return width
}

/**
 * Which calls a refusal concerns. `all`: every call alike. `some`: perhaps only some of them. `larger`: also
 * every call that needs room for at least as many items as one brought that was refused alone.
 */
export type Blame = 'all' | 'some' | 'larger'

const some = new Set([
  'TOO_MANY_PRIORITIES',
  'BODY_TOO_LARGE',
  'ITEM_TOO_LARGE',
  'INVALID_ITEM',
  'INVALID_PRIORITY',
  // For times: one may be wrong by itself, or there may be too many together.
  'INVALID_PARAMETER',
  'INVALID_JSON',
  'UNKNOWN_FIELD',
])

/** Goes by the error's code, which the engine and the service share. */
export function blameOf({
  code,
  outcome,
}: {
  code: string
  outcome?: 'unknown' | undefined
}): Blame {
  // The items may have been pushed: a second request could push them twice.
  if (outcome === 'unknown') return 'all'
  if (code === 'QUEUE_FULL') return 'larger'
  return some.has(code) ? 'some' : 'all'
}

export type Outcome<A> =
  | { readonly kind: 'answer'; readonly answer: A }
  | { readonly kind: 'error'; readonly error: unknown }

type Delivery<C, A> = {
  /**
   * Returns one outcome for each call; if it throws, all of them get the error. `isPatient`: a quick refusal
   * helps nobody, so it may try again first.
   */
  send(calls: readonly C[], isPatient: boolean): Promise<readonly Outcome<A>[]>
  blame(error: unknown): Blame
  /** Whether its caller still waits. */
  isWanted(call: C): boolean
  tell(call: C, outcome: Outcome<A>): void
}

/** Never rejects. */
export async function deliver<C extends { readonly load: Load }, A>(
  calls: readonly C[],
  { send, blame, isWanted, tell }: Delivery<C, A>,
): Promise<void> {
  // We take the next part from the end.
  let parts: (readonly C[])[] = [calls]
  let refused: { readonly items: number; readonly outcome: Outcome<A> } | undefined
  let isPatient = true
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    const asking: C[] = []
    for (const call of part.filter(isWanted)) {
      const { items, itemsNow = items } = call.load
      if (refused !== undefined && itemsNow >= refused.items) tell(call, refused.outcome)
      else asking.push(call)
    }
    if (asking.length === 0) continue
    const isLone = asking.length === 1
    try {
      const outcomes = await send(asking, isPatient && isLone)
      for (const [index, call] of asking.entries()) tell(call, outcomes[index] as Outcome<A>)
    } catch (error) {
      const whom = blame(error)
      if (whom !== 'all' && !isLone) {
        const half = Math.ceil(asking.length / 2)
        parts.push(asking.slice(half), asking.slice(0, half))
        continue
      }
      const outcome = { kind: 'error', error } as const
      for (const call of asking) tell(call, outcome)
      if (whom === 'larger') refused = { items: asking[0]?.load.items ?? 0, outcome }
      // The others need not wait just as long for the same refusal.
      if (whom !== 'all') isPatient = false
      // If the store is out of reach, each part would have to wait for it: send the rest as one.
      else parts = [parts.reverse().flat()]
    }
  }
}
