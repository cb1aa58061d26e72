// Every request of a run goes through here: timed, counted, and never too many at once.

import { type Operation, operationOf } from './operation.ts'

export type Call = {
  readonly operation: Operation
  /** From the request to the end of the answer, without the wait for other calls of this run. */
  readonly ms: number
  readonly bytesSent: number
  /** Absent if no answer came. */
  readonly status: number | undefined
}

export type Meter = {
  readonly base: URL
  readonly onCall: (call: Call) => void
  /** Bounds how many calls are under way. */
  readonly pass: <R>(work: () => Promise<R>) => Promise<R>
  /** No request begins after this signal. Requests under way may finish, so that none lands later. */
  readonly halt: AbortSignal
}

export const meteredFetch =
  ({ base, onCall, pass, halt }: Meter): typeof fetch =>
  (input, init = {}) =>
    pass(async () => {
      halt.throwIfAborted()
      const { pathname } = new URL(String(input))
      const below = pathname.slice(base.pathname.replace(/\/$/, '').length)
      const operation = operationOf(init.method ?? 'GET', below)
      const bytesSent = typeof init.body === 'string' ? Buffer.byteLength(init.body) : 0
      const startedMs = performance.now()
      let status: number | undefined
      try {
        const response = await globalThis.fetch(input, init)
        // Read it to the end, because we measure the whole answer; the client reads it again.
        await response.clone().arrayBuffer()
        status = response.status
        return response
      } finally {
        onCall({ operation, ms: performance.now() - startedMs, bytesSent, status })
      }
    })
