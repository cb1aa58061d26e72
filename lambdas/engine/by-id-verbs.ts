// What can be done to items that wait or are scheduled, by their ids.

export type CancelResult = {
  readonly id: string
  readonly result: 'cancelled' | 'locked' | 'gone'
}

export type MoveRequest = {
  readonly ids: readonly string[]
  /** Where they go: another priority, another queue, or both. Each keeps what is not named. */
  readonly priority?: number | undefined
  readonly queue?: string | undefined
  /** Until when they are scheduled, those that wait as well. A time in the past is now. */
  readonly deliverAtMs?: number | undefined
}

export type MoveResult =
  | {
      readonly id: string
      readonly result: 'moved'
      /** Absent if a consumer had taken and settled the item before this call could look up its new place. */
      readonly newId?: string
    }
  | { readonly id: string; readonly result: 'locked' | 'gone' }

export type PurgeRequest = {
  readonly priority?: number | undefined
  /** These and no others, locked ones too: instead of a priority. */
  readonly ids?: readonly string[] | undefined
}

export type RedriveRequest = {
  readonly limit?: number | undefined
  /** These and no others: instead of a limit. */
  readonly ids?: readonly string[] | undefined
}

export interface ByIdVerbs {
  /** Takes items that wait or are scheduled out for good; those that are locked stay. In the order of the ids. */
  cancel(queue: string, ids: readonly string[]): Promise<readonly CancelResult[]>
  /**
   * Puts items that wait at the end of another lane, in their order, and scheduled ones where they are to join
   * later; or both off to a time ahead. Those that are locked stay.
   */
  move(queue: string, request: MoveRequest): Promise<readonly MoveResult[]>
  purge(queue: string, request?: PurgeRequest): Promise<{ readonly itemsPurged: number }>
  redrive(
    deadLetterQueue: string,
    request?: RedriveRequest,
  ): Promise<{ readonly itemsRedriven: number; readonly itemsLeft: number }>
}
