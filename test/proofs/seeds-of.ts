// The command line of a simulation: some seeds, or one with its whole history.

import { parseArgs } from 'node:util'

type Ran = { readonly history: readonly string[]; readonly violations: readonly string[] }

/** After so many the cause is likely the same. */
const FAILURES_MAX = 5

/** `path`: what the reader types to run it again. Ends this process with 1 if a seed failed. */
export async function runSeedsOf(
  path: string,
  runSeed: (seed: number) => Promise<Ran>,
): Promise<void> {
  process.exitCode = (await failuresOf(path, runSeed)) === 0 ? 0 : 1
}

async function failuresOf(path: string, runSeed: (seed: number) => Promise<Ran>): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '2000' },
      from: { type: 'string', default: '1' },
      seed: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(`node ${path} [options]
  --seeds N     how many seeds to run (2000)
  --from S      the first of them (1)
  --seed S      run this one alone and print its whole history`)
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
  for (let seed = from; seed < from + seeds && failed < FAILURES_MAX; seed += 1) {
    const { violations } = await runSeed(seed)
    if (violations.length === 0) continue
    failed += 1
    console.log(`${violations.join('; ')}\n  node ${path} --seed ${seed}`)
  }
  const seconds = (performance.now() - startedMs) / 1000
  console.log(`${seeds} seeds in ${seconds.toFixed(1)} s, ${failed} failed`)
  return failed
}
