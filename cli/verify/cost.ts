// Estimates what a run costs on AWS: from the calls that were counted, published prices, and the units
// that the benchmark measured for a call on a short queue, rounded up.

import { routes } from '../../lambdas/http/routes.ts'
import { functionSettings } from '../../lib/constructs/function-settings.ts'
import { prices } from '../../lib/prices.ts'
import type { Call } from './meter.ts'
import type { Operation } from './operation.ts'

export type Cost = {
  readonly gatewayDollars: number
  readonly lambdaDollars: number
  readonly tableDollars: number
  readonly dollars: number
}

type Units = { readonly write: number; readonly read: number }

const looks: Units = { write: 0, read: 1 }
const nothing: Units = { write: 0, read: 0 }

/** From docs/benchmark.md. Dead-lettering and redrive are transactions, which cost double. */
const unitsOf: Readonly<Record<Operation, Units>> = {
  push: { write: 2, read: 0 },
  pop: { write: 1, read: 1 },
  acknowledge: { write: 1, read: 0 },
  extendLock: { write: 1, read: 0 },
  release: { write: 1, read: 1 },
  deadLetter: { write: 9, read: 2 },
  cancel: { write: 1, read: 1 },
  move: { write: 2, read: 1 },
  redrive: { write: 9, read: 2 },
  purge: { write: 2, read: 1 },
  configure: { write: 1, read: 1 },
  unconfigure: { write: 1, read: 2 },
  putSchedule: { write: 4, read: 4 },
  deleteSchedule: { write: 4, read: 1 },
  runSchedule: { write: 2, read: 2 },
  pauseSchedule: { write: 2, read: 1 },
  resumeSchedule: { write: 2, read: 1 },
  queuePatterns: { write: 0, read: 1 },
  configureQueuePatterns: { write: 3, read: 1 },
  decideRate: { write: 1, read: 0 },
  giveUpTicket: { write: 1, read: 1 },
  configureRate: { write: 1, read: 1 },
  unconfigureRate: { write: 1, read: 1 },
  configureRatePatterns: { write: 1, read: 1 },
  schedule: { write: 0, read: 2 },
  schedules: looks,
  inspect: looks,
  browse: looks,
  scheduled: looks,
  configuration: looks,
  list: looks,
  rateState: looks,
  verifyTicket: looks,
  rateConfiguration: looks,
  ratePatterns: looks,
  health: nothing,
  healthHead: nothing,
  other: nothing,
}

const KILOBYTE = 1_024

export function costOf(calls: readonly Call[]): Cost {
  let gatewayDollars = 0
  let lambdaDollars = 0
  let tableDollars = 0
  for (const { operation, ms, bytesSent, status = 0 } of calls) {
    const { write, read } = unitsOf[operation]
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
  const route = routes.find(({ operationId }) => operationId === operation)
  return functionSettings[route?.function ?? 'Health'].memoryMb / KILOBYTE
}
