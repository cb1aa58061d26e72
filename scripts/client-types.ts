// `npm run client-types` writes client/api-types.ts, what the service answers as TypeScript, from docs/openapi.json;
// with `--check` it only says whether the file is as that page would have it. It understands the part of JSON Schema
// that the page is made of, and refuses the rest: people would believe a type that says less than the page.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeOrCheck } from './written-file.ts'

export type Schema = {
  readonly $ref?: string
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly description?: string
}

type Parameter = {
  readonly in?: string
  readonly name?: string
  readonly description?: string
  readonly schema?: Schema
}
type Content = { readonly content: { readonly 'application/json': { readonly schema: Schema } } }
type Operation = {
  readonly operationId: string
  readonly summary: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Content
  readonly responses: { readonly 200: Partial<Content>; readonly 202?: Content }
}
type OpenApi = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const heading =
  '// What the service answers, from docs/openapi.json by `npm run client-types`. Not to be edited.\n'

export function apiTypes({ paths, components: { schemas } }: OpenApi): string {
  const declare = declaring(schemas)
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  const types = [errorCode, ...operations.flatMap((operation) => typesOf(operation, declare))]
  const named = Object.entries(schemas).map(([key, schema]) => {
    const name = typeNameOf(key)
    return { name, text: declare(name, schema) }
  })
  const isUsed = ({ name }: { readonly name: string }) =>
    [...types, ...named.filter((it) => it.name !== name).map(({ text }) => text)].some((text) =>
      new RegExp(`\\b${name}\\b`).test(text),
    )
  return [heading, ...named.filter(isUsed).map(({ text }) => text), ...types].join('\n')
}

/** The client has its own names for what is asked, and makes only these requests from a type of the API. */
const asked: ReadonlySet<string> = new Set(['configure', 'configureRate', 'decideRate'])

const errorCode = `/** What the service can answer instead. */\nexport type ErrorCode = ErrorBody['error_code']\n`

/** JavaScript has an `Error` already. */
const typeNameOf = (name: string): string => (name === 'Error' ? 'ErrorBody' : name)

type Declare = (name: string, schema: Schema, comment?: string) => string

const declaring =
  (named: Readonly<Record<string, Schema>>): Declare =>
  (name, schema, comment = schema.description) =>
    `${commentOf(comment)}export type ${name} = ${typeOf(extending(schema, named), '')}\n`

function typesOf(
  { operationId, summary, parameters, requestBody, responses }: Operation,
  declare: Declare,
): string[] {
  const name = operationId.charAt(0).toUpperCase() + operationId.slice(1)
  const query = (parameters ?? []).filter((it) => it.in === 'query')
  const types: string[] = []
  if (asked.has(operationId) && query.length > 0) {
    const properties = Object.fromEntries(query.map((it) => [it.name, described(it)]))
    types.push(declare(`${name}Parameters`, { type: 'object', properties }))
  }
  const body = requestBody?.content['application/json'].schema
  if (asked.has(operationId) && body !== undefined) types.push(declare(`${name}Body`, body))
  const answer = answerOf(responses)
  if (answer !== undefined) types.push(declare(`${name}Answer`, answer, `${summary}.`))
  return types
}

/** Undefined if the answer has no body. */
function answerOf(responses: Operation['responses']): Schema | undefined {
  const answer = responses[200].content?.['application/json'].schema
  const accepted = responses[202]?.content['application/json'].schema
  return answer === undefined || accepted === undefined ? answer : { anyOf: [answer, accepted] }
}

const described = ({ schema, description }: Parameter): Schema => ({
  ...schema,
  ...(description !== undefined && { description }),
})

export function typeOf(schema: Schema, indent: string): string {
  const { $ref, allOf, anyOf = schema.oneOf, type } = schema
  if ($ref !== undefined) return typeNameOf($ref.slice($ref.lastIndexOf('/') + 1))
  if ('const' in schema) return JSON.stringify(schema.const)
  if (schema.enum) return union(schema.enum.map((it) => JSON.stringify(it)))
  if (allOf) return allOf.map((it) => typeOf(it, indent)).join(' & ')
  if (anyOf) return union(anyOf.map((it) => typeOf(it, indent)))
  switch (type) {
    case undefined:
      return 'unknown'
    case 'integer':
      return 'number'
    case 'string':
    case 'number':
    case 'boolean':
    case 'null':
      return type
    case 'array':
      return `readonly ${inBrackets(typeOf(schema.items ?? {}, indent))}[]`
    case 'object':
      return objectType(schema, indent)
    default:
      throw new TypeError(`Cannot make a type of a schema because its type "${type}" is not known`)
  }
}

function objectType({ properties = {}, required = [] }: Schema, indent: string): string {
  const inner = `${indent}  `
  const lines = Object.entries(properties).map(([name, schema]) => {
    const comment = commentOf(describedIn(schema), inner)
    const mark = required.includes(name) ? '' : '?'
    return `${comment}${inner}readonly ${name}${mark}: ${typeOf(schema, inner)}`
  })
  return lines.length === 0 ? 'Record<never, never>' : `{\n${lines.join('\n')}\n${indent}}`
}

/** If a value may be `null`, its description is inside. */
const describedIn = ({ description, anyOf }: Schema): string | undefined =>
  description ?? anyOf?.find((it) => it.description !== undefined)?.description

const commentOf = (comment: string | undefined, indent = ''): string =>
  comment === undefined ? '' : `${indent}/** ${comment} */\n`

const union = (members: readonly string[]): string => [...new Set(members)].join(' | ')

const inBrackets = (type: string): string => (/ [|&] /.test(type) ? `(${type})` : type)

/**
 * The same schema in which an object that has all fields of a named one is that one and its own fields. The page
 * cannot say so: no further field is allowed in the named one.
 */
function extending(schema: Schema, named: Readonly<Record<string, Schema>>): Schema {
  const inside = (one: Schema): Schema => extending(one, named)
  const { anyOf, oneOf, items, properties } = schema
  const copy: Schema = {
    ...schema,
    ...(anyOf && { anyOf: anyOf.map(inside) }),
    ...(oneOf && { oneOf: oneOf.map(inside) }),
    ...(items && { items: inside(items) }),
    ...(properties && { properties: mapped(properties, inside) }),
  }
  const [name, base] = largestIn(schema, named) ?? []
  if (name === undefined || base === undefined) return copy
  const own = Object.entries(copy.properties ?? {}).filter(([field]) => !(field in fieldsOf(base)))
  const { description: _, ...rest } = copy
  const ref = { $ref: `#/components/schemas/${name}` }
  return { allOf: [ref, { ...rest, properties: Object.fromEntries(own) }] }
}

function largestIn(schema: Schema, named: Readonly<Record<string, Schema>>) {
  const size = (base: Schema): number => Object.keys(fieldsOf(base)).length
  return Object.entries(named)
    .filter(([, base]) => base.properties !== undefined && hasAllOf(schema, base))
    .filter(([, base]) => size(base) < size(schema))
    .sort(([, one], [, other]) => size(other) - size(one))[0]
}

const fieldsOf = ({ properties = {} }: Schema) => properties

const hasAllOf = (schema: Schema, base: Schema): boolean =>
  Object.keys(fieldsOf(base)).every((field) => fieldIn(schema, field) === fieldIn(base, field))

const fieldIn = (schema: Schema, field: string): string =>
  JSON.stringify([fieldsOf(schema)[field], schema.required?.includes(field) ?? false])

const mapped = (properties: Readonly<Record<string, Schema>>, to: (one: Schema) => Schema) =>
  Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, to(one)]))

if (import.meta.main) {
  const page = join(import.meta.dirname, '../docs/openapi.json')
  const text = apiTypes(JSON.parse(readFileSync(page, 'utf8')) as OpenApi)
  const from = 'the schemas of docs/openapi.json'
  writeOrCheck('client/api-types.ts', text, { script: 'client-types', from })
}
