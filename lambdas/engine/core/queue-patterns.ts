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
  /** 0 until there are any; each change adds one. */
  readonly revision: number
  /** The longest prefix first. */
  readonly patterns: readonly QueuePattern[]
}

export const noQueuePatterns: QueuePatterns = { revision: 0, patterns: [] }

/** Checks the patterns and completes them with the defaults. */
export const queuePatternsFrom = (inputs: readonly QueuePatternInput[]): QueuePattern[] =>
  inOrder(inputs, (change, at) => changeSettings(defaultSettings, change, `${at}.`))

/** The configuration of a queue without its own settings. No pattern applies to a dead-letter queue. */
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
 * What the patterns make of an existing queue's configuration; undefined if it stays as it is, because it is the
 * queue's own, already has these settings, or comes from newer patterns.
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
