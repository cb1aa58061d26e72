/** An item as the handler gets it. */
export type Item<T = unknown> = {
  readonly value: T
  /** The item byte for byte, with numbers that JavaScript would round. */
  readonly text: string
  readonly id: string
  readonly priority: number
  readonly pushedAtMs: number
  /** 1 the first time. */
  readonly deliveries: number
  /** From then on, no pop returns it; a consumer that has it may finish its work. */
  readonly expiresAtMs?: number
  /** For an item that was pushed for later: its id until it was due, and when that was. */
  readonly scheduledId?: string
  readonly dueMs?: number
  /** Why it was dead-lettered, on a dead-letter queue. */
  readonly reason?: string
  /** When it came to the dead-letter queue, and how often it had been delivered before that. */
  readonly deadLetteredAtMs?: number
  readonly priorDeliveries?: number
}

/** A queue holds nothing but JSON, so the text can be parsed. */
export const itemOf = <T>(popped: Omit<Item, 'value'>): Item<T> => ({
  value: JSON.parse(popped.text) as T,
  ...popped,
})
