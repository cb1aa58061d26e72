import { beforeAll, describe, expect, it } from 'vitest'
import { prepareProcess } from './harness/pool.ts'
import { runSeed } from './run-seed.ts'

const run = (seed: number) => runSeed({ seed, operations: 100, history: true })

describe('a seed', () => {
  beforeAll(() => prepareProcess({ stacks: true }))

  it.each([1, 2, 3, 17, 4711, 123_456_789])('%i gives the same history each time', async (seed) => {
    const first = await run(seed)
    const second = await run(seed)
    expect(second.history.lines).toEqual(first.history.lines)
    expect(first.history.lines.length).toBeGreaterThan(100)
  })

  it('gives the same verdict with its history off', async () => {
    const withHistory = await run(5)
    const without = await runSeed({ seed: 5, operations: 100 })
    expect(without.statistics.toJSON()).toEqual(withHistory.statistics.toJSON())
  })

  it('differs from another', async () => {
    expect((await run(2)).history.lines).not.toEqual((await run(1)).history.lines)
  })
})
