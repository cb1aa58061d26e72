import { serveQuestions } from '../../../support/worker-process.ts'
import { prepareProcess } from './prepare-process.ts'
import { Statistics } from './statistics.ts'

export type Job = { readonly from: number; readonly to: number; readonly operations: number }

export type JobResult = {
  readonly statistics: Readonly<Record<string, number>>
  readonly failures: readonly Failure[]
}

export type Failure = { readonly seed: number; readonly rule: string; readonly explanation: string }

type SeedResult = {
  readonly statistics: Statistics
  readonly violation: { readonly rule: string; readonly explanation: string } | undefined
}

/** Makes this a process of the pool: it runs the seeds it is given and answers with what they found. */
export async function serveJobs(
  run: (seed: number, operations: number) => Promise<SeedResult>,
): Promise<void> {
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
