import { parseArgs } from 'node:util'
import { runSeeds } from './pool.ts'
import { replay } from './replay.ts'
import { summary } from './summary.ts'

const help = `npm run simulate -- [options]
  --seeds N     how many seeds to run (1000)
  --from S      the first of them (1)
  --seed S      run this one alone and print its whole history
  --ops N       operations a seed (100)
  --workers N   processes (one a core)
  --failures N  stop after this many failures (5)`

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    ops: { type: 'string', default: '100' },
    workers: { type: 'string' },
    failures: { type: 'string', default: '5' },
    quiet: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

async function main(): Promise<number> {
  if (values.help) {
    console.log(help)
    return 0
  }
  const operations = Number(values.ops)
  if (values.seed !== undefined) {
    const { violation } = await replay(Number(values.seed), operations, values.quiet)
    return violation === undefined ? 0 : 1
  }
  const result = await runSeeds({
    from: Number(values.from),
    seeds: Number(values.seeds),
    operations,
    failuresMax: Number(values.failures),
    ...(values.workers !== undefined && { workers: Number(values.workers) }),
    onProgress: progress(Number(values.seeds)),
    onFailure: ({ seed }) => console.log(`seed ${seed} failed; its history comes at the end`),
  })
  console.log(summary(result, operations))
  const [first] = result.failures
  if (first === undefined) return 0
  console.log(`\nThe history of seed ${first.seed}:`)
  await replay(first.seed, operations, values.quiet)
  return 1
}

function progress(seeds: number): (done: number, failures: number) => void {
  const startedMs = performance.now()
  let saidMs = startedMs
  return (done, failures) => {
    const nowMs = performance.now()
    if (nowMs - saidMs < 5_000) return
    saidMs = nowMs
    const rate = (done / (nowMs - startedMs)) * 1_000
    console.log(`${done} of ${seeds} seeds, ${rate.toFixed(1)} seeds/s, ${failures} failed`)
  }
}

process.exitCode = await main()
