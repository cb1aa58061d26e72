import { parseArgs } from 'node:util'
import { runSeed } from './run-seed.ts'

const help = `node test/proofs/inbox-simulation/main.ts [options]
  --seeds N      how many seeds to run (100)
  --from S       the first of them (1)
  --seed S       run this one alone
  --queues N     how many queues (20)
  --messages N   how many messages (400)`

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    queues: { type: 'string', default: '20' },
    messages: { type: 'string', default: '400' },
    help: { type: 'boolean', default: false },
  },
})

async function main(): Promise<number> {
  if (values.help) {
    console.log(help)
    return 0
  }
  const size = { queues: Number(values.queues), messages: Number(values.messages) }
  const from = Number(values.seed ?? values.from)
  const seeds = values.seed === undefined ? Number(values.seeds) : 1
  const sums = { messages: 0, batches: 0, deaths: 0, redelivered: 0 }
  const startedMs = performance.now()
  let failed = 0
  for (let seed = from; seed < from + seeds && failed < 5; seed += 1) {
    const { violations, ...counts } = await runSeed(seed, size)
    for (const name of Object.keys(sums) as (keyof typeof sums)[]) sums[name] += counts[name]
    if (violations.length === 0) continue
    failed += 1
    const again = `--seed ${seed} --queues ${values.queues} --messages ${values.messages}`
    console.log(violations.slice(0, 5).join('\n'))
    console.log(`  node test/proofs/inbox-simulation/main.ts ${again}`)
  }
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
  const { messages, batches, deaths, redelivered } = sums
  console.log(
    `${seeds} seeds in ${seconds} s, ${failed} failed: ${messages} messages, ${redelivered} delivered again, ` +
      `${batches} batches, ${deaths} died`,
  )
  return failed
}

process.exitCode = (await main()) === 0 ? 0 : 1
