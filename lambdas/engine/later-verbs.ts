// The requests and answers of the verbs for items for later.

export type ScheduledRequest = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
  /** Only items that are due from this time on, and up to `toMs`. */
  readonly fromMs?: number | undefined
  readonly toMs?: number | undefined
}

export type ScheduledItem = {
  readonly text: string
  readonly id: string
  readonly priority: number
  readonly pushedAtMs: number
  readonly dueMs: number
}

export type ScheduledPage = {
  readonly items: readonly ScheduledItem[]
  readonly cursor?: string
}

export interface LaterVerbs {
  /** The scheduled items, in the order of time. */
  scheduled(queue: string, request?: ScheduledRequest): Promise<ScheduledPage>
}
