import type { Given } from '../arguments/option-table.ts'
import type { TargetOptions } from '../arguments/target-options.ts'
import type { Io } from '../command.ts'
import { awsOf, placeOf } from './open-target.ts'
import type { Rates } from './rates.ts'

type Asked = {
  readonly given: Given<TargetOptions>
  readonly io: Pick<Io, 'env' | 'interrupt'>
}

/** The rate limits of the place that queues are in, for as long as the work takes. */
export async function withRates<R>(asked: Asked, work: (rates: Rates) => Promise<R>): Promise<R> {
  const rates = await openRates(asked)
  try {
    return await work(rates)
  } finally {
    rates.close()
  }
}

async function openRates({ given, io }: Asked): Promise<Rates> {
  const place = placeOf(given, io.env)
  if (place.kind === 'store') {
    const { openStoreRates } = await import('./store-rates.ts')
    return openStoreRates(place, awsOf(given), io.interrupt)
  }
  const { openHttpRates } = await import('./http-rates.ts')
  return openHttpRates(place, awsOf(given), io.env.PUSHPOP_TOKEN, io.interrupt)
}
