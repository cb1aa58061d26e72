// `config`: a queue's own settings. Its options follow from the engine's table of settings.

import {
  type ConfigurationName,
  configurationFields,
  configurationNames,
} from '../../engine/core/settings.ts'
import { configurationBody } from '../../lambdas/http/bodies.ts'
import { guardNames, settingFields } from '../../rate/core/settings.ts'
import { snakeCase } from '../../shared/wire.ts'
import {
  choice,
  command,
  integer,
  integerOrNone,
  type OptionTable,
  queueWord,
  text,
} from '../command.ts'
import { exitCodes, wrongUsage } from '../failure.ts'
import { settingLines } from '../text.ts'

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

const configurationOptions: OptionTable = Object.fromEntries(
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
const changeIn = (given: Readonly<Record<string, unknown>>): Record<string, unknown> =>
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

export const config = command({
  name: 'config',
  summary: "Shows, changes or removes a queue's own settings",
  words: [queueWord, { name: 'get|set|remove', kind: 'text', optional: true }],
  options: {
    ...configurationOptions,
    'if-match': text('ETAG', 'with set and remove: only if they are still those of this etag'),
  },
  notes: [
    'get is the default. set changes what you name, and nothing else; none removes a setting. A\n' +
      'limit is replaced as a whole. What you set is kept even when the queue is empty. remove gives the\n' +
      'queue back to the settings of its prefix (pushpop queue-config), or the defaults.',
  ],
  examples: [
    'pushpop config orders',
    'pushpop config orders set --max-deliveries 5 --capacity 10000',
    'pushpop config orders set --push-limit max_requests=100,window_millis=60000 --if-match 3',
    'pushpop config orders set --max-deliveries none',
    'pushpop config orders remove',
  ],
  async run({ given, words, isJson, print, tell, target }) {
    const [queue = '', verb = 'get'] = words
    if (verb !== 'get' && verb !== 'set' && verb !== 'remove') {
      throw wrongUsage(
        `Cannot use config because ${JSON.stringify(verb)} is not get, set or remove`,
      )
    }
    const change = changeIn(given)
    const ifMatch = given['if-match']
    const isChange = Object.keys(change).length > 0
    if (verb === 'set' && !isChange) {
      throw wrongUsage('Cannot use config because set needs a setting, such as --max-deliveries 5')
    }
    if (verb !== 'set' && (isChange || (verb === 'get' && ifMatch !== undefined))) {
      throw wrongUsage(
        `Cannot use config because settings go with set: pushpop config ${queue} set …`,
      )
    }
    const queues = await target()
    const tag = ifMatch?.replaceAll('"', '')
    const { settings, etag } = await {
      get: () => queues.configuration(queue),
      set: () => queues.configure(queue, change, tag),
      remove: () => queues.unconfigure(queue, tag),
    }[verb]()
    const body = { ...configurationBody(settings), etag }
    if (isJson) await print(JSON.stringify(body))
    else for (const line of settingLines(body)) await print(line)
    if (!isJson && verb === 'set') tell(`Configured ${queue}.`)
    if (!isJson && verb === 'remove') tell(`${queue} has no settings of its own any more.`)
    return exitCodes.done
  },
})
