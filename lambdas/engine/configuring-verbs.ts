import type { Configuration, ConfigurationChange } from './core/configuration.ts'
import type { QueuePatternInput, QueuePatterns } from './core/queue-patterns.ts'

export type { QueuePatternInput, QueuePatterns }

export type DeployedPatterns = QueuePatterns & { readonly replaced?: QueuePatterns }

/** The verbs about settings, of one queue and of prefixes. */
export interface ConfiguringVerbs {
  /** What the queue has, or would have if it were pushed to now. */
  configuration(queue: string): Promise<Configuration>
  configure(
    queue: string,
    change: ConfigurationChange,
    /** The revision of its own settings, or the tag of any (`configurationTag`). */
    request?: { readonly ifMatch?: number | string | undefined },
  ): Promise<Configuration>
  /** Takes the queue's own settings away: those of its pattern, or the default, apply again. */
  unconfigure(
    queue: string,
    request?: { readonly ifMatch?: number | string | undefined },
  ): Promise<Configuration>
  /** The settings of prefixes: a queue without settings of its own has those of the longest. */
  patterns(): Promise<QueuePatterns>
  /** Replaces them all. New queues have the new settings within 30 s; those that are there within some minutes. */
  configurePatterns(
    patterns: readonly QueuePatternInput[],
    request?: { readonly ifMatch?: number | undefined },
  ): Promise<QueuePatterns>
  /** The same for what a deployment brings, once for each hash: `replaced` are those from before, if it did. */
  deployPatterns(patterns: readonly QueuePatternInput[], hash: string): Promise<DeployedPatterns>
}
