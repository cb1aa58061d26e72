/** Options as data: from one table we read them, print the help, and guess what a slip meant. */

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
