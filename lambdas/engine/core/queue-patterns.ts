import { isDeadLetterQueue } from '../../foundation/queue-id.ts'
import { inOrder, type PatternOf, patternFor } from '../../rate/core/prefixes.ts'
import {
  type Configuration,
  type ConfigurationChange,
  changeSettings,
  defaultConfiguration,
  defaultSettings,
  type QueueSettings,
} from './configuration.ts'
import { encodeConfiguration } from './stored-configuration.ts'

export type QueuePattern = PatternOf<QueueSettings>
export type QueuePatternInput = PatternOf<ConfigurationChange>

export type QueuePatterns = {
  /** 0 until there are any, then one more with each change. */
  readonly revision: number
  /** The longest prefix first. */
  readonly patterns: readonly QueuePattern[]
}

export const noQueuePatterns: QueuePatterns = { revision: 0, patterns: [] }

/** Checked and whole: what a pattern does not name is as by default. */
export const queuePatternsFrom = (inputs: readonly QueuePatternInput[]): QueuePattern[] =>
  inOrder(inputs, (change, at) => changeSettings(defaultSettings, change, `${at}.`))

/** Of a queue that has no settings of its own. A dead-letter queue takes no pattern's. */
export function configurationBy(
  { revision, patterns }: QueuePatterns,
  queue: string,
): Configuration {
  const pattern = isDeadLetterQueue(queue) ? undefined : patternFor(patterns, queue)
  if (pattern === undefined) return defaultConfiguration
  const { prefix, settings } = pattern
  return {
    ...settings,
    revision: 0,
    source: { from: 'pattern', prefix },
    patternsRevision: revision,
  }
}

/**
 * What the patterns make of the configuration of a queue that is there; nothing if it stays as it is: it is
 * the queue's own, has these very settings, or those of newer patterns.
 */
export function repatterned(
  current: Configuration,
  patterns: QueuePatterns,
  queue: string,
): Configuration | undefined {
  const { revision, source, patternsRevision = 0 } = current
  if (source.from === 'queue' || patternsRevision > patterns.revision) return undefined
  const wanted = { ...configurationBy(patterns, queue), revision }
  if (textOf(wanted) === textOf(current)) return undefined
  return { ...wanted, patternsRevision: patterns.revision }
}

const textOf = ({ patternsRevision: _, ...configuration }: Configuration): string =>
  JSON.stringify(encodeConfiguration(configuration))
