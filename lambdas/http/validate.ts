// Checks a request against its call's schema, and says what is wrong with it in our words: valibot's would repeat the
// values. A typo in a safe option must not become a call without it: a pop without `require_ack` is final, and a purge
// without `priority` removes everything. So for a name that the call does not know, the error says what the caller
// probably meant, and where it goes; it never says "leave it out".

import * as v from 'valibot'
import { snakeCase } from '../../shared/wire.ts'
import { codeOf, quoted, RequestError } from './answer.ts'
import type { Call } from './endpoint.ts'
import type { ObjectSchema } from './read-request.ts'

type Noun = 'field' | 'parameter'

type Issue = v.BaseIssue<unknown>

/** Checks an input against a schema; throws an error that names the first wrong field. */
export function validate<S extends ObjectSchema>(
  schema: S,
  input: unknown,
  noun: Noun,
  call: Call,
): v.InferOutput<S> {
  const result = v.safeParse(schema, input, { abortEarly: true })
  if (result.success) return result.output
  throw refusal(result.issues[0] as Issue, schema, noun, call)
}

function refusal(issue: Issue, schema: ObjectSchema, noun: Noun, call: Call): RequestError {
  const keys = (issue.path ?? []).map(({ key }) => key as string | number)
  const field = nameOf(keys)
  const name = keys.findLast((key) => typeof key === 'string') as string | undefined
  if (issue.type === 'strict_object' && issue.expected === 'never') {
    const message = unknownField(field, keys, schema, noun, call)
    return new RequestError('UNKNOWN_FIELD', message, { field: field.slice(0, 64) })
  }
  const code = codeOf(name ?? '')
  const isMissing =
    issue.type === 'strict_object' && name !== undefined && issue.input === undefined
  const problem = isMissing ? missing(name, issue) : sentenceOf(issue)
  return new RequestError(code, `${field} ${problem}`, { field })
}

function unknownField(
  field: string,
  keys: readonly (string | number)[],
  schema: ObjectSchema,
  noun: Noun,
  call: Call,
): string {
  const { schema: one, or } = call.body ?? {}
  // This field belongs to the other form of the body.
  if (keys.length === 1 && or?.schema === schema && one !== undefined && field in one.entries) {
    const isOptional = (one.entries[field] as Schema).type === 'optional'
    const inEach = entriesOf(schemaAt(schema, [or.field, 0])).includes(field)
    return eitherOr(field, or.field, isOptional && inEach)
  }
  return unknownName(noun, field, entriesOf(schemaAt(schema, keys.slice(0, -1))), call)
}

function missing(name: string, issue: Issue): string {
  const around = issue.path?.at(-1)?.input
  const given = typeof around === 'object' && around !== null ? Object.keys(around) : []
  const meant = meantBy(name, given)
  return meant === undefined ? 'is missing' : `is missing; "${meant}" is not its name`
}

type Schema = {
  readonly type?: string
  readonly wrapped?: Schema
  readonly item?: Schema
  readonly entries?: Record<string, Schema>
}

/** The object schema at a place within another. */
function schemaAt(schema: unknown, keys: readonly (string | number)[]): ObjectSchema | undefined {
  let at = unwrapped(schema as Schema)
  for (const key of keys) {
    at = unwrapped(typeof key === 'number' ? at?.item : at?.entries?.[key])
  }
  return at as ObjectSchema | undefined
}

const unwrapped = (schema: Schema | undefined): Schema | undefined =>
  schema?.wrapped === undefined ? schema : unwrapped(schema.wrapped)

/** `items[3].priority` */
function nameOf(keys: readonly (string | number)[]): string {
  let name = ''
  for (const key of keys) {
    name += typeof key === 'number' ? `[${key}]` : name === '' ? key : `.${key}`
  }
  return name
}

/** Valibot's own sentences repeat what they were given; ours are written beside each field. */
const sentenceOf = (issue: Issue): string =>
  issue.message.startsWith('Invalid ') ? 'is not valid' : issue.message

type Place = 'the query' | 'the body' | 'a header'

/** `field` is the full path of the name: `items[3].prio`; `names` are those that its own object knows. */
function unknownName(noun: Noun, field: string, names: readonly string[], call: Call): string {
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
function eitherOr(field: string, form: string, inEach: boolean): string {
  return inEach
    ? `${field} does not go beside ${form}: give it to each of them, as ${form}[0].${field}`
    : `${field} does not go with ${form}: send one or the other`
}

/** The given field that looks like a missing one, if any. */
const meantBy = (missing: string, given: readonly string[]): string | undefined =>
  given.find((name) => name !== missing && nearest(name, [missing]) !== undefined)

const namesOf = ({ parameters, body, headers }: Call): Record<Place, readonly string[]> => ({
  'the query': entriesOf(parameters),
  'the body': [...entriesOf(body?.schema), ...entriesOf(body?.or?.schema)],
  'a header': headers ?? [],
})

const entriesOf = (schema: ObjectSchema | undefined): string[] => Object.keys(schema?.entries ?? {})

/** Longer names cannot be typos of our names. */
const NAME_CHARACTERS_MAX = 40

/** How long an item, or a lock, lives. */
const lifetimes = ['ttl_seconds', 'expires_in_seconds', 'item_ttl_seconds']

/** Names that the client or other queues use. Of several meanings, we suggest the one that the call knows. */
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

/** Names that they use for the opposite. */
const oppositeWords: Readonly<Record<string, string>> = {
  exclusive: 'allow_competing_consumers',
  no_ack: 'require_ack',
  auto_ack: 'require_ack',
  no_acknowledge: 'require_ack',
}

function nearest(given: string, names: readonly string[]): string | undefined {
  if (given.length > NAME_CHARACTERS_MAX) return undefined
  const spelled = spelledOf(given)
  const plain = plainly(given)
  const same = names.find((name) => name === spelled || plainly(name) === plain)
  if (same !== undefined) return same
  // This comes before names that only have similar letters: `expires_in` is not `expires_at`.
  if (names.includes(`${spelled}_seconds`)) return `${spelled}_seconds`
  const words = Object.hasOwn(otherWords, spelled) ? [otherWords[spelled] ?? []].flat() : []
  const word = words.find((one) => names.includes(one))
  if (word !== undefined) return word
  // Similar letters, but the opposite: `no_acknowledge`.
  if (/^(no|not|without|skip|auto)_/.test(spelled)) return undefined
  const near = names
    .map((name) => ({ name, ...nearnessOf(plain, plainly(name)) }))
    .filter(({ edits, most }) => edits <= most)
    .sort((one, other) => one.edits - other.edits)
  return near[0]?.name
}

/** As we write names: `Ttl-Seconds` and `ttlSeconds` are `ttl_seconds`. */
const spelledOf = (given: string): string =>
  snakeCase(given.replaceAll('-', '_').replace(/^[A-Z]/, (first) => first.toLowerCase()))

function oppositeOf(given: string): string | undefined {
  const spelled = spelledOf(given.slice(0, NAME_CHARACTERS_MAX))
  return Object.hasOwn(oppositeWords, spelled) ? oppositeWords[spelled] : undefined
}

/** The caller's number may have another unit, and be refused or, worse, accepted. */
const unitOf = (given: string, meant: string): string =>
  meant.endsWith('_seconds') && !/sec/i.test(given) ? '; it counts seconds' : ''

/** Ignores a shared `_seconds`: it does not make `ttl_seconds` similar to `delay_seconds`. */
function nearnessOf(
  given: string,
  name: string,
): { readonly edits: number; readonly most: number } {
  const both = SECONDS.test(given) && SECONDS.test(name)
  const [one, other] = both
    ? [given.replace(SECONDS, ''), name.replace(SECONDS, '')]
    : [given, name]
  const most = Math.floor(other.length / 3)
  // Letters that changed places count as one edit: `itme`.
  return { edits: sorted(one) === sorted(other) ? 1 : editsBetween(one, other), most }
}

const sorted = (letters: string): string => [...letters].sort().join('')

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
