import { serveJobs } from '../world/harness/serve-jobs.ts'
import { runRateSeed } from './run-rate-seed.ts'

await serveJobs((seed) => runRateSeed(seed))
