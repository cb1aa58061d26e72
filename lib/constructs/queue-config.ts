import type { QueueSettings } from '../../engine/core/settings.ts'
import { queuePatternsFrom } from '../../engine/core/settings.ts'

/** Settings for all queues whose ids begin so; an absent setting has its default. */
export type QueueConfigPattern = { readonly prefix: string } & {
  readonly [Name in keyof QueueSettings]?: Name extends 'pushLimit' | 'popLimit'
    ? QueueConfigLimit
    : QueueSettings[Name]
}

/** How many calls per window. Default: a window of one second. */
export type QueueConfigLimit = {
  readonly maxRequests: number
  readonly windowMillis?: number
  readonly algorithm?: 'window' | 'smooth'
  readonly burst?: number
}

/**
 * A function's environment has 4,096 bytes. Names of tables and buckets and the other settings take some 270 to 450 of
 * them, and more with long names. The patterns and schedules of a deployment, which the sweeper gets there, may take
 * this many together.
 */
export const SWEEPER_BYTES_MAX = 3_400

/** Lambda measures an environment as JSON: each quote in a text of ours counts twice. */
export const bytesInEnvironment = (text: string): number => Buffer.byteLength(JSON.stringify(text))

/** As the sweeper's environment brings it: checked like a `PUT /queue-config`, and short enough. */
export function queueConfigText(patterns: readonly QueueConfigPattern[]): string {
  queuePatternsFrom(patterns.map(({ prefix, ...settings }) => ({ prefix, settings })))
  const text = JSON.stringify(patterns)
  const bytes = bytesInEnvironment(text)
  if (bytes <= SWEEPER_BYTES_MAX) return text
  throw new Error(
    `it takes ${bytes} bytes of a function's environment, each quote counted twice, which has room for ${SWEEPER_BYTES_MAX}: ` +
      'put so many patterns after the deployment, with `pushpop queue-config set`',
  )
}
