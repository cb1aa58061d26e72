// Where an implementation of somebody else differs from AWS, and what says so. `npm run conformance` expects these
// cases to fail there: one that passes is no excuse any more, and fails the run.

export type Excuse = {
  /** As engines/engines.ts has it. */
  readonly engine: string
  /** What the case says. */
  readonly says: string
  /** What it does instead, and the page or the recording by which AWS does as the case says. */
  readonly reason: string
}

export const excuses: readonly Excuse[] = []

/** Of the engines that this run is about. */
export function excuseOf(says: string): string | undefined {
  const engines = process.env.PUSHPOP_CONFORMANCE_ENGINES?.split(',') ?? []
  return excuses.find((one) => one.says === says && engines.includes(one.engine))?.reason
}
