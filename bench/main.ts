// npm run bench [-- --only NAME,NAME] [--quick] [--explain] [--json FILE] [--write-docs] [--list]
//
// Runs the scenarios one after the other, and says which bars they reach.

import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { type Bench, type Scenario, startBench } from './bench.ts'
import { breakdown, type Row, textTable, writeDocs } from './report.ts'
import { bulk100, bulk1000, inbox } from './scenarios/bulk.ts'
import { depth, memory, recordSize, scheduled } from './scenarios/depth.ts'
import { hotQueue, linger, throttled } from './scenarios/hot-queue.ts'
import { http, lateness } from './scenarios/local-stack.ts'
import { peers } from './scenarios/peers.ts'
import { consumers, largeItems, popAcknowledge } from './scenarios/pops.ts'
import { coldStart, cpu, handlerCpu } from './scenarios/processor.ts'
import { keyed, largePush, pushSingle, transactions } from './scenarios/pushes.ts'
import { rateLimits } from './scenarios/rate-limits.ts'
import { patterns, sweep } from './scenarios/upkeep.ts'

/** In the order of the table; memory last, because it empties the queue that depth has filled. */
const scenarios: readonly Scenario[] = [
  pushSingle,
  inbox,
  hotQueue,
  throttled,
  keyed,
  linger,
  transactions,
  popAcknowledge,
  consumers,
  bulk100,
  bulk1000,
  largePush,
  largeItems,
  depth,
  recordSize,
  scheduled,
  sweep,
  patterns,
  cpu,
  handlerCpu,
  coldStart,
  http,
  lateness,
  peers,
  rateLimits,
  memory,
]

const declared = {
  only: { type: 'string' },
  quick: { type: 'boolean', default: false },
  explain: { type: 'boolean', default: false },
  json: { type: 'string' },
  'write-docs': { type: 'boolean', default: false },
  list: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

const help = `npm run bench [-- OPTIONS]

  --only NAME,NAME  these scenarios alone
  --quick           a tenth of the items: figures to look at, not to compare
  --explain         which requests cost what
  --json FILE       writes the rows into FILE as well
  --write-docs      writes docs/benchmark.md
  --list            lists the scenarios, and runs none
`

/** Ends the process if there is nothing to run: the list and the help were asked for, or something unknown. */
function readCommand(args: readonly string[]) {
  const options = parsed(args)
  if (options.list || options.help) {
    console.log(options.list ? listed() : `${help}\nScenarios:\n${listed()}`)
    process.exit(0)
  }
  const only = options.only?.split(',')
  const unknown = only?.find((name) => !scenarios.some((known) => known.name === name))
  if (unknown !== undefined) {
    const names = scenarios.map(({ name }) => name).join(', ')
    refuse(`Cannot run the scenario "${unknown}" because there are only: ${names}`)
  }
  const wanted: readonly Scenario[] = scenarios.filter(({ name }) => only?.includes(name) ?? true)
  return { options, wanted }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: declared }).values
  } catch (error) {
    // Its first sentence says what is wrong; the others are about arguments by position.
    const [reason] = (error as Error).message.split('. ')
    return refuse(`Cannot run the benchmark: ${reason}; --help shows the options`)
  }
}

function refuse(sentence: string): never {
  console.error(sentence)
  process.exit(2)
}

const listed = (): string =>
  scenarios.map(({ name, title }) => `  ${name.padEnd(18)}${title}`).join('\n')

/** One line that changes on a terminal; elsewhere one line a scenario. */
function createProgress(output: NodeJS.WriteStream) {
  const live = output.isTTY === true
  let title = ''
  let shownMs = 0

  function show(text: string) {
    const width = (output.columns ?? 80) - 1
    output.write(`\r\x1b[2K${text.slice(0, width)}`)
  }
  return {
    start(name: string, place: string) {
      title = `${place} ${name}`
      shownMs = 0
      if (live) show(title)
    },
    update(text: string) {
      const nowMs = performance.now()
      if (!live || nowMs - shownMs < 100) return
      shownMs = nowMs
      show(`${title} · ${text}`)
    },
    finish(outcome: string) {
      if (live) output.write('\r\x1b[2K')
      output.write(`${title} · ${outcome}\n`)
    },
  }
}

const { options, wanted } = readCommand(process.argv.slice(2))

const progress = createProgress(process.stderr)
const breakdowns: string[] = []
const bench = await startBench({
  quick: options.quick,
  progress: progress.update,
  explain: (heading, reading, count) => breakdowns.push(breakdown(heading, reading, count)),
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => bench.embedded.stop().finally(() => process.exit(130)))
}

const rows: Row[] = []
const broken: string[] = []
try {
  for (const [i, scenario] of wanted.entries()) {
    progress.start(scenario.name, `[${i + 1}/${wanted.length}]`)
    rows.push(...(await runScenario(bench, scenario)))
  }
} finally {
  await bench.embedded.stop()
}

if (options.explain) console.log(`\n${breakdowns.join('\n\n')}`)
console.log(`\n${textTable(rows)}\n`)
const failed = rows.filter(({ pass }) => pass === false)
const bars = rows.filter(({ bar }) => bar !== undefined)
console.log(`${bars.length - failed.length} of ${bars.length} bars reached`)
for (const { name, metric } of failed) console.log(`  not reached: ${name}: ${metric}`)
for (const text of broken) console.log(`  broken: ${text}`)

if (options.json !== undefined) {
  const measuredAt = new Date().toISOString()
  await writeFile(options.json, JSON.stringify({ measuredAt, quick: options.quick, rows }, null, 2))
}
if (options['write-docs']) await writeDocs(rows, new Date())
process.exitCode = failed.length + broken.length > 0 ? 1 : 0

/** A scenario that breaks is reported at the end; the others still run. */
async function runScenario(bench: Bench, scenario: Scenario): Promise<readonly Row[]> {
  const startMs = performance.now()
  const seconds = () => `${((performance.now() - startMs) / 1000).toFixed(1)} s`
  try {
    const measured = await scenario.run(bench)
    const missed = measured.filter(({ pass }) => pass === false).length
    progress.finish(missed === 0 ? seconds() : `${seconds()}, ${missed} not reached`)
    return measured
  } catch (error) {
    progress.finish(`${seconds()}, broken`)
    broken.push(`${scenario.name}: ${error instanceof Error ? error.stack : String(error)}`)
    return []
  }
}
