import type { Configuration, ConfigurationChange } from './core/configuration.ts'
import type { QueuePatternInput, QueuePatterns } from './core/queue-patterns.ts'

export type { QueuePatternInput, QueuePatterns }

export type DeployedPatterns = QueuePatterns & { readonly replaced?: QueuePatterns }

/** The verbs about settings, of one queue and of prefixes. */
export interface ConfiguringVerbs {
  /** The queue's settings, or those that a push would give it now. */
  configuration(queue: string): Promise<Configuration>
  configure(
    queue: string,
    change: ConfigurationChange,
    /** The revision of its own settings, or the tag of any (`configurationTag`). */
    request?: { readonly ifMatch?: number | string | undefined },
  ): Promise<Configuration>
  /** Removes the queue's own settings, so that those of its pattern, or the defaults, apply again. */
  unconfigure(
    queue: string,
    request?: { readonly ifMatch?: number | string | undefined },
  ): Promise<Configuration>
  /** The settings of prefixes. A queue without its own settings takes those of the longest prefix that matches. */
  patterns(): Promise<QueuePatterns>
  /** Replaces them all. New queues get the new settings within 30 s, existing queues within a few minutes. */
  configurePatterns(
    patterns: readonly QueuePatternInput[],
    request?: { readonly ifMatch?: number | undefined },
  ): Promise<QueuePatterns>
  /** The same for a deployment's patterns, once for each hash. If it replaced any, `replaced` holds the old ones. */
  deployPatterns(patterns: readonly QueuePatternInput[], hash: string): Promise<DeployedPatterns>
}
