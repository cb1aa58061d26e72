import { seedsCli } from './harness/seeds-cli.ts'

process.exitCode = await seedsCli()
