// npm run bench [-- --only NAME,NAME] [--quick] [--explain] [--json FILE] [--write-docs] [--list]

import { writeFile } from 'node:fs/promises'
import { type Bench, type Scenario, startBench } from './bench.ts'
import { readCommand } from './command.ts'
import { breakdown } from './report/breakdown.ts'
import { createProgress } from './report/progress.ts'
import { textTable } from './report/table.ts'
import { writeDocs } from './report/write-docs.ts'
import type { Row } from './rows.ts'

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
