// What a command is, as data: its words, its options and its run. From one table the options are read, the help is
// printed, and a slip is guessed at.

import type { Readable, Writable } from 'node:stream'
import type { Paint } from '../local/terminal/terminal.ts'
import type { ExitCode } from './failure.ts'
import type { Target } from './target/target.ts'

type Described = { readonly help: string }
type FlagOption = Described & { readonly kind: 'flag' }
type TextOption = Described & { readonly kind: 'text'; readonly value: string }
type IntegerOption = Described & {
  readonly kind: 'integer'
  readonly value: string
  readonly min: number
  readonly max: number
  /** `none` removes it. */
  readonly orNone?: true
}
/** In seconds, or with a unit: `90`, `90s`, `15m`, `2h`, `7d`. The parsed value is in seconds. */
type DurationOption = Omit<IntegerOption, 'kind' | 'orNone'> & { readonly kind: 'duration' }
type ChoiceOption = Described & { readonly kind: 'choice'; readonly of: readonly string[] }

export type Option = FlagOption | TextOption | IntegerOption | DurationOption | ChoiceOption
export type OptionTable = Readonly<Record<string, Option>>

type ValueOf<O extends Option> = O extends FlagOption
  ? true
  : O extends IntegerOption
    ? number | (O extends { readonly orNone: true } ? null : never)
    : O extends DurationOption
      ? number
      : O extends ChoiceOption
        ? O['of'][number]
        : string

export const flag = (help: string): FlagOption => ({ kind: 'flag', help })
export const text = (value: string, help: string): TextOption => ({ kind: 'text', value, help })
export const integer = (value: string, min: number, max: number, help: string): IntegerOption => ({
  kind: 'integer',
  value,
  min,
  max,
  help,
})
export const duration = (min: number, max: number, help: string): DurationOption => ({
  kind: 'duration',
  value: 'T',
  min,
  max,
  help,
})
export const integerOrNone = (value: string, min: number, max: number, help: string) =>
  ({ ...integer(value, min, max, help), orNone: true }) as const
export const choice = <const C extends readonly string[]>(of: C, help: string) =>
  ({ kind: 'choice', of, help }) as const

/** The given options; those not given are absent. */
export type Given<T extends OptionTable> = { readonly [K in keyof T]?: ValueOf<T[K]> }

/** `--priority N` */
export function usageOf(name: string, option: Option): string {
  switch (option.kind) {
    case 'flag':
      return `--${name}`
    case 'choice':
      return `--${name} ${option.of.join('|')}`
    case 'text':
    case 'duration':
      return `--${name} ${option.value}`
    case 'integer':
      return `--${name} ${option.value}${option.orNone ? '|none' : ''}`
    default:
      return option satisfies never
  }
}

export const ENDPOINT_STANDARD = 'http://localhost:8000'

/** Where the queues are. Every command that talks to queues takes these. */
export const targetOptions = {
  endpoint: text('URL', `the HTTP API (PUSHPOP_ENDPOINT, else ${ENDPOINT_STANDARD})`),
  auth: choice(
    ['iam', 'token', 'none'],
    'iam signs with your AWS credentials, token sends PUSHPOP_TOKEN; none on this machine',
  ),
  table: text('T', 'the table itself, without the API (PUSHPOP_TABLE)'),
  bucket: text('B', 'with --table: its bucket (PUSHPOP_BUCKET)'),
  profile: text('P', 'an AWS profile (AWS_PROFILE)'),
  region: text('R', 'an AWS region (AWS_REGION)'),
  json: flag('JSON on stdout and nothing else there'),
  help: flag('print this'),
} as const satisfies OptionTable

export type TargetOptions = typeof targetOptions

export type Terminal = Writable & {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
}

/** What a run is connected to: the process's own streams, or a test's. */
export type Io = {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Terminal
  readonly stderr: Terminal
  readonly env: Readonly<Record<string, string | undefined>>
  /** The first Ctrl-C: finish what is going on and leave nothing behind. */
  readonly interrupt: AbortSignal
  /** What the person typed for `pushpop`; hints repeat it. */
  readonly program: string
}

/** What a command works with, beside its own arguments. */
export type Context<T extends OptionTable> = {
  readonly given: Given<T> & Given<TargetOptions>
  readonly words: readonly string[]
  readonly io: Io
  readonly isJson: boolean
  readonly interrupt: AbortSignal
  /** Prints a line of the result. Resolves when the system has it, rejects if nobody reads it. */
  print(line: string): Promise<void>
  /** A line for a person, to stderr. */
  tell(line: string): void
  /** Colours of stderr, and of stdout. */
  readonly paint: Paint
  readonly paintOut: Paint
  /** Opened when first asked for, closed when the command ends. */
  target(): Promise<Target>
}

export type Command<T extends OptionTable = OptionTable> = {
  readonly name: string
  readonly summary: string
  readonly words: readonly WordSpec[]
  readonly options: T
  /** What to know before using it, a paragraph each. */
  readonly notes?: readonly string[]
  readonly examples: readonly string[]
  run(context: Context<T>): Promise<ExitCode>
}

/** Keeps the type of the options, so that `given` is typed by them. */
export const command = <const T extends OptionTable>(it: Command<T>): Command<T> => it

/** Words of a command line: `QUEUE`, `[ITEM…]`. */
export type WordSpec = {
  readonly name: string
  readonly kind: 'queue' | 'key' | 'item' | 'text'
  readonly optional?: true
  readonly many?: true
}

export const queueWord = { name: 'QUEUE', kind: 'queue' } as const satisfies WordSpec

export const itemWords = { name: 'ID', kind: 'item', many: true } as const satisfies WordSpec

export const keyWord = { name: 'KEY', kind: 'key' } as const satisfies WordSpec

export const usageOfWord = ({ name, optional, many }: WordSpec): string => {
  const shown = many ? `${name}…` : name
  return optional ? `[${shown}]` : shown
}
