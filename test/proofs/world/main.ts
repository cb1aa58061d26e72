import { seedsCli } from './harness/seeds-cli.ts'
import { runSeed } from './run-seed.ts'

process.exitCode = await seedsCli({
  command: 'npm run simulate --',
  run: runSeed,
  worker: new URL('./worker.ts', import.meta.url),
})
