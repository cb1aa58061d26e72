import type { SweepReport } from './verbs.ts'

export interface WakingVerbs {
  /**
   * Stays awake and ends locks to the second for as long as some end soon. Only one caller at a time does so; others
   * leave their requests to that one.
   */
  wake(request: WakeRequest): Promise<WakeReport>
}

export type WakeRequest = {
  /** Something comes due at this time, whether or not the index of timers shows it yet. */
  readonly untilMs?: number | undefined
  /** We know that the run that was awake has ended, so this one does not wait for the end of its lease. */
  readonly takesOver?: boolean | undefined
  /** When the caller has to end. */
  readonly deadlineMs: number
}
export type WakeReport = Pick<
  SweepReport,
  'queues' | 'itemsReturned' | 'occurrencesPushed' | 'lagMs'
> & {
  /** Another run is awake, and has our note. */
  readonly left: boolean
  readonly looks: number
  readonly failed: number
}
