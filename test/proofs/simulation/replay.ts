import { prepareProcess } from './prepare-process.ts'
import { type RunResult, runSeed } from './run-seed.ts'

/** Runs one seed again with its history, and prints it. */
export async function replay(seed: number, operations: number, quiet: boolean): Promise<RunResult> {
  await prepareProcess({ stacks: true })
  const result = await runSeed({ seed, operations, history: true })
  if (!quiet) for (const line of result.history.lines) console.log(line)
  const { violation } = result
  console.log(
    violation === undefined
      ? `seed ${seed}: every invariant holds`
      : `seed ${seed} VIOLATES ${violation.rule}\n  ${violation.explanation}`,
  )
  console.log(`replay with: npm run simulate -- --seed ${seed} --ops ${operations}`)
  return result
}
