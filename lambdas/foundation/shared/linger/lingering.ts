// Sends pushes of one process together: the thin edge, with the clock, around `line.ts` and `deliver.ts`.

import { type Blame, deliver, type Outcome } from './deliver.ts'
import { type Batching, type Line, type Load, newLine, nextStep, type Waiting } from './line.ts'

/**
 * Calls that wait or are under way in one process, for all queues. We cannot make a caller come later, so we refuse
 * a call too many. This many promises take some 100 MB.
 */
export const UNANSWERED_CALLS_MAX = 100_000
/** Some dozens of the largest batches. */
export const UNANSWERED_BYTES_MAX = 64 * 1024 * 1024

export type Sending = {
  /** Aborted when no caller waits for the answer any more. */
  readonly signal: AbortSignal
  /** Try again before a refusal that may lie with the call itself becomes its answer. */
  readonly isPatient: boolean
}

export type Service<C, A> = {
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
