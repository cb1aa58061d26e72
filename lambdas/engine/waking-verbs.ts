import type { SweepReport } from './verbs.ts'

export interface WakingVerbs {
  /**
   * Stays awake and ends locks to the second for as long as some end soon; one caller at a time does so, and
   * what others ask for meanwhile is left to that one.
   */
  wake(request: WakeRequest): Promise<WakeReport>
}

export type WakeRequest = {
  /** Something comes due at this time, whether or not the index of timers shows it yet. */
  readonly untilMs?: number | undefined
  /** When the caller has to end. */
  readonly deadlineMs: number
}
export type WakeReport = Pick<
  SweepReport,
  'queues' | 'itemsReturned' | 'occurrencesPushed' | 'lagMs'
> & {
  /** Another one is awake, and was told. */
  readonly left: boolean
  readonly looks: number
  readonly failed: number
}
