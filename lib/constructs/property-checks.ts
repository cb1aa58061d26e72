// Checks for properties that no compiler has checked: plain JavaScript, or an app that is run without its types.

import { type Duration, Token } from 'aws-cdk-lib/core'
import { Construct } from 'constructs'
import { nameMeant } from '../../shared/options.ts'
import type { Bounds } from './bounds.ts'

/** Says what is wrong with the value of a property, and what to write; undefined if nothing is. */
export type Check = (value: unknown, name: string) => string | undefined

/** One for each property: TypeScript asks for that of a new property. */
export type Checks<Props> = { readonly [Name in keyof Props]-?: Check }

/** Throws unless these are the properties of such a thing: `service "Orders"`. */
export function checkProperties<Props>(
  what: string,
  props: unknown,
  checks: Checks<Props>,
  needed?: readonly (keyof Props)[],
): void {
  const reason = settings(checks, needed)(props, '')
  if (reason !== undefined) throw new Error(`Cannot make the ${what} because ${reason}`)
}

/**
 * An object with these names, at the top (without a name) or within a property. At the top, others pass if they are like
 * none of these: the properties of a stack or of a subclass may come along.
 */
export const settings =
  <Props>(checks: Checks<Props>, needed: readonly (keyof Props)[] = []): Check =>
  (value, name) => {
    const names = Object.keys(checks)
    if (!isObject(value)) {
      return mustBe(name || 'props', `an object with ${names.join(', ')}`, value)
    }
    const meantBy = (key: string) => nameMeant(key, names) ?? onlyLonger(key, names)
    const unknown = Object.keys(value).find(
      (key) =>
        value[key] !== undefined &&
        !names.includes(key) &&
        (name !== '' || meantBy(key) !== undefined),
    )
    if (unknown !== undefined) {
      const meant = meantBy(unknown)
      const instead = meant === undefined ? `there are ${names.join(', ')}` : `write \`${meant}\``
      const whose = name === '' ? 'it' : `\`${name}\``
      return `${whose} has no property ${JSON.stringify(unknown)}: ${instead}`
    }
    for (const [key, check] of Object.entries<Check>(checks)) {
      const given = value[key]
      if (given === undefined && !needed.includes(key as keyof Props)) continue
      const reason = check(given, name === '' ? key : `${name}.${key}`)
      if (reason !== undefined) return reason
    }
    return undefined
  }

/** `auth` and `every` are cut short, if only one name begins so. */
function onlyLonger(given: string, names: readonly string[]): string | undefined {
  const longer = names.filter((name) => name.startsWith(given))
  return longer.length === 1 ? longer[0] : undefined
}

/** For a property that another check looks at, or that needs none. */
export const anything: Check = () => undefined

export const must =
  (wanted: string, fits: (value: unknown) => boolean): Check =>
  (value, name) =>
    fits(value) ? undefined : mustBe(name, wanted, value)

export const yesOrNo = must('true or false', (value) => typeof value === 'boolean')

export const text = must('a text', (value) => typeof value === 'string')

export const integer = ({ min, max }: Bounds): Check =>
  must(`an integer from ${min} to ${max}`, (value) => isWithin(value, min, max, true))

export const oneOf = (known: readonly (string | number)[]): Check =>
  must(`one of ${known.join(', ')}`, (value) => known.some((one) => one === value))

export const listOf =
  (each: Check): Check =>
  (value, name) => {
    if (!Array.isArray(value)) return mustBe(name, 'a list', value)
    // The list of a parameter: nothing can be said of what is in it.
    if (Token.isUnresolved(value)) return undefined
    return value
      .map((one: unknown, at) => each(one, `${name}[${at}]`))
      .find((reason) => reason !== undefined)
  }

type DurationOptions = {
  readonly unit?: 'seconds' | 'days'
  /** Default: true, because most go to a function or to AWS as whole numbers. */
  readonly isWhole?: boolean
}

export const duration =
  ({ min, max }: Bounds, { unit = 'seconds', isWhole = true }: DurationOptions = {}): Check =>
  (value, name) => {
    if (!isDuration(value)) {
      const example = typeof value === 'number' ? value : min
      return `${mustBe(name, 'a Duration', value)}: write Duration.${unit}(${example})`
    }
    if (value.isUnresolved()) return `\`${name}\` must be known when the app is run`
    const exactly = { integral: false }
    const amount = unit === 'days' ? value.toDays(exactly) : value.toSeconds(exactly)
    if (isWithin(amount, min, max, isWhole)) return undefined
    return `\`${name}\` must be ${min} to ${max} ${isWhole ? 'whole ' : ''}${unit}, and is ${amount}`
  }

/** By what it has rather than by its class: an app may have this package twice. */
export const aService: Check = must(
  'a PushPop',
  (value) => Construct.isConstruct(value) && 'storage' in value && 'roomForSchedules' in value,
)

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const mustBe = (name: string, wanted: string, value: unknown): string =>
  `\`${name}\` must be ${wanted}, and is ${shown(value)}`

/** There may be two copies of the CDK, so this does not ask for the class either. */
const isDuration = (value: unknown): value is Duration =>
  isObject(value) && typeof value.toSeconds === 'function'

const isWithin = (value: unknown, min: number, max: number, isWhole: boolean): boolean =>
  typeof value === 'number' && min <= value && value <= max && (!isWhole || Number.isInteger(value))

function shown(value: unknown): string {
  if (value === undefined) return 'not set'
  if (typeof value === 'string') return JSON.stringify(value)
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'function') return 'a function'
  if (!isObject(value)) return String(value)
  const { name } = value.constructor ?? Object
  if (name === 'Object') return 'an object'
  return `${/^[AEIOU]/.test(name) ? 'an' : 'a'} ${name}`
}
