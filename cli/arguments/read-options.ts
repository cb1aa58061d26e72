import { parseArgs } from 'node:util'
import { nearest } from '../../local/terminal/nearest.ts'
import { wrongUsage } from '../failure.ts'
import { doing } from './doing.ts'
import { type Given, type Option, type OptionTable, usageOf } from './option-table.ts'

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
  const meant = isLong ? nearest(typed.slice(2), names) : undefined
  const hint = meant !== undefined ? `did you mean --${meant}?` : `see: pushpop help ${command}`
  const dashes = isLong ? '' : ' (a word that begins with - goes behind --)'
  return wrongUsage(
    `Cannot ${doing(command)} because there is no option ${typed}${dashes}; ${hint}`,
  )
}

const listed = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
