/** What the pool and its worker processes tell each other. */
export type Job = { readonly from: number; readonly to: number; readonly operations: number }

export type JobResult = {
  readonly job: Job
  readonly statistics: Readonly<Record<string, number>>
  readonly failures: readonly Failure[]
}

export type Failure = { readonly seed: number; readonly rule: string; readonly explanation: string }
