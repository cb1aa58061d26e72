// Checks for properties that no compiler has checked: plain JavaScript, or an app that is run without its types. Each
// says what is wrong and what to write instead. And what the values of a service may be, for the construct and for `cdk
// deploy -c`.

import { type Duration, Token } from 'aws-cdk-lib/core'
import { Construct } from 'constructs'
import {
  IDEMPOTENCY_TTL_SECONDS_MAX,
  IDEMPOTENCY_TTL_SECONDS_MIN,
  REMIND_AFTER_SECONDS_MAX,
  REMIND_AFTER_SECONDS_MIN,
} from '../../engine/core/limits.ts'
import { WAIT_MS_MAX } from '../../rate/core/bounds.ts'
import { ID_RULE, isQueueId } from '../../shared/bounds.ts'
import { nameMeant } from '../../shared/options.ts'

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
 * An object with these names, at the top (without a name) or within a property. At the top, others pass if they are
 * like none of these: the properties of a stack or of a subclass may come along.
 */
export const settings =
  <Props>(checks: Checks<Props>, needed: readonly (keyof Props)[] = []): Check =>
  (value, name) => {
    const names = Object.keys(checks)
    if (!isObject(value)) {
      return mustBe(name || 'props', `an object with ${names.join(', ')}`, value)
    }
    const unknown = Object.keys(value).find(
      (key) =>
        value[key] !== undefined &&
        !names.includes(key) &&
        (name !== '' || nameMeant(key, names) !== undefined),
    )
    if (unknown !== undefined) {
      const meant = nameMeant(unknown, names)
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

export const aTopic = must(
  "a topic, such as Topic.fromTopicArn(this, 'Operators', arn)",
  (value) => isObject(value) && 'topicArn' in value,
)

export type Bounds = { readonly min: number; readonly max: number }

/** What the numbers and times of a service may be. */
export const bounds = {
  /** A function that sweeps more often than a rule can come loops within its minute. */
  sweepEverySeconds: { min: 1, max: 60 },
  idempotencyTtlSeconds: { min: IDEMPOTENCY_TTL_SECONDS_MIN, max: IDEMPOTENCY_TTL_SECONDS_MAX },
  remindAfterSeconds: { min: REMIND_AFTER_SECONDS_MIN, max: REMIND_AFTER_SECONDS_MAX },
  rateHoldSeconds: { min: 0, max: WAIT_MS_MAX / 1_000 },
  itemAgeSeconds: { min: 1, max: 30 * 86_400 },
  /** EventBridge takes 0 as for ever, which nobody should get by mistake. */
  eventArchiveDays: { min: 1, max: 36_500 },
  /** They are all in one row, which has 2.5 KB then: three write units to take a seat, and as many to leave it. */
  waitingPops: { min: 0, max: 200 },
  /** The range that Lambda accepts as the concurrency of an SQS queue. */
  inboxConcurrency: { min: 2, max: 1_000 },
  /** More than any account has. */
  concurrency: { min: 1, max: 100_000 },
} as const satisfies Readonly<Record<string, Bounds>>

export const ISSUER_RULE = 'the https address of who issues the tokens'

export const isIssuer = (value: unknown): value is string =>
  typeof value === 'string' && (Token.isUnresolved(value) || /^https:\/\/[^/\s]+/.test(value))

export const ORIGIN_RULE =
  'an origin as a browser sends it, without a path, such as https://shop.example, or "https://*" or "*"'

/**
 * The gateway compares it with what a browser sends, letter for letter: with a path, a slash at its end or a capital
 * letter it would let nobody in. The gateway has no wildcard but these three.
 */
export function isOrigin(value: unknown): value is string {
  if (typeof value !== 'string') return false
  if (Token.isUnresolved(value) || ['*', 'https://*', 'http://*'].includes(value)) return true
  if (!/^https?:/.test(value)) return /^[a-z][a-z0-9+.-]*:\/\/[^/\s*?#]+$/.test(value)
  return !value.includes('*') && URL.canParse(value) && new URL(value).origin === value
}

const characters = /^[A-Za-z0-9._-]*$/

/** The queues that a consumer works. */
export const queueSelection: Check = (value, name) => {
  if (typeof value === 'string') return wrongId(value, name)
  if (Array.isArray(value)) {
    const wrong = value.map((id) => wrongId(id, name)).find((reason) => reason !== undefined)
    return value.length === 0 ? selectsNone(name) : wrong
  }
  if (!isObject(value)) {
    return mustBe(name, 'a queue id, a list of them, { prefix } or { pattern }', value)
  }
  const wrong = settings<{ prefix?: unknown; pattern?: unknown }>({ prefix, pattern })(value, name)
  if (wrong !== undefined) return wrong
  const given = [value.prefix, value.pattern].filter((one) => one !== undefined)
  if (given.length === 0) return selectsNone(name)
  return given.length === 1
    ? undefined
    : `\`${name}\` has a prefix and a pattern: write one of them`
}

const selectsNone = (name: string): string =>
  `\`${name}\` selects none: write the ids of queues, or how they begin`

const wrongId = (id: unknown, name: string): string | undefined => {
  if (isQueueId(id)) return undefined
  const start = beforeStar(id)
  const instead =
    start === undefined ? `an id is ${ID_RULE}` : `write { prefix: ${JSON.stringify(start)} }`
  return `\`${name}\` has ${JSON.stringify(id)}, which is not a queue id: ${instead}`
}

const prefix: Check = (value, name) => {
  if (value === '') return selectsNone('queues')
  // An id may begin with what only the deployment knows.
  if (typeof value === 'string' && (Token.isUnresolved(value) || characters.test(value))) {
    return undefined
  }
  const start = beforeStar(value)
  if (start !== undefined) {
    return `\`${name}\` is ${JSON.stringify(value)}, and no queue id has a "*": write ${JSON.stringify(start)}`
  }
  const wanted = 'the beginning of queue ids, in the characters A-Z a-z 0-9 . _ -'
  const instead = /^[A-Za-z0-9._*-]+$/.test(String(value))
    ? `: write { pattern: [{ wildcard: ${JSON.stringify(value)} }] }`
    : ''
  return mustBe(name, wanted, value) + instead
}

/** Only what EventBridge compares with a whole id, or with its beginning, can be seen to match nothing. */
const pattern: Check = (value, name) => {
  if (Token.isUnresolved(value)) return undefined
  if (!Array.isArray(value)) return mustBe(name, 'a list of matchers', value)
  if (value.length === 0) return selectsNone('queues')
  return value
    .map((matcher: unknown, at) => {
      if (Token.isUnresolved(matcher)) return undefined
      if (typeof matcher === 'string') return wrongId(matcher, name)
      const start = isObject(matcher) ? matcher.prefix : undefined
      return typeof start === 'string' && start !== ''
        ? prefix(start, `${name}[${at}].prefix`)
        : undefined
    })
    .find((reason) => reason !== undefined)
}

/** `device.` of `device.*` */
const beforeStar = (value: unknown): string | undefined =>
  typeof value === 'string' ? /^([A-Za-z0-9._-]+)\*+$/.exec(value)?.[1] : undefined

/** Says why a grant for these queues or keys would allow nothing; undefined if it may allow something. */
export function grantsNothing(ids: unknown, what: 'queue' | 'key'): string | undefined {
  if (!Array.isArray(ids)) {
    const instead = typeof ids === 'string' ? ids : `${what}-1`
    return `${mustBe(`${what}s`, 'a list', ids)}: write [${JSON.stringify(instead)}]`
  }
  if (ids.length === 0) return `\`${what}s\` is empty: leave it out to grant all of them`
  const wrong = ids.find((id) => !canBeGranted(id))
  if (wrong === undefined) return undefined
  return `no ${what} can be ${JSON.stringify(wrong)}: write ${ID_RULE}, and "*" for any others`
}

/** What only the deployment or IAM knows (`${aws:PrincipalTag/tenant}`) may be anything. */
function canBeGranted(id: unknown): boolean {
  if (typeof id !== 'string') return false
  if (Token.isUnresolved(id) || id.includes('${')) return true
  return /[*?]/.test(id) ? /^[A-Za-z0-9._*?-]+$/.test(id) : isQueueId(id)
}
