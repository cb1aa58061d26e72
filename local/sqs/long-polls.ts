// Receives that wait. The first that came is served first, as soon as there may be something for it.

import type { Received } from './core/message.ts'
import type { ReceiveRequest } from './core/queue.ts'
import type { Clockwork, Queues } from './core/queues.ts'

type Poll = {
  readonly queue: string
  readonly request: ReceiveRequest
  readonly untilMs: number
  readonly resolve: (received: readonly Received[]) => void
  readonly reject: (error: unknown) => void
}

/** The longest that a timer takes is far more. */
const TIMER_MS_MAX = 20_000

export class LongPolls {
  readonly #queues: Queues
  readonly #clock: Clockwork
  readonly #polls = new Set<Poll>()
  #timer: NodeJS.Timeout | undefined

  constructor(queues: Queues, clock: Clockwork) {
    this.#queues = queues
    this.#clock = clock
  }

  /** Waits no longer than `waitMs`, and takes nothing once nobody listens. */
  receive(
    queue: string,
    request: ReceiveRequest,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<readonly Received[]> {
    if (signal.aborted) return Promise.resolve([])
    const untilMs = this.#clock.nowMs() + waitMs
    return new Promise((resolve, reject) => {
      const poll: Poll = { queue, request, untilMs, resolve, reject }
      this.#polls.add(poll)
      signal.addEventListener('abort', () => {
        if (this.#polls.delete(poll)) resolve([])
      })
      this.look()
    })
  }

  /** Something has changed, or time has passed. */
  look(): void {
    clearTimeout(this.#timer)
    const nowMs = this.#clock.nowMs()
    let nextMs = Number.POSITIVE_INFINITY
    const empty = new Set<string>()
    for (const poll of this.#polls) {
      try {
        // If one poll found nothing, others on its queue need not look, unless one repeats an earlier attempt.
        const isInVain = empty.has(poll.queue) && poll.request.attemptId === undefined
        const received = isInVain ? [] : this.#queues.receive(poll.queue, poll.request)
        if (received.length === 0 && poll.untilMs > nowMs) {
          empty.add(poll.queue)
          nextMs = Math.min(nextMs, poll.untilMs)
          continue
        }
        this.#polls.delete(poll)
        poll.resolve(received)
      } catch (error) {
        this.#polls.delete(poll)
        poll.reject(error)
      }
    }
    for (const queue of empty) {
      nextMs = Math.min(nextMs, this.#queues.find(queue).nextMs(nowMs))
    }
    if (nextMs === Number.POSITIVE_INFINITY) return
    this.#timer = setTimeout(
      () => this.look(),
      Math.min(TIMER_MS_MAX, Math.max(1, nextMs - this.#clock.nowMs())),
    )
  }

  stop(): void {
    clearTimeout(this.#timer)
    for (const { resolve } of this.#polls) resolve([])
    this.#polls.clear()
  }
}
