import { prepareProcess } from '../../simulation/prepare-process.ts'
import { Statistics } from '../../simulation/statistics.ts'
import type { RateFailure, RateJob, RateJobResult } from './rate-pool.ts'
import { runRateSeed } from './run-rate-seed.ts'

/** A process of the pool: runs the seeds it is given and answers with what they found. */
async function runJob(job: RateJob): Promise<RateJobResult> {
  const statistics = new Statistics()
  const failures: RateFailure[] = []
  for (let seed = job.from; seed < job.to; seed += 1) {
    const result = await runRateSeed(seed)
    statistics.add(result.statistics.toJSON())
    if (result.violation !== undefined) failures.push({ seed, ...result.violation })
  }
  return { statistics: statistics.toJSON(), failures }
}

await prepareProcess()
process.on('message', (job: RateJob) => {
  runJob(job).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      console.error(`seeds ${job.from} to ${job.to}:`, error)
      process.exit(70)
    },
  )
})
process.send?.('ready')
