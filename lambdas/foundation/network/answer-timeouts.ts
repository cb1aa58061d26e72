/**
 * How long a store may take for a whole answer, its body included. Late must be an error: the engine
 * then finds out what happened (decision 0002).
 */
export const answerTimeoutsMs = {
  /** Rarer than any slow answer, and four of them, with pauses, are within the gateway's 30 s. */
  dynamodb: 3_000,
  /** Segments of large items are megabytes, which travel at some 50 MB a second. */
  s3: 10_000,
  /** `put-events.ts` reckons with four of them. */
  eventBridge: 3_000,
  /** Some 20 ms in a region; `send.ts` reckons with three of them. */
  sqs: 3_000,
  /** It only queues the event. */
  lambda: 3_000,
} as const

/**
 * A thawed process runs its timers before it reads its sockets: an answer that came meanwhile counts.
 */
export const afterReading = (ms: number, act: () => void): NodeJS.Timeout =>
  setTimeout(() => setImmediate(act), ms)
