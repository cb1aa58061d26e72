// What can be set for a key, once: its fields with their bounds and defaults, how settings are checked, split over
// shards, and given to all keys with a prefix. Queues check their patterns here too.

import { QueueError } from '../../shared/errors.ts'
import { fnv1a } from '../../shared/system.ts'
import { MAX_REQUESTS_MAX, PATTERNS_MAX, PREFIX_CHARACTERS_MAX } from './bounds.ts'

/** A waiter is only a number, so a million of them cost as much as one; with more, callers would wait too long. */
const IN_LINE_MAX = 1_000_000
/** A shorter window would be only as long as a few requests to the store. */
const WINDOW_MS_MIN = 100
const WINDOW_MS_MAX = 86_400_000
/** 25 rows take 25,000 decisions a second. */
export const SHARDS_MAX = 25

export type SettingField = {
  /** The default, from PushPop's source documents. */
  readonly standard: number | string | boolean
  /** One letter, because every write pays for the bytes of the whole row. */
  readonly stored: string
} & (
  | { readonly kind: 'integer'; readonly min: number; readonly max: number }
  | { readonly kind: 'choice'; readonly of: readonly string[] }
  | { readonly kind: 'flag' }
)

/**
 * Every setting of a rate limit, once. Types, checks, stored rows, requests and answers over HTTP, docs/openapi.json,
 * the client's types and the command line's options all follow from this table. The wire has the same names in
 * snake_case, and answers have this order.
 */
export const settingFields = {
  maxRequests: { kind: 'integer', min: 1, max: MAX_REQUESTS_MAX, standard: 100, stored: 'm' },
  /** How many requests may wait for later windows. */
  maxRequestsInQueue: { kind: 'integer', min: 0, max: IN_LINE_MAX, standard: 400, stored: 'q' },
  windowMillis: {
    kind: 'integer',
    min: WINDOW_MS_MIN,
    max: WINDOW_MS_MAX,
    standard: 1_000,
    stored: 'w',
  },
  algorithm: { kind: 'choice', of: ['window', 'smooth'], standard: 'window', stored: 'a' },
  /** With `smooth`: requests that may go at once after a rest. */
  burst: { kind: 'integer', min: 1, max: MAX_REQUESTS_MAX, standard: 1, stored: 'b' },
  /** The number of rows into which the key is split; each has its share of the limit and its own order. */
  shards: { kind: 'integer', min: 1, max: SHARDS_MAX, standard: 1, stored: 'n' },
  /** Whether a call may ask for another limit than this one. */
  allowOverrides: { kind: 'flag', standard: false, stored: 'o' },
} as const satisfies Readonly<Record<string, SettingField>>

type Fields = typeof settingFields

type ValueOf<F extends SettingField> = F extends { readonly of: readonly (infer Choice)[] }
  ? Choice
  : F extends { readonly kind: 'flag' }
    ? boolean
    : number

export type Settings = { readonly [Name in keyof Fields]: ValueOf<Fields[Name]> }
export type SettingName = keyof Settings

export const settingNames = /* @__PURE__ */ Object.keys(settingFields) as readonly SettingName[]

export const settingsOf = (pick: (name: SettingName) => unknown): Settings =>
  Object.fromEntries(settingNames.map((name) => [name, pick(name)])) as Settings

/** The settings of a queue's own limit, which has no line, no shards and no overrides. */
export const guardNames = ['maxRequests', 'windowMillis', 'algorithm', 'burst'] as const

/** How many calls of one kind a queue takes. */
export type GuardLimit = Pick<Settings, (typeof guardNames)[number]>

export type Algorithm = Settings['algorithm']

/** What defines one row's ruler: the key's limit, or a shard's share of it. */
export type Rules = {
  readonly algorithm: Algorithm
  readonly maxRequests: number
  readonly windowMs: number
  /** For `smooth`: requests that may go at once after a rest. 1 if the algorithm is `window`. */
  readonly burst: number
}

export const sameRules = (a: Rules, b: Rules): boolean =>
  a.algorithm === b.algorithm &&
  a.maxRequests === b.maxRequests &&
  a.windowMs === b.windowMs &&
  a.burst === b.burst

/** The caller's shard: always the same one, so that a caller's requests stay in order. */
export const shardOfCaller = (caller: string, shards: number): number => fnv1a(caller) % shards

/** A shard's part of a limit. If the limit does not divide evenly, the first shards get one more. */
export const shareOf = (total: number, shards: number, shard: number): number =>
  Math.floor(total / shards) + (shard < total % shards ? 1 : 0)

/** All shards, beginning with this one. */
export const shardsFrom = (first: number, shards: number): number[] =>
  Array.from({ length: shards }, (_, i) => (first + i) % shards)

/** A key's own settings and their revision; a greater one is newer. */
export type KeyConfiguration = { readonly settings: Settings; readonly revision: number }

/** Absent settings have their defaults. */
export type SettingsInput = { readonly [Name in keyof Settings]?: Settings[Name] | undefined }

/** The limit that a call may bring, where the settings allow that. */
export type Overrides = Pick<SettingsInput, 'maxRequests' | 'maxRequestsInQueue' | 'windowMillis'>

/**
 * The settings of a key that nobody has configured: the figures of PushPop's source documents, or those that a
 * caller passes.
 */
export const defaultSettings = /* @__PURE__ */ settingsOf(
  (name) => name === 'allowOverrides' || settingFields[name].standard,
)

/** Settings as we store them: complete, checked, and without overrides unless allowed. */
export function settingsFrom(input: SettingsInput): Settings {
  const settings = { ...defaultSettings, allowOverrides: false, ...withoutUndefined(input) }
  for (const name of Object.keys(input)) {
    if (!(name in settingFields)) throw unusable(name, 'it is not a rate-limit setting')
  }
  for (const name of settingNames) checkSetting(name, settings[name])
  const { algorithm, burst, maxRequests, shards } = settings
  if (algorithm === 'window' && burst !== 1) {
    throw unusable('burst', 'only the algorithm "smooth" has one; a window may be used up at once')
  }
  const share = shareOf(maxRequests, shards, shards - 1)
  if (share < 1) {
    throw unusable(
      'shards',
      `${maxRequests} requests a window cannot be split into ${shards} shards`,
    )
  }
  if (burst > share) {
    throw unusable('burst', `it must not be more than the ${share} requests a window of one shard`)
  }
  return settings
}

/** The settings with a call's overrides, or the name of a field that the call may not change. */
export function overridden(
  settings: Settings,
  overrides: Overrides,
):
  | { readonly kind: 'settings'; readonly settings: Settings }
  | { readonly kind: 'refused'; readonly field: keyof Overrides } {
  let changed: Settings = settings
  for (const name of ['maxRequests', 'maxRequestsInQueue', 'windowMillis'] as const) {
    const value = overrides[name]
    if (value === undefined) continue
    checkSetting(name, value)
    if (value === settings[name]) continue
    if (!settings.allowOverrides) return { kind: 'refused', field: name }
    changed = { ...changed, [name]: value }
  }
  if (changed.maxRequests < changed.shards) {
    throw unusable('maxRequests', `the key is split into ${changed.shards} shards, each needs one`)
  }
  return { kind: 'settings', settings: changed }
}

/** The rules of one shard's row. */
export function rulesOf(settings: Settings, shard: number): Rules {
  const { algorithm, windowMillis, burst, shards, maxRequests } = settings
  const share = shareOf(maxRequests, shards, shard)
  return { algorithm, maxRequests: share, windowMs: windowMillis, burst: Math.min(burst, share) }
}

export const inLineOf = (settings: Settings, shard: number): number =>
  shareOf(settings.maxRequestsInQueue, settings.shards, shard)

function checkSetting(name: SettingName, value: unknown): void {
  const field = settingFields[name]
  if (field.kind === 'integer') {
    checkInteger(name, value, field.min, field.max)
    return
  }
  const isFlag = field.kind === 'flag'
  if (isFlag ? typeof value === 'boolean' : field.of.some((one) => one === value)) return
  const wanted = isFlag ? 'true or false' : field.of.map((one) => `"${one}"`).join(' or ')
  throw unusable(name, `it must be ${wanted}, not "${value}"`)
}

export function checkInteger(name: string, value: unknown, min: number, max: number): void {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return
  throw unusable(name, `it must be an integer from ${min} to ${max}, not ${String(value)}`)
}

export function unusable(field: string, reason: string): QueueError {
  return new QueueError('INVALID_PARAMETER', `Cannot use ${field} because ${reason}`, { field })
}

const withoutUndefined = (input: SettingsInput): Partial<Settings> =>
  Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))

/** Settings for all names with this prefix; the empty prefix matches all names. */
export type PatternOf<S> = { readonly prefix: string; readonly settings: S }

const prefixForm = /^[A-Za-z0-9._-]*$/

/**
 * Checks patterns of rate limits or of queues, and puts the longest prefix first: the order in which they apply.
 * `settle` checks the settings of one; `at` is its field, `patterns[3]`.
 */
export function inOrder<Input, S>(
  inputs: readonly PatternOf<Input>[],
  settle: (settings: Input, at: string) => S,
): PatternOf<S>[] {
  if (!Array.isArray(inputs)) throw unusable('patterns', 'they must be a list')
  if (inputs.length > PATTERNS_MAX) {
    throw unusable('patterns', `there may be ${PATTERNS_MAX} of them, not ${inputs.length}`)
  }
  const seen = new Set<string>()
  const patterns = inputs.map((input: PatternOf<Input>, i) => {
    const at = `patterns[${i}]`
    if (!isObject(input)) throw unusable(at, 'it must be an object with a prefix and settings')
    const { prefix, settings } = input
    if (!isObject(settings)) throw unusable(`${at}.settings`, 'they must be an object')
    const field = `${at}.prefix`
    if (
      typeof prefix !== 'string' ||
      !prefixForm.test(prefix) ||
      prefix.length > PREFIX_CHARACTERS_MAX
    ) {
      throw unusable(
        field,
        `it must be 0 to ${PREFIX_CHARACTERS_MAX} of the characters A-Z a-z 0-9 . _ -`,
      )
    }
    if (seen.has(prefix)) throw unusable(field, `there is another pattern for "${prefix}"`)
    seen.add(prefix)
    return { prefix, settings: settle(settings, at) }
  })
  return patterns.sort((a, b) => b.prefix.length - a.prefix.length)
}

const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The pattern with the longest prefix of the name; the patterns are in that order. */
export const patternFor = <S>(
  patterns: readonly PatternOf<S>[],
  name: string,
): PatternOf<S> | undefined => patterns.find(({ prefix }) => name.startsWith(prefix))

export type Pattern = PatternOf<Settings>
export type PatternInput = PatternOf<SettingsInput>

export type Patterns = { readonly patterns: readonly Pattern[]; readonly revision: number }

export const noPatterns: Patterns = { patterns: [], revision: 0 }

export const patternsFrom = (inputs: readonly PatternInput[]): Pattern[] =>
  inOrder(inputs, (settings, at) => {
    const checked = settingsFrom(settings)
    // A process that meets a key for the first time asks shard 0, which knows the key's own shards.
    if (checked.shards !== 1) {
      throw unusable(`${at}.shards`, 'only a key’s own configuration can split it')
    }
    return checked
  })

/** The settings of a key without its own: those of the longest matching prefix, or the default. */
export const settingsByPattern = ({ patterns }: Patterns, key: string): Settings =>
  patternFor(patterns, key)?.settings ?? defaultSettings
