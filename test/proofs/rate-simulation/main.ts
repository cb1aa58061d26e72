import { parseArgs } from 'node:util'
import { prepareProcess } from '../simulation/prepare-process.ts'
import { runRateSeeds } from './rate-pool.ts'
import { runRateSeed } from './run-rate-seed.ts'

const help = `node test/proofs/rate-simulation/main.ts [options]
  --seeds N     how many seeds to run (2000)
  --from S      the first of them (1)
  --seed S      run this one alone and print its whole history
  --workers N   processes (one a core)`

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '2000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    workers: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

async function main(): Promise<number> {
  if (values.help) {
    console.log(help)
    return 0
  }
  if (values.seed !== undefined) return replay(Number(values.seed))
  const { failures, seeds, seconds, statistics } = await runRateSeeds({
    from: Number(values.from),
    seeds: Number(values.seeds),
    ...(values.workers !== undefined && { workers: Number(values.workers) }),
  })
  for (const [name, count] of Object.entries(statistics.toJSON()))
    console.log(`${name.padEnd(44)} ${count}`)
  console.log(`${seeds} seeds in ${seconds.toFixed(1)} s, ${failures.length} failed`)
  for (const { seed, rule, explanation } of failures.slice(0, 5)) {
    console.log(
      `${rule}: ${explanation}\n  node test/proofs/rate-simulation/main.ts --seed ${seed}`,
    )
  }
  return failures.length > 0 ? 1 : 0
}

async function replay(seed: number): Promise<number> {
  await prepareProcess({ stacks: true })
  const { history, violation } = await runRateSeed(seed, true)
  for (const line of history.lines) console.log(line)
  const verdict = violation ? `VIOLATES ${violation.rule}` : 'every invariant holds'
  console.log(`seed ${seed}: ${verdict}`)
  return violation ? 1 : 0
}

process.exitCode = await main()
