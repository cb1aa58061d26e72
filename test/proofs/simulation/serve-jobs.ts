import type { Failure, Job, JobResult } from './messages.ts'
import { prepareProcess } from './prepare-process.ts'
import { Statistics } from './statistics.ts'

type SeedResult = {
  readonly statistics: Statistics
  readonly violation: { readonly rule: string; readonly explanation: string } | undefined
}

/** Makes this a process of the pool: it runs the seeds it is given and answers with what they found. */
export async function serveJobs(
  run: (seed: number, operations: number) => Promise<SeedResult>,
): Promise<void> {
  const work = async (job: Job): Promise<JobResult> => {
    const statistics = new Statistics()
    const failures: Failure[] = []
    for (let seed = job.from; seed < job.to; seed += 1) {
      const result = await run(seed, job.operations)
      statistics.add(result.statistics.toJSON())
      if (result.violation !== undefined) failures.push({ seed, ...result.violation })
    }
    return { job, statistics: statistics.toJSON(), failures }
  }
  await prepareProcess()
  process.on('message', (job: Job) => {
    work(job).then(
      (result) => process.send?.(result),
      (error: unknown) => {
        console.error(`seeds ${job.from} to ${job.to}:`, error)
        process.exit(70)
      },
    )
  })
  process.send?.('ready')
}
