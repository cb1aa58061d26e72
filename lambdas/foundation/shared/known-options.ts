/** The options of a call by name. TypeScript checks that none is missing; the values mean nothing. */
export type Names<Options> = Readonly<Record<keyof Options, 0>>

/**
 * Throws if a name is none of these. In JavaScript, or with an object that is spread, no compiler says so, and
 * an option that we ignored may be the one that keeps items: a pop without `requireAck` is for good.
 */
export function checkOptions(
  options: object | undefined,
  names: Readonly<Record<string, 0>>,
  /** The option that these are inside of. */
  within?: string,
) {
  const given = (options ?? {}) as Readonly<Record<string, unknown>>
  const unknown = Object.keys(given).find(
    (name) => given[name] !== undefined && !Object.hasOwn(names, name),
  )
  if (unknown === undefined) return
  const known = Object.keys(names)
  const [first] = known
    .map((name) => ({ name, unlike: lettersApart(unknown, name) }))
    .filter(({ name, unlike }) => unlike <= name.length / 3 && beginsAlike(unknown, name))
    .sort((one, other) => one.unlike - other.unlike)
  const instead = first ? `it is ${first.name}` : `there are ${known.join(', ')}`
  const where = within === undefined ? '' : ` in ${within}`
  throw new TypeError(`Unknown option ${JSON.stringify(unknown)}${where}: ${instead}`)
}

/** A slip is seldom in the first letter; `region` has nearly the letters of `linger`. */
const beginsAlike = (given: string, name: string): boolean =>
  given.charAt(0).toLowerCase() === name.charAt(0).toLowerCase()

/** Letters that only one of them has, in whatever order: enough to tell which of a few names was meant. */
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
