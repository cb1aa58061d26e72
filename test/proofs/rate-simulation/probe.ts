import type { AppliedSettings } from '../../../lambdas/rate/operations/configure.ts'
import type { RateState } from '../../../lambdas/rate/operations/rate-state.ts'
import type { Admission } from '../../../lambdas/rate/rate-limits.ts'
import type { RateProcess } from './rate-process.ts'
import type { RateRunner } from './run-rate-seed.ts'

/** Longer than any line of this world, every memory of a denial, and the clocks' difference. */
const REST_MS = 400_000
/** One more than most limits of this world; a higher one that lets too few pass shows here as well. */
const CALLS_MAX = 13

/**
 * When everything is quiet and every promise is past, the limit is whole again: a process that knows
 * nothing gets exactly `max` a window, and one that remembers is not misled by it.
 */
export async function probe(run: RateRunner, warm: RateProcess, cold: RateProcess): Promise<void> {
  for (const key of run.profile.keys) {
    await admitOnce(run, warm, key)
    await run.advance(REST_MS)
    // One of them a seed, for the time it takes.
    const process = run.world.seed % 2 === 0 ? cold : warm
    const settings = await settingsOf(run, process, key)
    if (settings === undefined) return
    const allowed = await allowedAtOnce(run, process, key)
    const { algorithm, burst, maxRequests, shards, windowMillis } = settings
    const least = algorithm === 'window' ? maxRequests : Math.min(burst, maxRequests) * shards
    // Two windows may be met, where the first calls fall at the end of one; smooth goes on meanwhile.
    if (run.world.violation === undefined && allowed < Math.min(least, CALLS_MAX)) {
      run.world.violated('the limit is whole again', `${allowed} of ${JSON.stringify(settings)}`)
    }
    await run.advance(2 * windowMillis + 61_000)
  }
}

async function settingsOf(
  run: RateRunner,
  process: RateProcess,
  key: string,
): Promise<AppliedSettings['settings'] | undefined> {
  const outcome = await run.call(process, { verb: 'state', key })
  return outcome?.kind === 'answered' ? (outcome.answer as RateState).settings : undefined
}

async function allowedAtOnce(run: RateRunner, process: RateProcess, key: string): Promise<number> {
  let allowed = 0
  for (let call = 1; call <= CALLS_MAX; call += 1) {
    if ((await admitOnce(run, process, key)) !== 'allowed') break
    allowed += 1
  }
  return allowed
}

async function admitOnce(
  run: RateRunner,
  process: RateProcess,
  key: string,
): Promise<Admission['kind'] | undefined> {
  const outcome = await run.call(process, { verb: 'admit', key, request: {} })
  return outcome?.kind === 'answered' ? (outcome.answer as Admission).kind : undefined
}
