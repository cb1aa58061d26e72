// Verbs for items that wait or are scheduled, named by their ids.

export type CancelResult = {
  readonly id: string
  readonly result: 'cancelled' | 'locked' | 'gone'
}

export type MoveRequest = {
  readonly ids: readonly string[]
  /** Where they go: another priority, another queue, or both. If you name only one, the other stays as it is. */
  readonly priority?: number | undefined
  readonly queue?: string | undefined
  /** When they become due; items that already wait are scheduled for then, too. A time in the past means now. */
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
  /** Purges only these items, even locked ones. Give either this or a priority. */
  readonly ids?: readonly string[] | undefined
}

export type RedriveRequest = {
  readonly limit?: number | undefined
  /** Only these items. Give either this or a limit. */
  readonly ids?: readonly string[] | undefined
}

export interface ByIdVerbs {
  /** Removes items that wait or are scheduled; locked items stay. The results have the order of the ids. */
  cancel(queue: string, ids: readonly string[]): Promise<readonly CancelResult[]>
  /**
   * Moves waiting items to the end of another lane, in their order, and changes which lane scheduled items will
   * join; or puts both off to a later time. Locked items stay.
   */
  move(queue: string, request: MoveRequest): Promise<readonly MoveResult[]>
  purge(queue: string, request?: PurgeRequest): Promise<{ readonly itemsPurged: number }>
  redrive(
    deadLetterQueue: string,
    request?: RedriveRequest,
  ): Promise<{ readonly itemsRedriven: number; readonly itemsLeft: number }>
}
