// Every request of a run goes through here: timed, counted, and never too many at once. What was counted says how long
// calls took, and about what they cost on AWS: published prices, and the units that the benchmark measured for a call
// on a short queue, rounded up.

import { type OperationId, type Route, routes } from '../../lambdas/http/routes.ts'
import { functionSettings } from '../../lib/constructs/function-settings.ts'
import { prices } from '../../lib/prices.ts'

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
  readonly fetch?: typeof fetch | undefined
  readonly onCall: (call: Call) => void
  /** Bounds how many calls are under way. */
  readonly pass: <R>(work: () => Promise<R>) => Promise<R>
  /** No request begins after this signal. Requests under way may finish, so that none lands later. */
  readonly halt: AbortSignal
}

export const meteredFetch =
  ({ base, fetch = globalThis.fetch, onCall, pass, halt }: Meter): typeof fetch =>
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
        const response = await fetch(input, init)
        // Read it to the end, because we measure the whole answer; the client reads it again.
        await response.clone().arrayBuffer()
        status = response.status
        return response
      } finally {
        onCall({ operation, ms: performance.now() - startedMs, bytesSent, status })
      }
    })

/** A route's name in docs/openapi.json; `other` for an address that is not a route. */
type Operation = OperationId | 'other'

/** `path` below the endpoint. */
export function operationOf(method: string, path: string): Operation {
  const found = path.split('/')
  const route = routes.find((it) => it.method === method && matches(it.path.split('/'), found))
  return route?.operationId ?? 'other'
}

const matches = (wanted: readonly string[], found: readonly string[]): boolean =>
  wanted.length === found.length &&
  wanted.every((part, at) => part.startsWith('{') || part === found[at])

type Latency = {
  readonly operation: Operation
  readonly calls: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** By operation, the most frequent first. */
export function latenciesOf(calls: readonly Call[]): readonly Latency[] {
  const byOperation = Map.groupBy(calls, ({ operation }) => operation)
  return [...byOperation]
    .map(([operation, some]) => {
      const sorted = some.map(({ ms }) => ms).sort((a, b) => a - b)
      const [p50Ms, p99Ms] = [atRank(sorted, 0.5), atRank(sorted, 0.99)]
      return { operation, calls: some.length, p50Ms, p99Ms }
    })
    .sort((a, b) => b.calls - a.calls || (a.operation < b.operation ? -1 : 1))
}

/** The smallest value that this share of them does not exceed. */
const atRank = (sorted: readonly number[], share: number): number =>
  sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0

export type Cost = {
  readonly gatewayDollars: number
  readonly lambdaDollars: number
  readonly tableDollars: number
  readonly dollars: number
}

type Units = { readonly write: number; readonly read: number }

/** From docs/benchmark.md. Dead-lettering and redrive are transactions, which cost double. */
const unitsOf: Readonly<Partial<Record<Operation, Units>>> = {
  push: { write: 2, read: 0 },
  acknowledge: { write: 1, read: 0 },
  extendLock: { write: 1, read: 0 },
  deadLetter: { write: 9, read: 2 },
  move: { write: 2, read: 1 },
  redrive: { write: 9, read: 2 },
  purge: { write: 2, read: 1 },
  unconfigure: { write: 1, read: 2 },
  schedule: { write: 0, read: 2 },
  putSchedule: { write: 4, read: 4 },
  deleteSchedule: { write: 4, read: 1 },
  runSchedule: { write: 2, read: 2 },
  pauseSchedule: { write: 2, read: 1 },
  resumeSchedule: { write: 2, read: 1 },
  configureQueuePatterns: { write: 3, read: 1 },
  decideRate: { write: 1, read: 0 },
}

/** Any other call reads a row, and writes that row if it is no `GET`. */
const usualUnits = (route: Route | undefined): Units =>
  route === undefined || route.function === 'Health'
    ? { write: 0, read: 0 }
    : { write: route.method === 'GET' ? 0 : 1, read: 1 }

const routeOf = (operation: Operation): Route | undefined =>
  routes.find(({ operationId }) => operationId === operation)

const KILOBYTE = 1_024

export function costOf(calls: readonly Call[]): Cost {
  let gatewayDollars = 0
  let lambdaDollars = 0
  let tableDollars = 0
  for (const { operation, ms, bytesSent, status = 0 } of calls) {
    const { write, read } = unitsOf[operation] ?? usualUnits(routeOf(operation))
    const isStored = operation === 'push' && status === 200
    // Items are written, written again when they move out of the record, and read once.
    const kilobytes = isStored ? bytesSent / KILOBYTE : 0
    gatewayDollars += prices.httpApiRequest
    lambdaDollars +=
      prices.lambdaRequest + (ms / 1_000) * gigabytesOf(operation) * prices.lambdaGigabyteSecond
    tableDollars +=
      (write + 2 * kilobytes) * prices.writeUnit + (read + kilobytes) * prices.readUnit
  }
  const dollars = gatewayDollars + lambdaDollars + tableDollars
  return { gatewayDollars, lambdaDollars, tableDollars, dollars }
}

/** The caller cannot tell the function's time from the network's, so all of it counts. */
function gigabytesOf(operation: Operation): number {
  return functionSettings[routeOf(operation)?.function ?? 'Health'].memoryMb / KILOBYTE
}
