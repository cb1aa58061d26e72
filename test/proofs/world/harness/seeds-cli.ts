import { parseArgs } from 'node:util'
import type { RunOptions, RunResult } from '../run-seed.ts'
import { runSeeds } from './pool.ts'
import { prepareProcess } from './prepare-process.ts'
import { summary } from './summary.ts'

type SeedsCli = {
  /** As a person types it. */
  readonly command: string
  readonly run: (options: RunOptions) => Promise<Omit<RunResult, 'seed'>>
  /** The script that runs many of them. */
  readonly worker: URL
}

const help = `
  --seeds N     how many seeds to run (1000)
  --from S      the first of them (1)
  --seed S      run this one alone and print its whole history
  --ops N       operations a seed, where it does not draw them itself (100)
  --workers N   processes (one a core)
  --failures N  stop after this many failures (5)
  --quiet       print no history`

/** Runs seeds, or one seed with its history; resolves with the exit code. */
export async function seedsCli({ command, run, worker }: SeedsCli): Promise<number> {
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
  if (values.help) {
    console.log(`${command} [options]${help}`)
    return 0
  }
  const operations = Number(values.ops)
  if (values.seed !== undefined) return replay(Number(values.seed))
  const result = await runSeeds({
    from: Number(values.from),
    seeds: Number(values.seeds),
    operations,
    worker,
    failuresMax: Number(values.failures),
    ...(values.workers !== undefined && { workers: Number(values.workers) }),
    onProgress: progress(Number(values.seeds)),
    onFailure: ({ seed }) => console.log(`seed ${seed} failed; its history comes at the end`),
  })
  console.log(summary(result))
  const [first] = result.failures
  if (first === undefined) return 0
  console.log(`\nThe history of seed ${first.seed}:`)
  await replay(first.seed)
  return 1

  async function replay(seed: number): Promise<number> {
    await prepareProcess({ stacks: true })
    const { history, violation } = await run({ seed, operations, history: true })
    if (!values.quiet) for (const line of history.lines) console.log(line)
    console.log(
      violation === undefined
        ? `seed ${seed}: every invariant holds`
        : `seed ${seed} VIOLATES ${violation.rule}\n  ${violation.explanation}`,
    )
    console.log(`replay with: ${command} --seed ${seed} --ops ${operations}`)
    return violation === undefined ? 0 : 1
  }
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
