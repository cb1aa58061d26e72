import type { Failure, Job, JobResult } from './messages.ts'
import { prepareProcess } from './prepare-process.ts'
import { runSeed } from './run-seed.ts'
import { Statistics } from './statistics.ts'

/** A process of the pool: runs the seeds it is given and answers with what they found. */
async function runJob(job: Job): Promise<JobResult> {
  const statistics = new Statistics()
  const failures: Failure[] = []
  for (let seed = job.from; seed < job.to; seed += 1) {
    const result = await runSeed({ seed, operations: job.operations })
    statistics.add(result.statistics.toJSON())
    if (result.violation !== undefined) failures.push({ seed, ...result.violation })
  }
  return { job, statistics: statistics.toJSON(), failures }
}

await prepareProcess()
process.on('message', (job: Job) => {
  runJob(job).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      console.error(`seeds ${job.from} to ${job.to}:`, error)
      process.exit(70)
    },
  )
})
process.send?.('ready')
