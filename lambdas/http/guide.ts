// What to do about a name that a call does not know. A typo of a safe option must not become a call without
// it: who leaves out `requireAck` pops for good, and who leaves out `Priority` purges everything. So the
// answer names what was meant, and where it goes; it never says "leave it out".

import { snakeCase } from '../foundation/shared/wire-names.ts'
import { quoted } from './request-error.ts'
import type { Call, ObjectSchema } from './schemas/call.ts'

export type Noun = 'field' | 'parameter'

type Place = 'query' | 'body'

/** What the client and other queues call it. */
const otherWords: Readonly<Record<string, string>> = {
  ack: 'require_ack',
  no_ack: 'require_ack',
  competing: 'allow_competing_consumers',
  exclusive: 'allow_competing_consumers',
  ttl: 'ttl_seconds',
  ttl_ms: 'ttl_seconds',
  timeout: 'ttl_seconds',
  visibility_timeout: 'ttl_seconds',
  wait: 'wait_seconds',
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

/** `field` is where the name stands: `items[3].prio`; `names` are those that its own object knows. */
export function unknownName(
  noun: Noun,
  field: string,
  names: readonly string[],
  call: Call,
): string {
  const unknown = `Unknown ${noun} ${quoted(field)}`
  const here: Place = noun === 'parameter' ? 'query' : 'body'
  const name = field.slice(field.lastIndexOf('.') + 1)
  const meant = nearest(name, names)
  if (meant !== undefined) return `${unknown}: it is ${meant}, in the ${here}`
  for (const [place, others] of Object.entries(namesOf(call)) as [Place, string[]][]) {
    const other = nearest(name, others)
    if (other !== undefined) return `${unknown}: ${other} goes in the ${place}`
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

const namesOf = ({ parameters, body }: Call): Record<Place, string[]> => ({
  query: entriesOf(parameters),
  body: [...entriesOf(body?.schema), ...entriesOf(body?.or?.schema)],
})

export const entriesOf = (schema: ObjectSchema | undefined): string[] =>
  Object.keys(schema?.entries ?? {})

/** Longer names cannot be a typo of ours. */
const NAME_CHARACTERS_MAX = 40

function nearest(given: string, names: readonly string[]): string | undefined {
  if (given.length > NAME_CHARACTERS_MAX) return undefined
  const spelled = snakeCase(
    given.replaceAll('-', '_').replace(/^[A-Z]/, (first) => first.toLowerCase()),
  )
  const plain = plainly(given)
  const same = names.find((name) => name === spelled || plainly(name) === plain)
  if (same !== undefined) return same
  const word = Object.hasOwn(otherWords, spelled) ? otherWords[spelled] : undefined
  if (word !== undefined && names.includes(word)) return word
  const near = names
    .map((name) => ({ name, edits: editsBetween(plain, plainly(name)) }))
    .filter(({ name, edits }) => edits <= Math.floor(plainly(name).length / 3))
    .sort((one, other) => one.edits - other.edits)
  return near[0]?.name
}

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
