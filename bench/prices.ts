// What usage costs, at the list prices.

import { prices } from '../lib/prices.ts'

const million = 1_000_000

/** The memory that the functions are deployed with; their time is that of the engine's call as measured. */
export const LAMBDA_GIGABYTES = 0.25

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

/** One call of the API: gateway, one Lambda invocation, and its time. */
export function callDollars(durationMs: number): number {
  return prices.httpApiRequest + invocationDollars(durationMs)
}

/** An invocation without a gateway: the stream's. */
export function invocationDollars(durationMs: number): number {
  return prices.lambdaRequest + (durationMs / 1000) * LAMBDA_GIGABYTES * prices.lambdaGigabyteSecond
}

export const sqsFifoBestDollarsPerMillion = ((3 * prices.sqsFifoRequest) / 10) * million
