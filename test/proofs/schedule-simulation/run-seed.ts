import { Random } from '../../../testing/random.ts'
import { wrongWith } from './ledger.ts'
import { drawPlan } from './plan.ts'
import { World } from './world.ts'

export type SeedResult = {
  readonly violations: readonly string[]
  readonly history: readonly string[]
  readonly met: {
    readonly schedules: number
    readonly occurrences: number
    readonly deaths: number
    readonly missedByRule: number
  }
}

/**
 * Sweepers that die and whose clocks are wrong, a store that loses answers and is late with requests, outages,
 * queues that are full, and callers who put, pause, run and delete, from one seed. Then each schedule must have pushed
 * each of its occurrences once, in order and not before its time, but for those that its rule leaves out.
 */
export async function runSeed(seed: number): Promise<SeedResult> {
  const random = new Random(seed)
  const world = new World(drawPlan(random), random)
  await world.run()
  const violations = [...world.violations]
  let [occurrences, missedByRule] = [0, 0]
  for (const account of world.accounts) {
    const dues = await world.duesOf(account)
    violations.push(...wrongWith(account, dues))
    const pushed = account.found.filter(({ dueMs }) => dueMs !== undefined).length
    occurrences += pushed
    missedByRule += Math.max(0, dues.length - pushed)
  }
  const { deaths, history } = world
  const schedules = world.accounts.length
  return { violations, history, met: { schedules, occurrences, deaths, missedByRule } }
}
