// Hides how words, options, ids and times are written on a command line. Whatever is wrong is refused here, with a
// sentence that says what was typed and what to write instead, before anything is sent.

import { parseArgs } from 'node:util'
import { parseItemId } from '../engine/core/keys.ts'
import { parseScheduledId } from '../engine/core/later.ts'
import { ID_RULE, isQueueId } from '../shared/bounds.ts'
import { whyNot } from '../shared/errors.ts'
import { nameMeant } from '../shared/options.ts'
import {
  type Given,
  type Option,
  type OptionTable,
  text,
  usageOf,
  type WordSpec,
} from './command.ts'
import { wrongUsage } from './failure.ts'

type ReadOptions<T extends OptionTable> = {
  readonly given: Given<T>
  readonly words: readonly string[]
}

/**
 * Options and words. parseArgs splits the line; what it would say about a mistake names neither the
 * nearest option nor the range, so the checks are here.
 */
export function readOptions<T extends OptionTable>(
  command: string,
  args: readonly string[],
  table: T,
): ReadOptions<T> {
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(
      Object.entries(table).map(([name, { kind }]) => [
        name,
        { type: kind === 'flag' ? ('boolean' as const) : ('string' as const) },
      ]),
    ),
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const given: Record<string, unknown> = {}
  const words: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value)
    if (token.kind !== 'option') continue
    const option = Object.hasOwn(table, token.name) ? table[token.name] : undefined
    if (option === undefined) throw unknownOption(command, token.rawName, Object.keys(table))
    given[token.name] = checkedValue(command, token, option)
  }
  return { given: given as Given<T>, words }
}

type OptionToken = { name: string; value?: string | undefined; inlineValue?: boolean | undefined }

function checkedValue(command: string, { name, value, inlineValue }: OptionToken, option: Option) {
  const wrong = (reason: string) => wrongUsage(`Cannot ${doing(command)} because ${reason}`)
  if (option.kind === 'flag') {
    if (value !== undefined) throw wrong(`--${name} takes no value`)
    return true
  }
  // `--file --text`: parseArgs would take the next option for the value.
  const isNextOption = !inlineValue && value?.startsWith('--')
  if (value === undefined || value === '' || isNextOption) {
    throw wrong(`--${name} needs a value: ${usageOf(name, option)}`)
  }
  if (option.kind === 'integer') {
    const { min, max, orNone } = option
    if (orNone && value === 'none') return null
    const number = /^-?\d{1,15}$/.test(value) ? Number(value) : Number.NaN
    if (number >= min && number <= max) return number
    const wanted = `an integer from ${min} to ${max}${orNone ? ', or none' : ''}`
    throw wrong(`--${name} must be ${wanted}, not ${JSON.stringify(value)}`)
  }
  if (option.kind === 'duration') {
    const { min, max } = option
    const seconds = secondsOf(value)
    if (seconds >= min && seconds <= max) return seconds
    const wanted = `${min} to ${max} seconds, or a time such as 15m, 2h or 7d`
    throw wrong(`--${name} must be ${wanted}, not ${JSON.stringify(value)}`)
  }
  if (option.kind === 'choice' && !option.of.includes(value)) {
    throw wrong(`--${name} must be ${listed(option.of)}, not ${JSON.stringify(value)}`)
  }
  return value
}

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }

function secondsOf(value: string): number {
  const [, digits, unit = 's'] = /^(\d{1,9})([smhd])?$/.exec(value) ?? []
  return Number(digits) * (unitSeconds[unit] as number)
}

function unknownOption(command: string, typed: string, names: readonly string[]) {
  const isLong = typed.startsWith('--')
  const meant = isLong ? nameMeant(typed.slice(2), names) : undefined
  const hint = meant !== undefined ? `did you mean --${meant}?` : `see: pushpop help ${command}`
  const dashes = isLong ? '' : ' (a word that begins with - goes behind --)'
  return wrongUsage(
    `Cannot ${doing(command)} because there is no option ${typed}${dashes}; ${hint}`,
  )
}

const listed = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`

/** Commands whose names say what they are about, not what they do. */
const nouns = /^(.*config|doctor|rate|rate-.*|scheduled|schedules|stats)$/

/** The command as a verb for a sentence: `push`, `use schedules`. */
const doing = (command: string): string => (nouns.test(command) ? `use ${command}` : command)

/** Checks count and form; words that were not given are absent. */
export function readWords(
  command: string,
  words: readonly string[],
  specs: readonly WordSpec[],
): readonly string[] {
  const needed = specs.filter(({ optional }) => !optional)
  const missing = needed[words.length]
  if (missing !== undefined) {
    throw wrongUsage(
      `Cannot ${doing(command)} because ${missing.name} is missing; see: pushpop help ${command}`,
    )
  }
  for (const [index, word] of words.entries()) {
    const spec = specs[index] ?? (specs.at(-1)?.many ? specs.at(-1) : undefined)
    if (spec === undefined) {
      throw wrongUsage(
        `Cannot ${doing(command)} because ${JSON.stringify(word)} is one word too many; ` +
          `see: pushpop help ${command}`,
      )
    }
    if (spec.kind === 'item') checkItemId(command, word)
    else if (spec.kind !== 'text') checkId(command, word, spec.kind)
  }
  return words
}

/** A rate limit's key is spelled like a queue id. */
function checkId(command: string, word: string, kind: 'queue' | 'key'): void {
  if (isQueueId(word)) return
  const what = kind === 'queue' ? 'not a queue id' : "not a rate limit's key"
  throw wrongUsage(
    `Cannot ${doing(command)} because ${JSON.stringify(word)} is ${what}: that is ${ID_RULE}${whyNot(word)}`,
  )
}

function checkItemId(command: string, word: string): void {
  if (parseItemId(word) !== undefined || parseScheduledId(word) !== undefined) return
  throw wrongUsage(
    `Cannot ${doing(command)} because ${JSON.stringify(word)} is not an item's id; ` +
      'peek and scheduled show the ids of items',
  )
}

/** For commands that work on one queue, or with `--prefix` on many. */
export const queueOrPrefix = {
  name: 'QUEUE',
  kind: 'queue',
  optional: true,
} as const satisfies WordSpec

type OneOf = { readonly kind: 'queue' | 'prefix'; readonly name: string }

export function oneOf(
  command: string,
  words: readonly string[],
  prefix: string | undefined,
): OneOf {
  const [queue] = words
  if (queue !== undefined && prefix !== undefined) {
    throw wrongUsage(`Cannot ${command} because a queue and --prefix contradict each other`)
  }
  if (prefix !== undefined) return { kind: 'prefix', name: prefix }
  if (queue !== undefined) return { kind: 'queue', name: queue }
  throw wrongUsage(
    `Cannot ${command} because QUEUE or --prefix is missing; see: pushpop help ${command}`,
  )
}

/** Items by their ids, with commas between them. */
export const idsOption = (help: string) => text('A,B', help)

export const idsGiven = (given: string | undefined): string[] | undefined =>
  given?.split(',').filter((id) => id !== '')

/** The most ids, of items or of locks, that one call of the API takes. */
const IDS_PER_CALL = 100

/** The answers to all ids, a hundred at a time, in their order. */
export async function byHundreds<T>(
  ids: readonly string[],
  call: (some: readonly string[]) => Promise<readonly T[]>,
): Promise<T[]> {
  const results: T[] = []
  for (let at = 0; at < ids.length; at += IDS_PER_CALL) {
    results.push(...(await call(ids.slice(at, at + IDS_PER_CALL))))
  }
  return results
}

const timeForm = /^(\d{4})-(\d\d-\d\dT\d\d:\d\d)(:\d\d(?:\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)?$/

/** The service takes a time from before 1974 or after 5137 for one in another unit. */
const YEAR_MIN = 2000
const YEAR_MAX = 5000

/**
 * A time as people write it, such as 2027-01-01T09:00Z. It must name its zone: the machine's zone is not the same for
 * the one who writes a script and for the one who runs it.
 */
export function msIn(what: string, option: string, time: string | undefined): number | undefined {
  if (time === undefined) return undefined
  const refused = (why: string, hint: string) =>
    wrongUsage(`Cannot ${what} because --${option} ${why}: ${JSON.stringify(time)}; ${hint}`)
  const match = timeForm.exec(time)
  if (match === null) throw refused('is no time', 'write it as 2027-01-01T09:00Z')
  const [, year, dayAndTime, seconds = '', zone] = match
  if (zone === undefined) {
    throw refused('has no time zone', 'write Z behind it for UTC, or an offset such as +02:00')
  }
  const written = `${year}-${dayAndTime}${seconds}`
  const ms = Date.parse(written + zone)
  if (Number.isNaN(ms) || !isOnCalendar(written)) {
    throw refused('is on no calendar or clock', 'write it as 2027-01-01T09:00Z')
  }
  if (Number(year) < YEAR_MIN || Number(year) > YEAR_MAX) {
    throw refused('is too far away', `give a time from ${YEAR_MIN} to ${YEAR_MAX}`)
  }
  return ms
}

/** JavaScript takes 30 February for 2 March, and 24:00 for the next day. */
function isOnCalendar(written: string): boolean {
  const ms = Date.parse(`${written}Z`)
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(written)
}
