import {
  type Configuration,
  configurationNames,
  type QueueSettings,
  tagOf,
} from '../../engine/core/configuration.ts'
import type { QueuePatterns } from '../../engine/queues.ts'
import { snakeCase, snakeCased } from '../../foundation/shared/wire-names.ts'
import { type Answer, ok } from '../answer.ts'

/** Every setting, `null` if not set: a PUT accepts what a GET returned. */
const settingsBody = (settings: QueueSettings) =>
  Object.fromEntries(
    configurationNames.map((name) => [snakeCase(name), snakeCased(settings[name] ?? null)]),
  )

export const configurationBody = (configuration: Configuration) => ({
  ...settingsBody(configuration),
  source: configuration.source,
})

export const queuePatternsBody = ({ patterns }: QueuePatterns) => ({
  patterns: patterns.map(({ prefix, settings }) => ({ prefix, ...settingsBody(settings) })),
})

export const queuePatternsAnswer = (patterns: QueuePatterns): Answer =>
  ok(queuePatternsBody(patterns), { etag: `"${patterns.revision}"` })

export const configurationAnswer = (configuration: Configuration): Answer =>
  ok(configurationBody(configuration), { etag: `"${tagOf(configuration)}"` })
