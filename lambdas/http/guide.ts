// What to do about a name that a call does not know. A typo of a safe option must not become a call without
// it: who leaves out `requireAck` pops for good, and who leaves out `Priority` purges everything. So the
// answer names what was meant, and where it goes; it never says "leave it out".

import { snakeCase } from '../foundation/shared/wire-names.ts'
import { quoted } from './request-error.ts'
import type { Call, ObjectSchema } from './schemas/call.ts'

export type Noun = 'field' | 'parameter'

type Place = 'the query' | 'the body' | 'a header'

/** How long an item, or a lock, lives. */
const lifetimes = ['ttl_seconds', 'expires_in_seconds', 'item_ttl_seconds']

/** What the client and other queues call it; of several, the one that the call knows. */
const otherWords: Readonly<Record<string, string | readonly string[]>> = {
  ack: 'require_ack',
  competing: 'allow_competing_consumers',
  ttl: lifetimes,
  ttl_ms: lifetimes,
  ttl_seconds: lifetimes,
  expires: 'expires_in_seconds',
  expiry: 'expires_in_seconds',
  wait_ms: 'wait_seconds',
  timeout: 'ttl_seconds',
  visibility_timeout: 'ttl_seconds',
  wait_time_seconds: 'wait_seconds',
  max: 'count',
  size: 'count',
  batch: 'count',
  batch_size: 'count',
  max_number_of_messages: 'count',
  receipt_handle: 'lock_id',
  lock: 'lock_id',
  locks: 'lock_ids',
  message: 'item',
  messages: 'items',
  payload: 'item',
  data: 'item',
  body: 'item',
  value: 'item',
}

/** What they call the contrary. */
const oppositeWords: Readonly<Record<string, string>> = {
  exclusive: 'allow_competing_consumers',
  no_ack: 'require_ack',
  auto_ack: 'require_ack',
  no_acknowledge: 'require_ack',
}

/** `field` is where the name stands: `items[3].prio`; `names` are those that its own object knows. */
export function unknownName(
  noun: Noun,
  field: string,
  names: readonly string[],
  call: Call,
): string {
  const unknown = `Unknown ${noun} ${quoted(field)}`
  const here: Place = noun === 'parameter' ? 'the query' : 'the body'
  const name = field.slice(field.lastIndexOf('.') + 1)
  const meant = nearest(name, names)
  if (meant !== undefined) return `${unknown}: it is ${meant}, in ${here}${unitOf(name, meant)}`
  const places = Object.entries(namesOf(call)) as [Place, readonly string[]][]
  for (const [place, others] of places) {
    const other = nearest(name, others)
    if (other !== undefined) return `${unknown}: ${other} goes in ${place}${unitOf(name, other)}`
  }
  for (const [place, others] of [[here, names] as const, ...places]) {
    const opposite = oppositeOf(name)
    if (opposite !== undefined && others.includes(opposite)) {
      return `${unknown}: it is the opposite of ${opposite}, in ${place}`
    }
  }
  if (names.length === 0) return `${unknown}: this call takes no ${noun}s`
  return `${unknown}: there ${names.length === 1 ? 'is' : 'are'} ${names.join(', ')}`
}

/** Of two forms of a body, both were given. */
export function eitherOr(field: string, form: string, inEach: boolean): string {
  return inEach
    ? `${field} does not go beside ${form}: give it to each of them, as ${form}[0].${field}`
    : `${field} does not go with ${form}: send one or the other`
}

/** A field that is missing, where another looks like it. */
export const meantBy = (missing: string, given: readonly string[]): string | undefined =>
  given.find((name) => name !== missing && nearest(name, [missing]) !== undefined)

const namesOf = ({ parameters, body, headers }: Call): Record<Place, readonly string[]> => ({
  'the query': entriesOf(parameters),
  'the body': [...entriesOf(body?.schema), ...entriesOf(body?.or?.schema)],
  'a header': headers ?? [],
})

export const entriesOf = (schema: ObjectSchema | undefined): string[] =>
  Object.keys(schema?.entries ?? {})

/** Longer names cannot be a typo of ours. */
const NAME_CHARACTERS_MAX = 40

/** As we write names: `Ttl-Seconds` and `ttlSeconds` are `ttl_seconds`. */
const spelledOf = (given: string): string =>
  snakeCase(given.replaceAll('-', '_').replace(/^[A-Z]/, (first) => first.toLowerCase()))

function oppositeOf(given: string): string | undefined {
  const spelled = spelledOf(given.slice(0, NAME_CHARACTERS_MAX))
  return Object.hasOwn(oppositeWords, spelled) ? oppositeWords[spelled] : undefined
}

/** Its number may be of another unit, and would be refused, or worse, taken. */
const unitOf = (given: string, meant: string): string =>
  meant.endsWith('_seconds') && !/sec/i.test(given) ? '; it counts seconds' : ''

function nearest(given: string, names: readonly string[]): string | undefined {
  if (given.length > NAME_CHARACTERS_MAX) return undefined
  const spelled = spelledOf(given)
  const plain = plainly(given)
  const same = names.find((name) => name === spelled || plainly(name) === plain)
  if (same !== undefined) return same
  // Before what is merely near in letters: `expires_in` is not `expires_at`.
  if (names.includes(`${spelled}_seconds`)) return `${spelled}_seconds`
  const words = Object.hasOwn(otherWords, spelled) ? [otherWords[spelled] ?? []].flat() : []
  const word = words.find((one) => names.includes(one))
  if (word !== undefined) return word
  // Near in letters, and the contrary: `no_acknowledge`.
  if (/^(no|not|without|skip|auto)_/.test(spelled)) return undefined
  const near = names
    .map((name) => ({ name, ...nearnessOf(plain, plainly(name)) }))
    .filter(({ edits, most }) => edits <= most)
    .sort((one, other) => one.edits - other.edits)
  return near[0]?.name
}

/** That both are in seconds makes two names no nearer: `ttl_seconds` is not `delay_seconds`. */
function nearnessOf(
  given: string,
  name: string,
): { readonly edits: number; readonly most: number } {
  const both = SECONDS.test(given) && SECONDS.test(name)
  const [one, other] = both
    ? [given.replace(SECONDS, ''), name.replace(SECONDS, '')]
    : [given, name]
  return { edits: editsBetween(one, other), most: Math.floor(other.length / 3) }
}

const SECONDS = /seconds?$/

const plainly = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '')

/** Letters to add, take away or replace. */
function editsBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, i) => i)
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= other.length; j += 1) {
      const replaced = (row[j - 1] as number) + (one[i - 1] === other[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[other.length] as number
}
