import type { Stage } from './stage.ts'

/** One promise of the README, and the sentences that it is made of. */
export type Check = {
  /** For `--only`, and in the names of the queues that it uses. */
  readonly name: string
  readonly promise: string
  /** A sentence that holds or does not, and how to find out. One that fails does not end the next. */
  readonly steps: Readonly<Record<string, (stage: Stage) => Promise<void>>>
  /** It waits for the service's own clockwork: the runner starts it first. */
  readonly waits?: true
}
