import { parseArgs } from 'node:util'
import { missingCrossings } from './harness/crossings.ts'
import { type Fault, faults } from './harness/faults.ts'
import { prepareProcess, runSeeds, summary } from './harness/pool.ts'
import type { RunOptions } from './run-seed.ts'

const options = {
  seeds: { type: 'string', default: '1000', is: 'how many seeds to run' },
  from: { type: 'string', default: '1', is: 'the first of them' },
  seed: { type: 'string', is: 'run this one alone and print its whole history' },
  ops: { type: 'string', default: '100', is: 'operations of callers a seed' },
  without: { type: 'string', default: '', is: 'comma-separated actors that stay out' },
  calm: { type: 'string', default: '', is: 'comma-separated kinds of faults that do not happen' },
  workers: { type: 'string', is: 'processes, one a core by default' },
  failures: { type: 'string', default: '5', is: 'stop after this many failures' },
  crossings: { type: 'string', default: '0', is: 'fail where features met in fewer seeds' },
  quiet: { type: 'boolean', default: false, is: 'print no history' },
  help: { type: 'boolean', default: false, is: 'print this' },
} as const

const help = Object.entries(options).map(([name, { is }]) => `  --${name.padEnd(10)} ${is}`)

/** Runs seeds, or one seed with its history; resolves with the exit code. */
async function seedsCli(): Promise<number> {
  const { values } = parseArgs({ options })
  if (values.help) {
    console.log(['npm run simulate -- [options]', ...help].join('\n'))
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
  const least = await shrink({ seed: first.seed, operations }, first.rule)
  console.log(`\nThe history of seed ${first.seed}, without what it does not need to fail:`)
  await replay(least)
  return 1

  async function replay(options: RunOptions): Promise<number> {
    await prepareProcess({ stacks: true })
    // Where no seed fails, only the workers load the world.
    const { runSeed } = await import('./run-seed.ts')
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

/** A run takes some 50 ms: in a few seconds nearly all that is not needed is gone. */
const RUNS_MAX = 120

/**
 * The smallest run of a seed that this finds and that breaks the same rule: without actors and faults that are not
 * needed for it, and with as few calls as do.
 */
async function shrink(options: RunOptions, rule: string): Promise<RunOptions> {
  const { actors } = await import('./actors/index.ts')
  const { runSeed } = await import('./run-seed.ts')
  let best = options
  let runs = 0
  const breaks = async (smaller: Partial<RunOptions>): Promise<boolean> => {
    if (runs === RUNS_MAX) return false
    runs += 1
    const tried = { ...best, ...smaller }
    // What is left out may leave the checkers without something they rely on: then it is needed.
    const result = await runSeed(tried).catch(() => undefined)
    if (result?.violation?.rule !== rule) return false
    best = tried
    return true
  }
  for (const { name } of actors) await breaks({ without: [...(best.without ?? []), name] })
  for (const fault of faults) await breaks({ calm: [...(best.calm ?? []), fault] })
  for (let step = Math.ceil(best.operations / 2); step >= 1; ) {
    const operations = best.operations - step
    if (operations < 1 || !(await breaks({ operations })))
      step = step === 1 ? 0 : Math.ceil(step / 2)
  }
  return best
}

const argumentsOf = ({ seed, operations, without = [], calm = [] }: RunOptions): string =>
  [
    `--seed ${seed} --ops ${operations}`,
    ...(without.length > 0 ? [`--without ${without.join()}`] : []),
    ...(calm.length > 0 ? [`--calm ${calm.join()}`] : []),
  ].join(' ')

const isFault = (name: string): name is Fault => faults.some((fault) => fault === name)

process.exitCode = await seedsCli()
