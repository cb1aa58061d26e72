// What a queue can be set to, where its settings come from (the queue's own, those of the longest prefix that fits, or
// the defaults), and how its record holds them. Revisions settle races: a queue's own settings win over patterns that
// were changed at the same time, newer patterns win over older ones, and a limit's slot is good only for the very limit
// for which it was taken.

import {
  type GuardLimit,
  guardNames,
  inOrder,
  type PatternOf,
  patternFor,
  settingsFrom,
} from '../../rate/core/settings.ts'
import { isDeadLetterQueue } from '../../shared/bounds.ts'
import { invalid, QueueError } from '../../shared/errors.ts'
import { snakeCase } from '../../shared/wire.ts'
import { ITEM_TTL_SECONDS_MAX, MAX_DELIVERIES_MAX, SEGMENT_SIZE_DEFAULT } from './limits.ts'

/** Offloading holds a segment in memory: 250 items of 256 KiB are 64 MB. */
export const SEGMENT_SIZE_MAX = 250
const BUFFER_SEGMENTS_DEFAULT = 1
const BUFFER_SEGMENTS_MAX = 100
/** Stands for "no capacity set" in `room`: exact as a number, and never used up. */
export const ROOM_UNLIMITED = 1_000_000_000_000_000

const expiredChoices = ['discard', 'dead_letter'] as const
type Expired = (typeof expiredChoices)[number]

/** What a queue can be set to. */
export type QueueSettings = {
  /** For lanes made later; a lane keeps the size it was made with. */
  readonly segmentSize: number
  readonly bufferSegments: number
  /** An item that came back this often goes to the dead-letter queue. */
  readonly maxDeliveries?: number
  /** Items the queue may hold. */
  readonly capacity?: number
  /** No pop returns an item once this much time has passed since it was pushed, or was due. */
  readonly itemTtlSeconds?: number
  /** What happens to items that expire, by this setting or by their own time. Default: discarded. */
  readonly expired?: Expired
  /** The rate limits of the calls that push, and of those that pop. */
  readonly pushLimit?: GuardLimit
  readonly popLimit?: GuardLimit
}

/** Where settings come from: the first of these that exists. */
export type Source =
  | { readonly from: 'queue' }
  | { readonly from: 'pattern'; readonly prefix: string }
  | { readonly from: 'default' }

/** A queue's settings, as its record holds them: no push and no pop looks anywhere else. */
export type Configuration = QueueSettings & {
  /** 0 until the queue itself is configured; each change of its own settings adds one. */
  readonly revision: number
  readonly source: Source
  /** The revision of the patterns that last gave the queue its settings; absent if none ever did. */
  readonly patternsRevision?: number
}

/** Absent fields have the defaults of any rate limit: a window of one second. */
export type LimitInput = Pick<GuardLimit, 'maxRequests'> & {
  readonly [Name in keyof GuardLimit]?: GuardLimit[Name] | undefined
}

/** `null` removes a setting; an absent field leaves it alone. */
export type ConfigurationChange = {
  readonly segmentSize?: number | undefined
  readonly bufferSegments?: number | undefined
  readonly maxDeliveries?: number | null | undefined
  readonly capacity?: number | null | undefined
  readonly itemTtlSeconds?: number | null | undefined
  readonly expired?: Expired | null | undefined
  readonly pushLimit?: LimitInput | null | undefined
  readonly popLimit?: LimitInput | null | undefined
}

const defaultSettings: QueueSettings = {
  segmentSize: SEGMENT_SIZE_DEFAULT,
  bufferSegments: BUFFER_SEGMENTS_DEFAULT,
}

export const defaultConfiguration: Configuration = {
  revision: 0,
  source: { from: 'default' },
  ...defaultSettings,
}

/** Every setting of a queue, once; the wire has the same names in snake_case. */
export const configurationFields = {
  segmentSize: { kind: 'integer', max: SEGMENT_SIZE_MAX, removable: false },
  bufferSegments: { kind: 'integer', max: BUFFER_SEGMENTS_MAX, removable: false },
  maxDeliveries: { kind: 'integer', max: MAX_DELIVERIES_MAX, removable: true },
  capacity: { kind: 'integer', max: ROOM_UNLIMITED / 1000, removable: true },
  itemTtlSeconds: { kind: 'integer', max: ITEM_TTL_SECONDS_MAX, removable: true },
  expired: { kind: 'choice', of: expiredChoices, removable: true },
  pushLimit: { kind: 'limit', removable: true },
  popLimit: { kind: 'limit', removable: true },
} as const

export type ConfigurationName = keyof typeof configurationFields
export const configurationNames = /* @__PURE__ */ Object.keys(
  configurationFields,
) as readonly ConfigurationName[]

/** A queue's own settings replace its pattern's as a whole: the first change starts from the defaults. */
export function changeConfiguration(
  current: Configuration,
  change: ConfigurationChange,
): Configuration {
  const { revision, source, patternsRevision, ...settings } = current
  return {
    ...changeSettings(source.from === 'queue' ? settings : defaultSettings, change),
    revision: revision + 1,
    source: { from: 'queue' },
    ...(patternsRevision !== undefined && { patternsRevision }),
  }
}

/** Removes the queue's own settings. That counts as one more change, so a revision never repeats. */
export function givenBack(own: Configuration, applies: Configuration): Configuration {
  const patternsRevision = Math.max(own.patternsRevision ?? 0, applies.patternsRevision ?? 0)
  return {
    ...applies,
    revision: own.revision + 1,
    ...(patternsRevision > 0 && { patternsRevision }),
  }
}

/** `at`: where the settings are in a request, `patterns[3].`; errors name it. */
function changeSettings(
  current: QueueSettings,
  change: ConfigurationChange,
  at = '',
): QueueSettings {
  const names: readonly string[] = configurationNames
  const foreign = Object.keys(change).find((name) => !names.includes(name))
  if (foreign !== undefined) {
    const field = at + snakeCase(foreign)
    throw invalid(field, `Cannot set ${field} because a queue has no such setting`)
  }
  const next: Record<string, unknown> = { ...current }
  for (const name of configurationNames) {
    const field = configurationFields[name]
    const value: unknown = change[name]
    if (value === undefined) continue
    if (value === null && field.removable) delete next[name]
    else if (field.kind === 'limit')
      next[name] = limitFrom(at + snakeCase(name), value as LimitInput)
    else if (field.kind === 'choice') next[name] = choiceFrom(at + snakeCase(name), value, field.of)
    else next[name] = integerFrom(at + snakeCase(name), value, field.max)
  }
  return next as unknown as QueueSettings
}

function integerFrom(field: string, value: unknown, max: number): number {
  if (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= max) return Number(value)
  throw invalid(
    field,
    `Cannot set ${field} to ${value} because it must be an integer from 1 to ${max}`,
  )
}

function choiceFrom<T>(field: string, value: unknown, of: readonly T[]): T {
  const chosen = of.find((one) => one === value)
  if (chosen !== undefined) return chosen
  const choices = of.map((one) => `"${one}"`).join(' or ')
  throw invalid(field, `Cannot set ${field} to ${value} because it must be ${choices}`)
}

/** Checks a limit and fills in its defaults. */
function limitFrom(field: string, input: LimitInput): GuardLimit {
  if (typeof input !== 'object') {
    throw invalid(field, `Cannot set ${field} to ${input} because it must be an object or null`)
  }
  const names: readonly string[] = guardNames
  const foreign = Object.keys(input).find((name) => !names.includes(name))
  if (foreign !== undefined) {
    throw invalid(`${field}.${snakeCase(foreign)}`, `A ${field} has no ${snakeCase(foreign)}`)
  }
  if (input.maxRequests === undefined) {
    throw invalid(`${field}.max_requests`, `A ${field} must say how many max_requests`)
  }
  try {
    const { maxRequests, windowMillis, algorithm, burst } = settingsFrom(input)
    return { maxRequests, windowMillis, algorithm, burst }
  } catch (error) {
    if (!(error instanceof QueueError)) throw error
    throw invalid(`${field}.${snakeCase(error.field ?? '')}`, `In ${field}: ${error.message}`)
  }
}

// What follows from a configuration: its tag, its room, and which slots are good for its limits.

/**
 * The row that counts a limit's calls tells newer settings by this number. It grows with every change of the
 * queue's own settings and of the patterns.
 */
export const limitRevisionOf = ({ revision, patternsRevision = 0 }: Configuration): number =>
  revision + patternsRevision

/**
 * Tells one state of a queue's settings from every other: `3` of its own, `0.7` of those that the patterns of
 * revision 7 gave it.
 */
export const tagOf = ({ revision, source, patternsRevision = 0 }: Configuration): string =>
  source.from === 'queue' || patternsRevision === 0
    ? String(revision)
    : `${revision}.${patternsRevision}`

export const isLimited = ({ pushLimit, popLimit }: QueueSettings): boolean =>
  pushLimit !== undefined || popLimit !== undefined

/** What `room` starts from, or changes by, under a configuration. */
export const roomOf = (settings: QueueSettings): number => settings.capacity ?? ROOM_UNLIMITED

/**
 * What takes a call past a queue's limit: a slot of that very limit; or `free`, because no limit counts the call. If
 * the limit changes before the call's write lands, the slot is good for nothing: the call needs one of the new limit.
 */
export type Pass = GuardLimit | 'free' | undefined

export const isGoodFor = (pass: Pass, limit: GuardLimit | undefined): boolean =>
  limit === undefined ||
  pass === 'free' ||
  (pass !== undefined && guardNames.every((name) => pass[name] === limit[name]))

// Settings of prefixes (patterns) apply to queues that have none of their own.

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

// Settings as the record holds them, in few bytes, because every write pays for them.

/** [requests, window], and the burst of a smooth limit. */
type StoredLimit = [number, number] | [number, number, number]

export type StoredConfiguration = {
  v: number
  z: number
  b: number
  m?: number
  c?: number
  t?: number
  /** 1: expired items become dead letters; 0: the queue's own settings say that they do not. */
  x?: 0 | 1
  pl?: StoredLimit
  ol?: StoredLimit
  /** Where it comes from: `p` and the prefix, or `d`; absent if it is the queue's own. */
  s?: string
  /** The revision of the patterns that last gave the queue its settings. */
  r?: number
}

export function decodeConfiguration(stored: StoredConfiguration): Configuration {
  return {
    revision: stored.v,
    source: decodeSource(stored.s),
    segmentSize: stored.z,
    bufferSegments: stored.b,
    ...(stored.m !== undefined && { maxDeliveries: stored.m }),
    ...(stored.c !== undefined && { capacity: stored.c }),
    ...(stored.t !== undefined && { itemTtlSeconds: stored.t }),
    ...(stored.x !== undefined && { expired: stored.x === 1 ? 'dead_letter' : 'discard' }),
    ...(stored.pl !== undefined && { pushLimit: decodeLimit(stored.pl) }),
    ...(stored.ol !== undefined && { popLimit: decodeLimit(stored.ol) }),
    ...(stored.r !== undefined && { patternsRevision: stored.r }),
  }
}

export function encodeConfiguration(configuration: Configuration): StoredConfiguration {
  return {
    v: configuration.revision,
    z: configuration.segmentSize,
    b: configuration.bufferSegments,
    ...(configuration.maxDeliveries !== undefined && { m: configuration.maxDeliveries }),
    ...(configuration.capacity !== undefined && { c: configuration.capacity }),
    ...(configuration.itemTtlSeconds !== undefined && { t: configuration.itemTtlSeconds }),
    ...(configuration.expired !== undefined && {
      x: configuration.expired === 'dead_letter' ? 1 : 0,
    }),
    ...(configuration.pushLimit !== undefined && { pl: encodeLimit(configuration.pushLimit) }),
    ...(configuration.popLimit !== undefined && { ol: encodeLimit(configuration.popLimit) }),
    ...encodeSource(configuration.source),
    ...(configuration.patternsRevision !== undefined && { r: configuration.patternsRevision }),
  }
}

const decodeSource = (stored: string | undefined): Source => {
  if (stored === undefined) return { from: 'queue' }
  return stored === 'd' ? { from: 'default' } : { from: 'pattern', prefix: stored.slice(1) }
}

function encodeSource(source: Source): Pick<StoredConfiguration, 's'> {
  if (source.from === 'queue') return {}
  return { s: source.from === 'default' ? 'd' : `p${source.prefix}` }
}

const decodeLimit = ([maxRequests, windowMillis, burst]: StoredLimit): GuardLimit => ({
  maxRequests,
  windowMillis,
  algorithm: burst === undefined ? 'window' : 'smooth',
  burst: burst ?? 1,
})

export const encodeLimit = (limit: GuardLimit): StoredLimit =>
  limit.algorithm === 'smooth'
    ? [limit.maxRequests, limit.windowMillis, limit.burst]
    : [limit.maxRequests, limit.windowMillis]
