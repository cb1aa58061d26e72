import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { prepareProcess } from '../simulation/prepare-process.ts'
import { coverPoints } from './cover-points.ts'
import { scenarios } from './scenarios.ts'

describe('every request of every operation, struck in every way', () => {
  let points = 0
  beforeAll(() => prepareProcess({ stacks: true }))
  afterAll(() => {
    console.log(`${points} crash points of ${scenarios.length} scenarios`)
  })

  it.each(scenarios.map((scenario) => [scenario.name, scenario] as const))(
    '%s',
    async (_name, scenario) => {
      const coverage = await coverPoints(scenario)
      points += coverage.points
      expect(coverage.failures).toEqual([])
      expect(coverage.points).toBe(coverage.requests * 5)
    },
  )

  it('covers more than a thousand points', () => {
    expect(points).toBeGreaterThan(1_000)
  })
})
