import { runSeedsOf } from '../seeds-of.ts'
import { runSeed } from './run-seed.ts'

await runSeedsOf('test/proofs/later-simulation/main.ts', runSeed)
