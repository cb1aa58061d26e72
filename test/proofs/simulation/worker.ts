import { runSeed } from './run-seed.ts'
import { serveJobs } from './serve-jobs.ts'

await serveJobs((seed, operations) => runSeed({ seed, operations }))
