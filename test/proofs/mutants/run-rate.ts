import { rmSync } from 'node:fs'
import { run } from './killers.ts'
import { describeKiller } from './mutant.ts'
import { rateMutants } from './rate.ts'
import { mutated, patched, remove, root, snapshot } from './workspace.ts'

/**
 * `node test/proofs/mutants/run-rate.ts [NAME]`: each mutant whose name contains NAME, in a copy of the code,
 * until one of its killers fails. The killers must pass where nothing is wrong.
 */

const LIMIT_MS = 240_000
/** Seeds of the simulation; it stops at the first failures. */
process.env.PUSHPOP_RATE_SEEDS ??= '4000'

async function main(): Promise<number> {
  const chosen = rateMutants.filter(({ name }) => name.includes(process.argv[2] ?? ''))
  for (const mutant of chosen) await patched(mutant, root)
  const folder = await snapshot()
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  let killed = 0
  for (const mutant of chosen) {
    const place = await mutated(folder, mutant)
    const told: string[] = []
    for (const killer of mutant.killers) {
      const verdict = await run(killer, place, LIMIT_MS)
      told.push(`${describeKiller(killer)}: ${verdict.kind}, ${verdict.seconds.toFixed(1)} s`)
      if (verdict.kind === 'passed') continue
      if (verdict.kind === 'killed') killed += 1
      if (verdict.kind === 'broken') told.push(verdict.why)
      break
    }
    await remove(place)
    console.log(`${mutant.name.padEnd(44)} ${told.join('; ')}`)
  }
  const killers = new Map(
    chosen.flatMap((mutant) => mutant.killers.map((one) => [describeKiller(one), one])),
  )
  let healthy = true
  for (const [name, killer] of killers) {
    const { kind } = await run(killer, `${folder}/unmutated`, LIMIT_MS)
    if (kind === 'passed') continue
    healthy = false
    console.log(`FAILS UNMUTATED: ${name} (${kind})`)
  }
  console.log(`\n${killed} of ${chosen.length} mutants killed.`)
  return killed === chosen.length && healthy ? 0 : 1
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(1))
}
process.exitCode = await main()
