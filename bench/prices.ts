// What usage costs, at the list prices.

import type { FunctionSetting } from '../lib/constructs/function-settings.ts'
import { functionSettings } from '../lib/constructs/function-settings.ts'
import { prices } from '../lib/prices.ts'

const million = 1_000_000
const { Push, Housekeep } = functionSettings

export type Usage = {
  readonly writeUnits: number
  readonly readUnits: number
  readonly s3Puts: number
  readonly s3Gets: number
}

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

export const sqsFifoBestDollarsPerMillion = ((3 * prices.sqsFifoRequest) / 10) * million
