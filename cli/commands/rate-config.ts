// `rate-config` and `rate-state`: how a rate limit is set, and how it stands. The options follow from the limiter's
// table of settings; here are only the words for them.

import { type SettingName, settingFields } from '../../rate/core/settings.ts'
import { snakeCased } from '../../shared/wire.ts'
import { choice, command, flag, integer, keyWord, type Option } from '../command.ts'
import { type ExitCode, exitCodes, wrongUsage } from '../failure.ts'
import { withRates } from '../target/open.ts'
import { NOT_ITS_OWN } from '../target/target.ts'
import { printTable } from '../terminal.ts'
import { type Column, grouped, isoTime, settingLines } from '../text.ts'

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
const settingOptions = Object.fromEntries(
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

export const rateConfig = command({
  name: 'rate-config',
  summary: "Shows, sets or removes a rate limit's own configuration",
  words: [keyWord, { name: 'show|set|remove', kind: 'text', optional: true }],
  options: settingOptions,
  notes: [
    'set replaces all of it: what you do not name has its default. After remove, the limit of its\n' +
      'prefix applies again, or the default. A turn that was promised never changes.',
  ],
  examples: [
    'pushpop rate-config partner-api',
    'pushpop rate-config partner-api set --max-requests 10 --window 1000 --algorithm smooth',
    'pushpop rate-config partner-api remove',
  ],
  async run({ given, words, io, isJson, print, tell }) {
    const [key = '', verb = 'show'] = words
    const settings = snakeCased(settingsIn(given))
    const isNamed = Object.keys(settings).length > 0
    if (verb !== 'show' && verb !== 'set' && verb !== 'remove') {
      throw wrongUsage(
        `Cannot use rate-config because ${JSON.stringify(verb)} is none of show, set and remove`,
      )
    }
    if (verb === 'set' && !isNamed) {
      throw wrongUsage(
        'Cannot change the configuration because set needs a setting, such as --max-requests N',
      )
    }
    if (verb !== 'set' && isNamed) {
      throw wrongUsage(`Cannot use the settings because settings go with set, not with ${verb}`)
    }
    const { body, text, etag } = await withRates({ given, io }, (rates) => {
      if (verb === 'set') return rates.configure(key, settings)
      return verb === 'remove' ? rates.unconfigure(key) : rates.configuration(key)
    })
    if (isJson) await print(text)
    else {
      for (const line of settingLines(body)) await print(line)
      if (verb === 'set') tell(`Configured ${key}.`)
      if (etag === NOT_ITS_OWN) tell(`${key} has no configuration of its own; this applies.`)
    }
    return exitCodes.done
  },
})

const columns: readonly Column[] = [
  { title: 'SHARD', align: 'right' },
  { title: 'LIMIT', align: 'right' },
  { title: 'REMAINING', align: 'right' },
  { title: 'WAITING', align: 'right' },
  { title: 'WINDOW ENDS' },
  { title: 'LAST TURN' },
]

export const rateState = command({
  name: 'rate-state',
  summary: 'Shows how a rate limit stands, and changes nothing',
  words: [keyWord],
  options: {},
  notes: ['WAITING are places promised for windows to come.'],
  examples: ['pushpop rate-state partner-api'],
  async run(context): Promise<ExitCode> {
    const { given, words, io, isJson, print } = context
    const [key = ''] = words
    const { body, text } = await withRates({ given, io }, (rates) => rates.state(key))
    if (isJson) {
      await print(text)
      return exitCodes.done
    }
    const rows = body.shards.map((shard) => [
      String(shard.shard),
      grouped(shard.limit),
      grouped(shard.remaining),
      grouped(shard.waiting),
      isoTime(shard.window.end),
      shard.last_turn === null ? '' : isoTime(shard.last_turn),
    ])
    for (const line of settingLines({ ...body.configuration, from: body.from })) await print(line)
    await print('')
    await printTable(context, columns, rows)
    return exitCodes.done
  },
})
