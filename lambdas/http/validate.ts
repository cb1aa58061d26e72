import * as v from 'valibot'
import { codeOf, quoted, RequestError } from './request-error.ts'

type Issue = v.BaseIssue<unknown>

/** What a schema makes of an input, or the first thing that is wrong with it, by name. */
export function validate<S extends v.GenericSchema>(
  schema: S,
  input: unknown,
  noun: 'field' | 'parameter',
): v.InferOutput<S> {
  const result = v.safeParse(schema, input, { abortEarly: true })
  if (result.success) return result.output
  throw refusal(result.issues[0] as Issue, noun)
}

function refusal(issue: Issue, noun: string): RequestError {
  const keys = (issue.path ?? []).map(({ key }) => key as string | number)
  const field = nameOf(keys)
  const name = keys.findLast((key) => typeof key === 'string') as string | undefined
  if (issue.type === 'strict_object' && issue.expected === 'never') {
    return new RequestError('UNKNOWN_FIELD', `Unknown ${noun} ${quoted(field)}; leave it out`, {
      field: field.slice(0, 64),
    })
  }
  const code = codeOf(name ?? '')
  const isMissing =
    issue.type === 'strict_object' && name !== undefined && issue.input === undefined
  const problem = isMissing ? 'is missing' : sentenceOf(issue)
  return new RequestError(code, `${field} ${problem}`, { field })
}

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
