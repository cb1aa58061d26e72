import {
  IN_LINE_MAX,
  MAX_REQUESTS_MAX,
  SHARDS_MAX,
  WINDOW_MS_MAX,
  WINDOW_MS_MIN,
} from './bounds.ts'

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
