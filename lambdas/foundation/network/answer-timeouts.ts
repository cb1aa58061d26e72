/**
 * How long a store may take for a whole answer, its body included. A late answer must be an error, after
 * which the engine finds out what happened (decision 0002).
 */
export const answerTimeoutsMs = {
  /** Even slow answers hardly ever take this long; four of them, with pauses, fit into the gateway's 30 s. */
  dynamodb: 3_000,
  /** Segments of large items are megabytes, which travel at some 50 MB a second. */
  s3: 10_000,
  /** `put-events.ts` allows for four of them. */
  eventBridge: 3_000,
  /** Answers take some 20 ms within a region; `send.ts` allows for three timeouts. */
  sqs: 3_000,
  /** Lambda only queues the event. */
  lambda: 3_000,
} as const

/**
 * After a thaw, a process runs its timers before it reads its sockets. So this acts only after it has read them: an
 * answer that came meanwhile counts.
 */
export const afterReading = (ms: number, act: () => void): NodeJS.Timeout =>
  setTimeout(() => setImmediate(act), ms)
