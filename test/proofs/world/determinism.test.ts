import { beforeAll, describe, expect, it } from 'vitest'
import { prepareProcess } from './harness/pool.ts'
import { runSeed } from './run-seed.ts'

describe('a seed', () => {
  beforeAll(() => prepareProcess({ stacks: true }))

  it.each([1, 2, 3, 17, 4711, 123_456_789])('%i gives the same history each time', async (seed) => {
    const first = await runSeed({ seed, operations: 100, history: true })
    const second = await runSeed({ seed, operations: 100, history: true })
    expect(second.history.hash()).toBe(first.history.hash())
    expect(first.history.lines.length).toBeGreaterThan(100)
  })

  it('gives the same verdict with its history off', async () => {
    const withHistory = await runSeed({ seed: 5, operations: 100, history: true })
    const without = await runSeed({ seed: 5, operations: 100 })
    expect(without.statistics.toJSON()).toEqual(withHistory.statistics.toJSON())
  })

  it('differs from another', async () => {
    const one = await runSeed({ seed: 1, operations: 100, history: true })
    const other = await runSeed({ seed: 2, operations: 100, history: true })
    expect(other.history.hash()).not.toBe(one.history.hash())
  })
})
