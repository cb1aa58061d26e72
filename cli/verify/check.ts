import type { Stage } from './stage.ts'

/** One promise of the README, and the sentences that spell it out. */
export type Check = {
  /** For `--only`, and in the names of the queues that it uses. */
  readonly name: string
  readonly promise: string
  /** Sentences, each with the way to try it. They run in order, and a failed one does not stop the next. */
  readonly steps: Readonly<Record<string, (stage: Stage) => Promise<void>>>
  /** This check waits for the service's schedule or stream, so the runner starts it first. */
  readonly waits?: true
}
