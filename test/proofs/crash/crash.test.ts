import { beforeAll, describe, expect, it } from 'vitest'
import { prepareProcess } from '../world/harness/pool.ts'
import { type Coverage, coverPoints } from './cover-points.ts'
import type { Scenario } from './scenario.ts'
import { scenarios } from './scenarios.ts'

describe('every request of every operation, struck in every way', () => {
  const known = new Map<Scenario, Promise<Coverage>>()
  const coverageOf = (scenario: Scenario): Promise<Coverage> => {
    const coverage = known.get(scenario) ?? coverPoints(scenario)
    known.set(scenario, coverage)
    return coverage
  }

  beforeAll(() => prepareProcess({ stacks: true }))

  it.each(scenarios)('$name', async (scenario) => {
    const coverage = await coverageOf(scenario)
    expect(coverage.failures).toEqual([])
    expect(coverage.points).toBe(coverage.requests * 5 - coverage.reads * 3)
  })

  // Alone it runs all of them.
  it('covers hundreds of points', { timeout: 600_000 }, async () => {
    let points = 0
    for (const scenario of scenarios) {
      const coverage = await coverageOf(scenario)
      points += coverage.points
    }
    console.log(`${points} crash points of ${scenarios.length} scenarios`)
    expect(points).toBeGreaterThan(700)
  })
})
