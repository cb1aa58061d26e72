import { runSeed } from './run-seed.ts'
import { seedsCli } from './seeds-cli.ts'

process.exitCode = await seedsCli({
  command: 'npm run simulate --',
  run: runSeed,
  worker: new URL('./worker.ts', import.meta.url),
})
