import { parseArgs } from 'node:util'
import { runSeed } from './run-seed.ts'

const help = `node test/proofs/many-simulation/main.ts [options]
  --seeds N     how many seeds to run (2000)
  --from S      the first of them (1)
  --seed S      run this one alone and print its whole history`

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '2000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

async function main(): Promise<number> {
  if (values.help) {
    console.log(help)
    return 0
  }
  if (values.seed !== undefined) {
    const { history, violations } = await runSeed(Number(values.seed))
    for (const line of [...history, ...violations.map((text) => `VIOLATES ${text}`)])
      console.log(line)
    return violations.length
  }
  const startedMs = performance.now()
  const from = Number(values.from)
  const seeds = Number(values.seeds)
  let failed = 0
  for (let seed = from; seed < from + seeds && failed < 5; seed += 1) {
    const { violations } = await runSeed(seed)
    if (violations.length === 0) continue
    failed += 1
    console.log(
      `${violations.join('; ')}\n  node test/proofs/many-simulation/main.ts --seed ${seed}`,
    )
  }
  const seconds = (performance.now() - startedMs) / 1000
  console.log(`${seeds} seeds in ${seconds.toFixed(1)} s, ${failed} failed`)
  return failed
}

process.exitCode = (await main()) === 0 ? 0 : 1
