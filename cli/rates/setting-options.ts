import { type SettingName, settingFields } from '../../rate/core/settings.ts'
import { choice, flag, integer, type Option } from '../arguments/option-table.ts'

type Words = { readonly option: string; readonly value?: string; readonly help: string }

const { maxRequests, maxRequestsInQueue, windowMillis, burst, shards } = settingFields

/** How the command line calls each setting; the rest is in the table of settings. */
const words = {
  maxRequests: {
    option: 'max-requests',
    help: `how many requests a window; ${maxRequests.standard} is the default`,
  },
  maxRequestsInQueue: {
    option: 'max-in-line',
    help: `how many may wait for windows to come; ${maxRequestsInQueue.standard} is the default`,
  },
  windowMillis: {
    option: 'window',
    value: 'MS',
    help: `how long a window is; ${windowMillis.standard} is the default`,
  },
  algorithm: {
    option: 'algorithm',
    help: 'window is the default; smooth spreads requests evenly over it',
  },
  burst: {
    option: 'burst',
    help: `of smooth: how many may go at once after a rest; ${burst.standard} is the default`,
  },
  shards: {
    option: 'shards',
    help: `rows that a hot key is split into, up to ${shards.max}; each has its own order`,
  },
  allowOverrides: {
    option: 'allow-overrides',
    help: 'a request may ask for another limit than this',
  },
} as const satisfies Readonly<Record<SettingName, Words>>

const names = Object.keys(words) as readonly SettingName[]

function optionOf(name: SettingName): Option {
  const field = settingFields[name]
  const { value = 'N', help }: Words = words[name]
  switch (field.kind) {
    case 'integer':
      return integer(value, field.min, field.max, help)
    case 'choice':
      return choice(field.of, help)
    case 'flag':
      return flag(help)
    default:
      return field satisfies never
  }
}

type Options = { readonly [N in SettingName as (typeof words)[N]['option']]: Option }

/** Every setting as an option: what a key is configured with. */
export const settingOptions = Object.fromEntries(
  names.map((name) => [words[name].option, optionOf(name)]),
) as Options

/** The limit that a request may ask for. */
export const limitOptions = {
  'max-requests': settingOptions['max-requests'],
  'max-in-line': settingOptions['max-in-line'],
  window: settingOptions.window,
}

/** The given settings, by name. */
export const settingsIn = (given: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    names
      .map((name) => [name, given[words[name].option]])
      .filter(([, value]) => value !== undefined),
  )
