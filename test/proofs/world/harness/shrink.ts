import type { RunOptions, RunResult } from '../run-seed.ts'
import { type Fault, faults } from './faults.ts'

type Smaller = Pick<RunOptions, 'operations' | 'without' | 'calm'>

/** A run takes some 50 ms: in a few seconds nearly all that is not needed is gone. */
const RUNS_MAX = 120

/**
 * The smallest run of a seed that this finds and that breaks the same rule: without actors and faults that are not
 * needed for it, and with as few calls as do.
 */
export async function shrink(
  run: (options: RunOptions) => Promise<RunResult>,
  options: RunOptions,
  rule: string,
  actors: readonly string[],
): Promise<RunOptions> {
  let best = options
  let runs = 0
  const breaks = async (smaller: Partial<Smaller>): Promise<boolean> => {
    if (runs === RUNS_MAX) return false
    runs += 1
    const tried = { ...best, ...smaller }
    // What is left out may leave the checkers without something they rely on: then it is needed.
    const result = await run(tried).catch(() => undefined)
    if (result?.violation?.rule !== rule) return false
    best = tried
    return true
  }
  for (const actor of actors) await breaks({ without: [...(best.without ?? []), actor] })
  for (const fault of faults) await breaks({ calm: [...(best.calm ?? []), fault] })
  for (let step = Math.ceil(best.operations / 2); step >= 1; ) {
    const operations = best.operations - step
    if (operations < 1 || !(await breaks({ operations })))
      step = step === 1 ? 0 : Math.ceil(step / 2)
  }
  return best
}

/** As it is typed. */
export function argumentsOf({ seed, operations, without = [], calm = [] }: RunOptions): string {
  const parts = [`--seed ${seed} --ops ${operations}`]
  if (without.length > 0) parts.push(`--without ${without.join()}`)
  if (calm.length > 0) parts.push(`--calm ${calm.join()}`)
  return parts.join(' ')
}

export const isFault = (name: string): name is Fault => faults.some((fault) => fault === name)
