import { parseArgs } from 'node:util'
import { actors } from './actors/index.ts'
import { missingCrossings } from './harness/crossings.ts'
import { type Fault, faults } from './harness/faults.ts'
import { prepareProcess, runSeeds } from './harness/pool.ts'
import { summary } from './harness/statistics.ts'
import { type RunOptions, type RunResult, runSeed } from './run-seed.ts'

const help = `npm run simulate -- [options]
  --seeds N     how many seeds to run (1000)
  --from S      the first of them (1)
  --seed S      run this one alone and print its whole history
  --ops N       operations of callers a seed (100)
  --without A   comma-separated actors that stay out
  --calm F      comma-separated kinds of faults that do not happen
  --workers N   processes (one a core)
  --failures N  stop after this many failures (5)
  --crossings N fail where two features met in fewer seeds than this (0)
  --quiet       print no history`

/** Runs seeds, or one seed with its history; resolves with the exit code. */
async function seedsCli(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '1000' },
      from: { type: 'string', default: '1' },
      seed: { type: 'string' },
      ops: { type: 'string', default: '100' },
      without: { type: 'string', default: '' },
      calm: { type: 'string', default: '' },
      workers: { type: 'string' },
      failures: { type: 'string', default: '5' },
      crossings: { type: 'string', default: '0' },
      quiet: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(help)
    return 0
  }
  const operations = Number(values.ops)
  if (values.seed !== undefined) {
    const without = values.without.split(',').filter(Boolean)
    const calm = values.calm.split(',').filter(isFault)
    return replay({ seed: Number(values.seed), operations, without, calm })
  }
  const result = await runSeeds({
    from: Number(values.from),
    seeds: Number(values.seeds),
    operations,
    worker: new URL('./worker.ts', import.meta.url),
    failuresMax: Number(values.failures),
    ...(values.workers !== undefined && { workers: Number(values.workers) }),
    onProgress: progress(Number(values.seeds)),
    onFailure: ({ seed }) => console.log(`seed ${seed} failed; its history comes at the end`),
  })
  console.log(summary(result))
  const missing = missingCrossings(result.statistics, Number(values.crossings))
  for (const line of missing) console.log(line)
  const [first] = result.failures
  if (first === undefined) return missing.length === 0 ? 0 : 1
  await prepareProcess()
  const names = actors.map(({ name }) => name)
  const least = await shrink(runSeed, { seed: first.seed, operations }, first.rule, names)
  console.log(`\nThe history of seed ${first.seed}, without what it does not need to fail:`)
  await replay(least)
  return 1

  async function replay(options: RunOptions): Promise<number> {
    await prepareProcess({ stacks: true })
    const { history, violation } = await runSeed({ ...options, history: true })
    if (!values.quiet) for (const line of history.lines) console.log(line)
    console.log(
      violation === undefined
        ? `seed ${options.seed}: every invariant holds`
        : `seed ${options.seed} VIOLATES ${violation.rule}\n  ${violation.explanation}`,
    )
    console.log(`replay with: npm run simulate -- ${argumentsOf(options)}`)
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

type Smaller = Pick<RunOptions, 'operations' | 'without' | 'calm'>

/** A run takes some 50 ms: in a few seconds nearly all that is not needed is gone. */
const RUNS_MAX = 120

/**
 * The smallest run of a seed that this finds and that breaks the same rule: without actors and faults that are not
 * needed for it, and with as few calls as do.
 */
async function shrink(
  run: (options: RunOptions) => Promise<RunResult>,
  options: RunOptions,
  rule: string,
  actors: readonly string[],
): Promise<RunOptions> {
  let best = options
  let runs = 0
  const breaks = async (smaller: Partial<Smaller>): Promise<boolean> => {
    if (runs === RUNS_MAX) return false
    runs += 1
    const tried = { ...best, ...smaller }
    // What is left out may leave the checkers without something they rely on: then it is needed.
    const result = await run(tried).catch(() => undefined)
    if (result?.violation?.rule !== rule) return false
    best = tried
    return true
  }
  for (const actor of actors) await breaks({ without: [...(best.without ?? []), actor] })
  for (const fault of faults) await breaks({ calm: [...(best.calm ?? []), fault] })
  for (let step = Math.ceil(best.operations / 2); step >= 1; ) {
    const operations = best.operations - step
    if (operations < 1 || !(await breaks({ operations })))
      step = step === 1 ? 0 : Math.ceil(step / 2)
  }
  return best
}

/** As it is typed. */
function argumentsOf({ seed, operations, without = [], calm = [] }: RunOptions): string {
  const parts = [`--seed ${seed} --ops ${operations}`]
  if (without.length > 0) parts.push(`--without ${without.join()}`)
  if (calm.length > 0) parts.push(`--calm ${calm.join()}`)
  return parts.join(' ')
}

const isFault = (name: string): name is Fault => faults.some((fault) => fault === name)

process.exitCode = await seedsCli()
