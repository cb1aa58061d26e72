import type { QueueSettings } from '../../lambdas/engine/core/configuration.ts'
import { queuePatternsFrom } from '../../lambdas/engine/core/queue-patterns.ts'

/** Settings for all queues whose ids begin so; what is absent is as by default. */
export type QueueConfigPattern = { readonly prefix: string } & {
  readonly [Name in keyof QueueSettings]?: Name extends 'pushLimit' | 'popLimit'
    ? QueueConfigLimit
    : QueueSettings[Name]
}

/** How many calls; a window of a second unless set. */
export type QueueConfigLimit = {
  readonly maxRequests: number
  readonly windowMillis?: number
  readonly algorithm?: 'window' | 'smooth'
  readonly burst?: number
}

/**
 * A function's environment has 4 KB, of which names of tables, buckets and settings take some. What a deployment
 * brings for the sweeper, patterns and schedules together, has the rest.
 */
export const SWEEPER_BYTES_MAX = 3_000

/** As the sweeper's environment brings it: checked like a `PUT /queue-config`, and short enough. */
export function queueConfigText(patterns: readonly QueueConfigPattern[]): string {
  queuePatternsFrom(patterns.map(({ prefix, ...settings }) => ({ prefix, settings })))
  const text = JSON.stringify(patterns)
  const bytes = Buffer.byteLength(text)
  if (bytes <= SWEEPER_BYTES_MAX) return text
  throw new Error(
    `it takes ${bytes} bytes as JSON, and a function's environment has room for ${SWEEPER_BYTES_MAX}: ` +
      'put so many patterns after the deployment, with `pushpop queue-config set`',
  )
}
