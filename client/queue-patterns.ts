// The settings of prefixes, which apply to queues without their own settings.

import { present } from '../lambdas/foundation/shared/present.ts'
import { snakeCased } from '../lambdas/foundation/shared/wire-names.ts'
import type { ConfigureQueuePatternsAnswer, QueuePatternsAnswer } from './api-types.ts'
import type { CallOptions, MatchOptions } from './queue.ts'
import { matchOf } from './queue-calls.ts'
import type { Answered, Send } from './transport.ts'
import { type View, viewOf } from './view-of.ts'
import type { ConfigurationChange } from './views.ts'

export type QueuePattern<S = QueueSettings> = { readonly prefix: string; readonly settings: S }

export type QueueSettings = Omit<View<QueuePatternsAnswer['patterns'][number]>, 'prefix'>

/** Absent settings have their defaults. */
export type QueueSettingsInput = Omit<ConfigurationChange, 'source'>

export type QueuePatterns = {
  /** In the order in which they apply: the longest prefix first. */
  readonly patterns: readonly QueuePattern[]
  /** For `ifMatch`. */
  readonly etag?: string
}

export interface QueuePatternVerbs {
  /** The settings of prefixes. */
  queuePatterns(options?: CallOptions): Promise<QueuePatterns>
  /** Replaces them all. */
  configureQueuePatterns(
    patterns: readonly QueuePattern<QueueSettingsInput>[],
    options?: MatchOptions,
  ): Promise<QueuePatterns>
}

/** The answers have the API's own names. The command line prints these. */
export const queuePatternRequests = (send: Send) => ({
  patterns: (options: CallOptions = {}) =>
    send({
      verb: 'queuePatterns',
      method: 'GET',
      path: '/queue-config',
      signal: options.signal,
    }) as Promise<Answered<QueuePatternsAnswer>>,
  configurePatterns: (patterns: readonly unknown[], options: MatchOptions = {}) =>
    send({
      verb: 'configureQueuePatterns',
      method: 'PUT',
      path: '/queue-config',
      body: JSON.stringify({ patterns }),
      ...matchOf(options),
    }) as Promise<Answered<ConfigureQueuePatternsAnswer>>,
})

/** In the API a pattern's settings stand beside its prefix. */
export const patternBodies = (patterns: readonly QueuePattern<object>[]) =>
  patterns.map(({ prefix, settings }) => ({ prefix, ...snakeCased(settings) }))

export function queuePatternsOf(send: Send): QueuePatternVerbs {
  const { patterns, configurePatterns } = queuePatternRequests(send)
  return {
    queuePatterns: async (options) => viewed(await patterns(options)),
    async configureQueuePatterns(inputs, options) {
      return viewed(await configurePatterns(patternBodies(inputs), options))
    },
  }
}

const viewed = ({ body, etag }: Answered<QueuePatternsAnswer>): QueuePatterns =>
  present({
    patterns: body.patterns.map(({ prefix, ...settings }) => ({
      prefix,
      settings: viewOf(settings) as QueueSettings,
    })),
    etag,
  })
