// Opens the place that the command line names. Each kind is loaded only if it is meant: HTTP needs no engine, and rate
// limits need no queues.

import type { Given, Io, TargetOptions } from '../command.ts'
import { awsOf, type Environment, placeOf } from './place.ts'
import type { Rates, Target } from './target.ts'

/** What a command was asked, as far as it says where to go. */
export type Asked = {
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

/** `tell` shows a person what takes its time. */
export async function openTarget(
  given: Given<TargetOptions>,
  env: Environment,
  tell: (line: string) => void,
): Promise<Target> {
  const place = placeOf(given, env)
  const aws = awsOf(given)
  if (place.kind === 'store') {
    const { openStoreTarget } = await import('./store-target.ts')
    return openStoreTarget(place, aws)
  }
  const { openHttpTarget } = await import('./http-target.ts')
  return openHttpTarget(place, aws, env.PUSHPOP_TOKEN, tell)
}
