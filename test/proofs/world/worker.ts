import { serveJobs } from './harness/serve-jobs.ts'
import { runSeed } from './run-seed.ts'

await serveJobs((seed, operations) => runSeed({ seed, operations }))
