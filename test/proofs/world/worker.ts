import { serveJobs } from './harness/pool.ts'
import { runSeed } from './run-seed.ts'

await serveJobs((seed, operations) => runSeed({ seed, operations }))
