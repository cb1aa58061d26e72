import * as v from 'valibot'
import type { ObjectSchema } from './body-fields.ts'
import { eitherOr, entriesOf, meantBy, type Noun, unknownName } from './guide.ts'
import { codeOf, RequestError } from './request-error.ts'
import type { Call } from './schemas/call.ts'

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
