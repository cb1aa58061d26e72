// The settings of a queue as options, from their one table.

import {
  type ConfigurationName,
  configurationFields,
  configurationNames,
} from '../../engine/core/settings.ts'
import { guardNames, settingFields } from '../../rate/core/settings.ts'
import { snakeCase } from '../../shared/wire.ts'
import {
  choice,
  integer,
  integerOrNone,
  type OptionTable,
  text,
} from '../arguments/option-table.ts'
import { wrongUsage } from '../failure.ts'

const help: Readonly<Record<ConfigurationName, string>> = {
  segmentSize: 'items a segment, of lanes made from now on',
  bufferSegments: 'segments kept near the head before others go to S3',
  maxDeliveries: 'an item that comes back this often is dead-lettered',
  capacity: 'items that the queue may hold',
  itemTtlSeconds: 'no pop returns an item this long after its push',
  expired: 'what becomes of items that expire',
  pushLimit: 'how many calls a second may push; more: max_requests=10,window_millis=60000',
  popLimit: 'how many calls a second may pop, likewise',
}

const optionOf = (name: ConfigurationName): string => snakeCase(name).replaceAll('_', '-')

export const configurationOptions: OptionTable = Object.fromEntries(
  configurationNames.map((name) => {
    const field = configurationFields[name]
    if (field.kind === 'limit') return [optionOf(name), text('LIMIT|none', help[name])]
    if (field.kind === 'choice') {
      return [optionOf(name), choice([...field.of, 'none'], help[name])]
    }
    const option = field.removable ? integerOrNone : integer
    return [optionOf(name), option('N', 1, field.max, help[name])]
  }),
)

/** The given settings, as a change; `null` removes a setting. */
export const changeIn = (given: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    configurationNames.flatMap((name) => {
      const option = optionOf(name)
      const value = given[option]
      if (value === undefined) return []
      const { kind } = configurationFields[name]
      if (kind === 'limit') return [[name, limitOf(option, String(value))]]
      return [[name, value === 'none' ? null : value]]
    }),
  )

/** `10`, `max_requests=10,window_millis=60000,algorithm=smooth,burst=2` or `none`. */
function limitOf(option: string, value: string): Record<string, unknown> | null {
  if (value === 'none') return null
  const parts = /^\d+$/.test(value) ? [`max_requests=${value}`] : value.split(',')
  return Object.fromEntries(
    parts.map((part) => {
      const [written = '', setting = ''] = part.split('=')
      const name = guardNames.find((one) => snakeCase(one) === written)
      if (name === undefined || setting === '') throw noLimit(option, part)
      const field = settingFields[name]
      if (field.kind === 'choice') return [name, setting]
      if (!/^\d{1,15}$/.test(setting)) throw noLimit(option, part)
      return [name, Number(setting)]
    }),
  )
}

const noLimit = (option: string, part: string) =>
  wrongUsage(
    `Cannot use config because --${option} must be a number of calls a second, none, or some of ` +
      `${guardNames.map((name) => `${snakeCase(name)}=…`).join(',')}, not ${JSON.stringify(part)}`,
  )
