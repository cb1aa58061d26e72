// What requests used: counted by kind, added up, and what it costs at the list prices.

import { type FunctionSetting, functionSettings } from '../lib/constructs/function-settings.ts'
import { prices } from '../lib/prices.ts'

/** What one kind of request cost, for example `update q#` or `s3 put`. */
export type Tally = Usage & {
  readonly requests: number
  /** Writes refused by their condition, and cancelled transactions. Billed anyway. */
  readonly failedWrites: number
  readonly throttled: number
}

const noTally: Tally = {
  requests: 0,
  failedWrites: 0,
  throttled: 0,
  writeUnits: 0,
  readUnits: 0,
  s3Puts: 0,
  s3Gets: 0,
}

const names = Object.keys(noTally) as (keyof Tally)[]

function combine(a: Tally, b: Tally, sign: 1 | -1): Tally {
  return Object.fromEntries(names.map((name) => [name, a[name] + sign * b[name]])) as Tally
}

export type Reading = ReadonlyMap<string, Tally>

export type Meter = {
  add(kind: string, part: Partial<Tally>): void
  /** By kind of request, all since the start. */
  read(): Reading
}

export function createMeter(): Meter {
  const tallies = new Map<string, Tally>()
  return {
    add(kind, part) {
      tallies.set(kind, combine(tallies.get(kind) ?? noTally, { ...noTally, ...part }, 1))
    },
    read: () => new Map(tallies),
  }
}

export function total(reading: Reading): Tally {
  let sum = noTally
  for (const tally of reading.values()) sum = combine(sum, tally, 1)
  return sum
}

export function difference(later: Reading, earlier: Reading): Reading {
  const result = new Map<string, Tally>()
  for (const [kind, tally] of later) {
    const rest = combine(tally, earlier.get(kind) ?? noTally, -1)
    if (rest.requests > 0) result.set(kind, rest)
  }
  return result
}

export function each(tally: Tally, count: number): Tally {
  return Object.fromEntries(names.map((name) => [name, tally[name] / count])) as Tally
}

export function sum(a: Reading, b: Reading): Reading {
  const result = new Map(a)
  for (const [kind, tally] of b) result.set(kind, combine(result.get(kind) ?? noTally, tally, 1))
  return result
}

type Usage = {
  readonly writeUnits: number
  readonly readUnits: number
  readonly s3Puts: number
  readonly s3Gets: number
}

const { Push, Housekeep } = functionSettings

/** Everything a store bills, as if all of it were write units: the unit of the bars. */
export function writeUnitsWorth(usage: Usage): number {
  return storeDollars(usage) / prices.writeUnit
}

export function storeDollars(usage: Usage): number {
  return (
    usage.writeUnits * prices.writeUnit +
    usage.readUnits * prices.readUnit +
    usage.s3Puts * prices.s3Put +
    usage.s3Gets * prices.s3Get
  )
}

/** One call of the API: gateway, one Lambda invocation, and its time. All that serve calls have the same memory. */
export function callDollars(durationMs: number): number {
  return prices.httpApiRequest + invocationDollars(Push, durationMs)
}

export const housekeepingDollars = (durationMs: number): number =>
  invocationDollars(Housekeep, durationMs)

/** An invocation with the function's deployed memory, for as long as the engine's call took in the measurement. */
export function invocationDollars({ memoryMb }: FunctionSetting, durationMs: number): number {
  const gigabyteSeconds = (memoryMb / 1024) * (durationMs / 1000)
  return prices.lambdaRequest + gigabyteSeconds * prices.lambdaGigabyteSecond
}

export const sqsFifoBestDollarsPerMillion = ((3 * prices.sqsFifoRequest) / 10) * 1_000_000
