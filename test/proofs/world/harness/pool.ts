import { availableParallelism } from 'node:os'
import { serveQuestions, startWorker } from '../../../support/worker-process.ts'
import { showMatrix } from './crossings.ts'
import { Statistics } from './statistics.ts'

type PoolOptions = {
  readonly from: number
  readonly seeds: number
  readonly operations: number
  readonly workers?: number
  readonly worker: URL
  /** They take only what other processes leave of the cores. */
  readonly patient?: boolean
  /** Stop handing out seeds after this many have failed. */
  readonly failuresMax?: number
  readonly onProgress?: (done: number, failures: number) => void
  /** Called at once, so that you can watch a long run. */
  readonly onFailure?: (failure: Failure) => void
}

export type PoolResult = {
  readonly seeds: number
  readonly seconds: number
  readonly statistics: Statistics
  readonly failures: readonly Failure[]
}

const SEEDS_PER_JOB = 50

/** Runs seeds in one process a core. */
export async function runSeeds(options: PoolOptions): Promise<PoolResult> {
  const { failuresMax = 20, workers = availableParallelism(), onFailure, onProgress } = options
  const startedMs = performance.now()
  const statistics = new Statistics()
  const failures: Failure[] = []
  const jobs = jobsOf(options)
  let done = 0
  const work = async (): Promise<void> => {
    const worker = await startWorker<Job, JobResult>(options.worker, {}, options)
    try {
      while (failures.length < failuresMax) {
        const { value: job } = jobs.next()
        if (job === undefined) return
        const result = await worker.ask(job)
        statistics.add(result.statistics)
        failures.push(...result.failures)
        for (const failure of result.failures) onFailure?.(failure)
        done += job.to - job.from
        onProgress?.(done, failures.length)
      }
    } finally {
      await worker.stop()
    }
  }
  await Promise.all(Array.from({ length: workers }, work))
  failures.sort((a, b) => a.seed - b.seed)
  return { seeds: done, seconds: (performance.now() - startedMs) / 1_000, statistics, failures }
}

function* jobsOf({ from, seeds, operations }: PoolOptions): Generator<Job> {
  for (let at = from; at < from + seeds; at += SEEDS_PER_JOB) {
    yield { from: at, to: Math.min(at + SEEDS_PER_JOB, from + seeds), operations }
  }
}

type Job = { readonly from: number; readonly to: number; readonly operations: number }

type JobResult = {
  readonly statistics: Readonly<Record<string, number>>
  readonly failures: readonly Failure[]
}

type Violation = { readonly rule: string; readonly explanation: string }
type Failure = Violation & { readonly seed: number }
type SeedResult = { readonly statistics: Statistics; readonly violation: Violation | undefined }

/** Makes this a process of the pool: it runs the seeds it is given and answers with what they found. */
export async function serveJobs(run: (seed: number, operations: number) => Promise<SeedResult>) {
  await prepareProcess()
  serveQuestions(async ({ from, to, operations }: Job): Promise<JobResult> => {
    const statistics = new Statistics()
    const failures: Failure[] = []
    for (let seed = from; seed < to; seed += 1) {
      const result = await run(seed, operations).catch((error: unknown) => {
        throw new Error(`Cannot run seed ${seed}`, { cause: error })
      })
      statistics.add(result.statistics.toJSON())
      if (result.violation !== undefined) failures.push({ seed, ...result.violation })
    }
    return { statistics: statistics.toJSON(), failures }
  })
}

/**
 * Makes every run alike: loads the modules that the engine loads late, because loading takes turns of the
 * real event loop, and switches stacks off, because they cost more than the rest of a refused write.
 */
export async function prepareProcess(options: { readonly stacks?: boolean } = {}): Promise<void> {
  await Promise.all([import('@aws-sdk/client-s3'), import('croner')])
  Error.stackTraceLimit = options.stacks ? 30 : 0
}

/** Of the counts in a summary, by what their names begin with. */
const titles: Readonly<Record<string, string>> = {
  operation: 'Operations by outcome',
  fault: 'Faults injected',
  refused: 'Refused by the store',
  path: 'Paths taken',
  fate: 'What became of the items',
  max: 'Largest',
}

/** The end of a run, as a page to read. */
export function summary({ statistics, failures, seconds, seeds }: PoolResult): string {
  const counts = Object.entries(statistics.toJSON()).filter(([name]) => !name.startsWith('met '))
  const groups = Map.groupBy(counts, ([name]) => titles[name.slice(0, name.indexOf(' '))] ?? 'More')
  const lines = [...groups].flatMap(([title, group]) => [
    '',
    title,
    ...group.map(([name, count]) => `  ${name.padEnd(62)} ${String(count).padStart(10)}`),
  ])
  lines.push('', ...showMatrix(statistics), '')
  lines.push(`${seeds} seeds in ${seconds.toFixed(1)} s: ${(seeds / seconds).toFixed(1)} seeds/s`)
  for (const { seed, rule, explanation } of failures) {
    lines.push(`seed ${seed} VIOLATES ${rule}: ${explanation.slice(0, 300)}`)
  }
  lines.push(failures.length === 0 ? 'Every invariant holds.' : `${failures.length} seeds failed.`)
  return lines.join('\n')
}
