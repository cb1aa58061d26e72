import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { mutants } from './all.ts'
import { run, type Verdict } from './killers.ts'
import { describeBreaks, describeKiller, type Killer, type Mutant, simulation } from './mutant.ts'
import { Sources } from './places.ts'
import { mutated, remove, snapshot } from './workspace.ts'

const help = `npm run mutants -- [options]
  --only NAME   those whose name contains NAME
  --list        name them, with what each breaks and its killers
  --search N    try seeds 1 to N instead of the recorded killers: to find one for a new mutant
  --at-once N   copies under test at a time (2)`

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    list: { type: 'boolean', default: false },
    search: { type: 'string' },
    'at-once': { type: 'string', default: '2' },
    help: { type: 'boolean', default: false },
  },
})

/** For one killer; several times what it takes on a busy machine. */
const LIMIT_MS = 240_000

/** Where the copies of the code are, and what stood in it when the run began. */
type Copies = { readonly folder: string; readonly sources: Sources }

type Result = {
  readonly name: string
  readonly how: 'killed' | 'passed' | 'SURVIVED' | 'BROKEN' | 'TIMED OUT' | 'FAILS UNMUTATED'
  readonly by: string
  readonly seconds: number
}

async function main(): Promise<number> {
  if (values.help) {
    console.log(help)
    return 0
  }
  const chosen = mutants.filter(({ name }) => name.includes(values.only ?? ''))
  if (chosen.length === 0) throw new Error(`There is no mutant "${values.only}"`)
  if (values.list) {
    for (const { name, breaks, killers } of chosen) {
      const by = killers.map(describeKiller).join('; ')
      console.log(`${name.padEnd(44)} ${describeBreaks(breaks)}\n${' '.repeat(8)}${by}`)
    }
    return 0
  }
  const folder = await snapshot()
  // However it ends: interrupted as well, it leaves no copies and no processes behind.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => process.exit(1))
  }
  const sources = await Sources.in(join(folder, 'unmutated'))
  // All of them before the first is run: one that has lost its place is known at once.
  for (const mutant of chosen) sources.patchedBy(mutant)
  return await runAll({ folder, sources }, chosen)
}

async function runAll(copies: Copies, chosen: readonly Mutant[]): Promise<number> {
  const startedMs = performance.now()
  const search: Killer[] | undefined =
    values.search === undefined ? undefined : [simulation(Number(values.search))]
  const tasks = [
    ...chosen.map((mutant) => () => judge(copies, mutant, search ?? mutant.killers)),
    ...(search === undefined ? unmutatedKillers(chosen) : []).map(
      (killer) => () => judgeUnmutated(copies.folder, killer),
    ),
  ]
  const results: Result[] = []
  const work = async (): Promise<void> => {
    for (let task = tasks.shift(); task !== undefined; task = tasks.shift()) {
      const result = await task()
      results.push(result)
      console.log(lineOf(result))
    }
  }
  await Promise.all(Array.from({ length: Number(values['at-once']) }, work))
  const killed = results.filter(({ how }) => how === 'killed').length
  const wrong = results.filter(({ how }) => how !== 'killed' && how !== 'passed')
  const seconds = (performance.now() - startedMs) / 1_000
  console.log(`\n${killed} of ${chosen.length} mutants killed in ${seconds.toFixed(0)} s.`)
  for (const result of wrong) console.log(lineOf(result))
  return wrong.length > 0 ? 1 : 0
}

const lineOf = ({ name, how, by, seconds }: Result): string =>
  `${how.padEnd(9)} ${seconds.toFixed(1).padStart(6)} s  ${name.padEnd(46)} ${by}`

async function judge(
  { folder, sources }: Copies,
  mutant: Mutant,
  killers: readonly Killer[],
): Promise<Result> {
  const { name } = mutant
  const place = await mutated(folder, mutant, sources)
  let seconds = 0
  let last: Verdict | undefined
  try {
    for (const killer of killers) {
      last = await run(killer, place, LIMIT_MS)
      seconds += last.seconds
      if (last.kind === 'killed') return { name, how: 'killed', by: last.by, seconds }
      if (last.kind === 'broken') return { name, how: 'BROKEN', by: last.why, seconds }
    }
  } finally {
    await remove(place)
  }
  const how = last?.kind === 'timed out' ? 'TIMED OUT' : 'SURVIVED'
  return { name, how, by: killers.map(describeKiller).join('; '), seconds }
}

/** Each once, and of simulations that begin alike the longest: it contains the others. */
function unmutatedKillers(chosen: readonly Mutant[]): Killer[] {
  const distinct = new Map<string, Killer>()
  for (const killer of chosen.flatMap(({ killers }) => killers)) {
    if (killer.kind !== 'simulation') {
      distinct.set(describeKiller(killer), killer)
      continue
    }
    const key = `simulation ${killer.focus}`
    const known = distinct.get(key)
    if (known?.kind === 'simulation' && known.seeds >= killer.seeds) continue
    distinct.set(key, killer)
  }
  return [...distinct.values()]
}

async function judgeUnmutated(folder: string, killer: Killer): Promise<Result> {
  const verdict = await run(killer, `${folder}/unmutated`, LIMIT_MS)
  const { kind, seconds } = verdict
  const name = `(no mutant) ${describeKiller(killer)}`
  if (kind === 'passed') return { name, how: 'passed', by: '', seconds }
  if (kind === 'timed out') return { name, how: 'TIMED OUT', by: '', seconds }
  const by = verdict.kind === 'killed' ? verdict.by : verdict.why
  return { name, how: 'FAILS UNMUTATED', by, seconds }
}

process.exitCode = await main()
