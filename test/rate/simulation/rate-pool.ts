import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { Statistics } from '../../simulation/statistics.ts'

export type RateFailure = {
  readonly seed: number
  readonly rule: string
  readonly explanation: string
}
export type RateJob = { readonly from: number; readonly to: number }
export type RateJobResult = {
  readonly statistics: Record<string, number>
  readonly failures: readonly RateFailure[]
}

export type RatePoolResult = {
  readonly seeds: number
  readonly seconds: number
  readonly statistics: Statistics
  readonly failures: readonly RateFailure[]
}

const SEEDS_PER_JOB = 250
/** Enough to see whether they are of one kind. */
const FAILURES_MAX = 10

/** Runs seeds in one process a core. */
export async function runRateSeeds(options: {
  readonly from: number
  readonly seeds: number
  readonly workers?: number
}): Promise<RatePoolResult> {
  const startedMs = performance.now()
  const statistics = new Statistics()
  const failures: RateFailure[] = []
  const end = options.from + options.seeds
  let at = options.from
  let seeds = 0
  const work = async (): Promise<void> => {
    const child = fork(new URL('./rate-worker.ts', import.meta.url), { execArgv: [] })
    try {
      await message(child)
      while (at < end && failures.length < FAILURES_MAX) {
        const job: RateJob = { from: at, to: Math.min(end, at + SEEDS_PER_JOB) }
        at = job.to
        child.send(job)
        const result = (await message(child)) as RateJobResult
        statistics.add(result.statistics)
        failures.push(...result.failures)
        seeds += job.to - job.from
      }
    } finally {
      child.kill()
    }
  }
  const workers = options.workers ?? availableParallelism()
  await Promise.all(Array.from({ length: workers }, work))
  failures.sort((a, b) => a.seed - b.seed)
  return { seeds, seconds: (performance.now() - startedMs) / 1_000, statistics, failures }
}

function message(child: ReturnType<typeof fork>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null): void => reject(new Error(`A worker ended with ${code}`))
    child.once('exit', onExit)
    child.once('message', (told) => {
      child.off('exit', onExit)
      resolve(told)
    })
  })
}
