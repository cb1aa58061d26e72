import { seedsCli } from '../world/harness/seeds-cli.ts'
import { runRateSeed } from './run-rate-seed.ts'

process.exitCode = await seedsCli({
  command: 'node test/proofs/rate-simulation/main.ts',
  run: ({ seed, history }) => runRateSeed(seed, history),
  worker: new URL('./rate-worker.ts', import.meta.url),
})
