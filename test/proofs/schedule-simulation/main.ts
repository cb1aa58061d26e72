import { runSeedsOf } from '../seeds-of.ts'
import { runSeed } from './run-seed.ts'

await runSeedsOf('test/proofs/schedule-simulation/main.ts', runSeed)
