import { createHash } from 'node:crypto'
import type { QueuePatternInput, Queues } from '../../engine/queues.ts'
import type { Environment } from '../../runtime/environment.ts'
import { describeError, type Log } from '../../runtime/log.ts'
import { variables } from '../../runtime/variables.ts'

/** Settings of prefixes that a deployment brings; absent if it leaves them to `PUT /queue-config`. */
export type QueueConfig = {
  readonly patterns: readonly QueuePatternInput[]
  readonly hash: string
}

export function queueConfigIn(environment: Environment): QueueConfig | undefined {
  const text = environment[variables.queueConfig]
  if (!text) return undefined
  const list = JSON.parse(text) as ({ readonly prefix: string } & QueuePatternInput['settings'])[]
  return {
    patterns: list.map(({ prefix, ...settings }) => ({ prefix, settings })),
    hash: createHash('sha256').update(text).digest('base64url').slice(0, 16),
  }
}

/** Returns whether it is done: the row has the patterns of this deployment, or of somebody who has put others since. */
export async function deployPatterns(
  queues: Pick<Queues, 'deployPatterns'>,
  { patterns, hash }: QueueConfig,
  log: Log,
): Promise<boolean> {
  try {
    const { revision, replaced } = await queues.deployPatterns(patterns, hash)
    if (replaced === undefined) return true
    // If this replaced patterns that somebody put by hand, the log has them.
    const level = replaced.patterns.length > 0 ? 'warn' : 'info'
    log.write(level, 'queue patterns replaced by the deployment', {
      revision,
      replaced: replaced.patterns,
    })
    return true
  } catch (error) {
    // The next run tries again.
    log.write('error', 'queue patterns not deployed', { error: describeError(error) })
    return false
  }
}
