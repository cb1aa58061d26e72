import { QueueError } from '../../foundation/errors.ts'
import type { Rules } from './rules.ts'
import {
  type SettingName,
  type Settings,
  settingFields,
  settingNames,
  settingsOf,
} from './setting-fields.ts'
import { shareOf } from './shards.ts'

export type { Settings }

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
    if (!(name in settingFields)) throw invalid(name, 'it is not a rate-limit setting')
  }
  for (const name of settingNames) checkSetting(name, settings[name])
  const { algorithm, burst, maxRequests, shards } = settings
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

function checkSetting(name: SettingName, value: unknown): void {
  const field = settingFields[name]
  if (field.kind === 'integer') {
    checkInteger(name, value, field.min, field.max)
    return
  }
  const isFlag = field.kind === 'flag'
  if (isFlag ? typeof value === 'boolean' : field.of.some((one) => one === value)) return
  const wanted = isFlag ? 'true or false' : field.of.map((one) => `"${one}"`).join(' or ')
  throw invalid(name, `it must be ${wanted}, not "${value}"`)
}

export function checkInteger(name: string, value: unknown, min: number, max: number): void {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return
  throw invalid(name, `it must be an integer from ${min} to ${max}, not ${String(value)}`)
}

export function invalid(field: string, reason: string): QueueError {
  return new QueueError('INVALID_PARAMETER', `Cannot use ${field} because ${reason}`, { field })
}

const withoutUndefined = (input: SettingsInput): Partial<Settings> =>
  Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))
