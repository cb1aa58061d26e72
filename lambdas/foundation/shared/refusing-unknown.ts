import { checkFields, checkIs } from './known-options.ts'

/** What an argument of a verb must be, or a field of that argument. */
type Rule = {
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
