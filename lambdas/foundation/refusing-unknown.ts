import { checkOptions } from './shared/known-options.ts'

/** Of a verb: which argument holds its options, or which field of that argument, and the names they may have. */
type Request = {
  readonly at: number
  readonly field?: string
  readonly names: Readonly<Record<string, 0>>
}
export type Requests<Verbs> = { readonly [Verb in keyof Verbs]?: readonly Request[] }

/**
 * The same verbs, each of which rejects a request with a name that it does not know. It is for callers outside of
 * this project: our functions need no such check, because they are in TypeScript, and each has its bundle's bar.
 */
export function refusingUnknown<Verbs extends object>(
  verbs: Verbs,
  requests: Requests<Verbs>,
): Verbs {
  type Verb = (...given: readonly unknown[]) => Promise<unknown>
  const checked: Record<string, Verb> = {}
  const rows = requests as Readonly<Record<string, readonly Request[]>>
  for (const [name, places] of Object.entries(rows)) {
    const verb = (verbs as Record<string, Verb>)[name] as Verb
    checked[name] = async (...given) => {
      for (const { at, field, names } of places) {
        const request = given[at] as Readonly<Record<string, unknown>> | undefined
        const options = field === undefined ? request : request?.[field]
        checkObject(options, names, field ?? name)
        checkOptions(options, names, field)
      }
      return verb(...given)
    }
  }
  return { ...verbs, ...checked }
}

/** `acknowledge(queue, lockId)`: the value may be the id of a lock, which an error must not tell. */
function checkObject(
  options: unknown,
  names: Readonly<Record<string, 0>>,
  of: string,
): asserts options is object | undefined {
  if (options === undefined) return
  if (typeof options === 'object' && options !== null && !Array.isArray(options)) return
  const got = Array.isArray(options) ? 'a list' : options === null ? 'null' : typeof options
  throw new TypeError(`${of} takes an object with ${Object.keys(names).join(', ')}, and got ${got}`)
}
