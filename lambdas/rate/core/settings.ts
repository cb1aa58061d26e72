import { QueueError } from '../../foundation/errors.ts'
import {
  IN_LINE_DEFAULT,
  IN_LINE_MAX,
  MAX_REQUESTS_DEFAULT,
  MAX_REQUESTS_MAX,
  SHARDS_MAX,
  WINDOW_MS_DEFAULT,
  WINDOW_MS_MAX,
  WINDOW_MS_MIN,
} from './bounds.ts'
import type { Algorithm, Rules } from './rules.ts'
import { shareOf } from './shards.ts'

export type Settings = {
  readonly maxRequests: number
  readonly maxRequestsInQueue: number
  readonly windowMillis: number
  readonly algorithm: Algorithm
  /** Of `smooth`: requests that may go at once after a rest. */
  readonly burst: number
  /** Rows that the key is split into; each has its share of the limit and an order of its own. */
  readonly shards: number
  /** Whether a caller may ask for another limit than this one. */
  readonly allowOverrides: boolean
}

/** A key's own settings, and when they were made: the greater revision is the newer. */
export type KeyConfiguration = { readonly settings: Settings; readonly revision: number }

/** What is absent is as by default. */
export type SettingsInput = { readonly [Name in keyof Settings]?: Settings[Name] | undefined }

/** What one caller may ask for by himself, where the settings allow it. */
export type Overrides = Pick<SettingsInput, 'maxRequests' | 'maxRequestsInQueue' | 'windowMillis'>

/** Of a key that nobody has configured: the sources' figures, and the caller's own if he has any. */
export const defaultSettings: Settings = {
  maxRequests: MAX_REQUESTS_DEFAULT,
  maxRequestsInQueue: IN_LINE_DEFAULT,
  windowMillis: WINDOW_MS_DEFAULT,
  algorithm: 'window',
  burst: 1,
  shards: 1,
  allowOverrides: true,
}

const ranges = {
  maxRequests: { min: 1, max: MAX_REQUESTS_MAX },
  maxRequestsInQueue: { min: 0, max: IN_LINE_MAX },
  windowMillis: { min: WINDOW_MS_MIN, max: WINDOW_MS_MAX },
  burst: { min: 1, max: MAX_REQUESTS_MAX },
  shards: { min: 1, max: SHARDS_MAX },
} as const

/** Settings as they will be stored: whole, checked, and closed to overrides unless opened. */
export function settingsFrom(input: SettingsInput): Settings {
  const settings = { ...defaultSettings, allowOverrides: false, ...withoutUndefined(input) }
  for (const name of Object.keys(input)) {
    if (!(name in defaultSettings)) throw invalid(name, 'it is no setting of a rate limit')
  }
  for (const [name, { min, max }] of Object.entries(ranges)) {
    checkInteger(name, settings[name as keyof typeof ranges], min, max)
  }
  const { algorithm, allowOverrides, burst, maxRequests, shards } = settings
  if (algorithm !== 'window' && algorithm !== 'smooth') {
    throw invalid('algorithm', `it must be "window" or "smooth", not "${algorithm}"`)
  }
  if (typeof allowOverrides !== 'boolean') {
    throw invalid('allowOverrides', `it must be true or false, not "${allowOverrides}"`)
  }
  if (algorithm === 'window' && burst !== 1) {
    throw invalid('burst', 'only the algorithm "smooth" has one; a window may be used up at once')
  }
  const share = shareOf(maxRequests, shards, shards - 1)
  if (share < 1) {
    throw invalid(
      'shards',
      `${maxRequests} requests a window cannot be split into ${shards} shards`,
    )
  }
  if (burst > share) {
    throw invalid('burst', `it must not be more than the ${share} requests a window of one shard`)
  }
  return settings
}

/** The settings as one caller wants them, or the name of what he may not change. */
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
    checkInteger(name, value, ranges[name].min, ranges[name].max)
    if (value === settings[name]) continue
    if (!settings.allowOverrides) return { kind: 'refused', field: name }
    changed = { ...changed, [name]: value }
  }
  if (changed.maxRequests < changed.shards) {
    throw invalid('maxRequests', `the key is split into ${changed.shards} shards, each needs one`)
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

export function checkInteger(name: string, value: unknown, min: number, max: number): void {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return
  throw invalid(name, `it must be an integer from ${min} to ${max}, not ${String(value)}`)
}

export function invalid(field: string, reason: string): QueueError {
  return new QueueError('INVALID_PARAMETER', `Cannot use ${field} because ${reason}`, { field })
}

const withoutUndefined = (input: SettingsInput): Partial<Settings> =>
  Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))
