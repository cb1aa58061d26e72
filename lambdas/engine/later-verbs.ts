// What callers ask of items for later, and what they get.

export type ScheduledRequest = {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
  /** Only what is due from this time on, and up to that. */
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
  /** What is scheduled, in the order of time. */
  scheduled(queue: string, request?: ScheduledRequest): Promise<ScheduledPage>
}
