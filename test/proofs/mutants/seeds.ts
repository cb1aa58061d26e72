import { parseArgs } from 'node:util'
import { prepareProcess } from '../world/harness/pool.ts'
import { type RunResult, runSeed } from '../world/run-seed.ts'
import { isFocus, isInFocus } from './focus.ts'

/**
 * `node test/proofs/mutants/seeds.ts --from 1 --seeds 100 --focus reuse`: runs so many seeds, of worlds in
 * focus, until one fails. Exit code 1 and a line that says which, or 0.
 */
const { values } = parseArgs({
  options: {
    from: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '100' },
    focus: { type: 'string' },
  },
})

async function main(): Promise<number> {
  const { focus } = values
  if (focus !== undefined && !isFocus(focus)) throw new Error(`There is no focus "${focus}"`)
  await prepareProcess()
  let left = Number(values.seeds)
  for (let seed = Number(values.from), run = 1; left > 0; seed += 1) {
    if (focus !== undefined && !isInFocus(focus, seed)) continue
    left -= 1
    const violation = await violationOf(seed)
    if (violation !== undefined) {
      const { rule, explanation } = violation
      // A patch that names what is not there proves nothing.
      const verdict = explanation.includes('ReferenceError') ? explanation : 'KILLED'
      console.log(`${verdict} seed ${seed}, number ${run}: ${rule}`)
      return 1
    }
    run += 1
  }
  console.log('Every invariant holds.')
  return 0
}

async function violationOf(seed: number): Promise<RunResult['violation']> {
  try {
    const { violation } = await runSeed({ seed, operations: 100 })
    return violation
  } catch (error) {
    // The model itself fell over: a record that nothing can be said of.
    return { rule: 'the world goes on', explanation: String(error) }
  }
}

// What a mutant leaves under way does not keep the process.
process.exit(await main())
