// How we refuse options that nobody knows, for callers whom no compiler checks. The error says which name was probably
// meant, and never a value. The client bundles this file too, so it imports nothing.

/** A name from an environment variable that is not set is `undefined`, or ''. */
export function needed(maker: string, option: string, value: string | undefined): string {
  if (typeof value === 'string' && value !== '') return value
  const what = option.replace('Name', '')
  throw new TypeError(
    `${maker} needs ${option}: the name of PushPop's ${what}, which the stack's outputs tell`,
  )
}

/** The options of a call by name. TypeScript checks that none is missing; the values mean nothing. */
export type Names<Options> = Readonly<Record<keyof Options, 0>>

/** Whether two unions have the same members: with it, a table and a type that disagree are a type error. */
export type Same<One, Other> = [One] extends [Other]
  ? [Other] extends [One]
    ? true
    : false
  : false

type Known = Readonly<Record<string, 0>>

/** Throws if these are no options at all, such as a number, or if one of them has an unknown name. */
export function checkOptions(options: unknown, names: Known, within?: string): void {
  if (options !== undefined) checkFields(options, names, within)
}

/** The same where absent is wrong, too. A number or a text has no fields, so we would take it for no options. */
export function checkFields(
  value: unknown,
  names: Known | undefined,
  within: string | undefined,
  lead = `${within ?? 'The options'} must be`,
): void {
  checkIs('an object', value, lead, names && ` with ${Object.keys(names).join(', ')}`)
  if (names !== undefined) refuseUnknown(value as object, names, within)
}

/** The error does not tell the value: somebody may have given the id of a lock. */
export function checkIs(is: string, value: unknown, lead: string, more = ''): void {
  const got = kindOf(value)
  if (got !== is) throw new TypeError(`${lead} ${is}${more}, and got ${got}`)
}

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return String(value)
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/**
 * Throws if a name is not one of these. In JavaScript, or with a spread object, no compiler complains, and an option
 * that we ignored may be the one that keeps items safe: a pop without `requireAck` is final.
 */
export function refuseUnknown(
  options: object,
  names: Known,
  /** The option that these are inside of. */
  within?: string,
): void {
  const given = options as Readonly<Record<string, unknown>>
  const unknown = Object.keys(given).find(
    (name) => given[name] !== undefined && !Object.hasOwn(names, name),
  )
  if (unknown === undefined) return
  const known = Object.keys(names)
  const meant = nameMeant(unknown, known)
  const instead = meant
    ? `it is ${meant}`
    : known.length === 1
      ? `there is only ${known[0]}`
      : `there are ${known.join(', ')}`
  const where = within === undefined ? '' : ` in ${within}`
  throw new TypeError(`Unknown option ${JSON.stringify(unknown)}${where}: ${instead}`)
}

/**
 * The known name that was probably meant by this one: mistyped, or cut short. `ack` may be the end of one name and the
 * beginning of another; then nobody knows.
 */
export function nameMeant(given: string, known: readonly string[]): string | undefined {
  const [near] = known
    .map((name) => ({ name, unlike: lettersApart(given, name) }))
    .filter(({ name, unlike }) => unlike <= name.length / 3 && beginsAlike(given, name))
    .sort((one, other) => one.unlike - other.unlike)
  const [longer, ...others] = known.filter((name) =>
    name.toLowerCase().includes(given.toLowerCase()),
  )
  const isCutShort = others.length === 0 && longer?.startsWith(given)
  return near?.name ?? (isCutShort ? longer : undefined)
}

/** People seldom mistype the first letter; without this rule, `region` would be close to `linger`. */
const beginsAlike = (given: string, name: string): boolean =>
  given.charAt(0).toLowerCase() === name.charAt(0).toLowerCase()

/** How many letters only one of them has, in any order: enough to guess which of a few names the caller meant. */
function lettersApart(given: string, name: string): number {
  let left = name.toLowerCase()
  let apart = 0
  for (const letter of given.toLowerCase().replace(/[^a-z]/g, '')) {
    const rest = left.replace(letter, '')
    if (rest === left) apart += 1
    left = rest
  }
  return apart + left.length
}

/** What an argument of a verb must be, or a field of that argument. */
export type Rule = {
  readonly at: number
  readonly field?: string
  /** How an error calls it; without that, and without a field, by its verb. */
  readonly called?: string
  /** Instead of an object. */
  readonly is?: 'a list' | 'a function'
  /** The names that an object may have. A verb that checks them itself leaves them out. */
  readonly names?: Readonly<Record<string, 0>>
  /** Of a list: the names that each of its objects may have; or only that they are objects. */
  readonly each?: Readonly<Record<string, 0>> | 'an object'
  readonly isNeeded?: true
}
export type Requests<Verbs> = { readonly [Verb in keyof Verbs]?: readonly Rule[] }

/**
 * The same verbs, each of which rejects a request with a name that it does not know, or that is no object. It is for
 * callers outside of this project: our functions need no such check, because they are in TypeScript, and each has its
 * bundle's bar.
 */
export function refusingUnknown<Verbs extends object>(
  verbs: Verbs,
  requests: { readonly [verb: string]: readonly Rule[] | undefined },
): Verbs {
  type Verb = (...given: readonly unknown[]) => Promise<unknown>
  const checked: Record<string, Verb> = {}
  for (const [name, rules = []] of Object.entries(requests)) {
    const verb = (verbs as Record<string, Verb>)[name] as Verb
    checked[name] = async (...given) => {
      for (const rule of rules) check(name, rule, given)
      return verb(...given)
    }
  }
  return { ...verbs, ...checked }
}

function check(verb: string, rule: Rule, given: readonly unknown[]): void {
  const { at, field, called = field, is, names, each, isNeeded } = rule
  const argument = given[at]
  const value = field === undefined ? argument : (argument as Record<string, unknown>)?.[field]
  if (value === undefined && !isNeeded) return
  if (is === undefined) {
    checkFields(value, names, called, called === undefined ? `${verb} takes` : undefined)
    return
  }
  checkIs(is, value, `${called} of ${verb} must be`)
  if (each === undefined) return
  for (const [index, one] of (value as readonly unknown[]).entries()) {
    checkFields(one, each === 'an object' ? undefined : each, `${called}[${index}]`)
  }
}
