import { prepareProcess } from '../world/harness/pool.ts'
import type { Intervention } from '../world/harness/world.ts'
import { coverPoints } from './cover-points.ts'
import { runPoint } from './run-point.ts'
import { scenarios } from './scenarios.ts'

/**
 * `node test/proofs/crash/main.ts`: every point of every scenario; with a scenario's name, a request and
 * a mode, that one with its history.
 */
const [name, request, how, rotation] = process.argv.slice(2)
await prepareProcess({ stacks: true })
if (request === undefined) {
  let points = 0
  let failed = 0
  for (const scenario of scenarios) {
    if (name !== undefined && scenario.name !== name) continue
    const coverage = await coverPoints(scenario)
    points += coverage.points
    console.log(`${String(coverage.requests).padStart(4)} requests  ${scenario.name}`)
    for (const { point, why } of coverage.failures) {
      failed += 1
      console.log(`       ${point?.request ?? 'clean'} ${point?.how ?? ''}: ${why.slice(0, 300)}`)
    }
  }
  console.log(`${points} points of ${scenarios.length} scenarios, ${failed} failed`)
  process.exitCode = failed > 0 ? 1 : 0
} else {
  const scenario = scenarios.find((one) => one.name === name)
  if (scenario === undefined) throw new Error(`There is no scenario "${name}"`)
  const point = request === '0' ? undefined : { request: Number(request), how: how as Intervention }
  const result = await runPoint(scenario, point, { rotation: Number(rotation ?? 0), history: true })
  for (const line of result.history) console.log(line)
  console.log(result.violation ?? 'every invariant holds')
}
