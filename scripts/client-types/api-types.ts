// TypeScript from the part of JSON Schema that docs/openapi.json is made of. What it does not
// understand it refuses: a type that says less than the page would be believed.

export type Schema = {
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
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
export type OpenApi = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: { readonly Error: Schema } }
}

const heading =
  '// What goes over the wire, from docs/openapi.json by `npm run client-types`. Not to be edited.\n'

export function apiTypes({ paths, components }: OpenApi): string {
  const declare = declarations()
  const types = [
    declare('ErrorBody', components.schemas.Error, 'Every error of the service.'),
    `/** What the service can answer instead. */\nexport type ErrorCode = ErrorBody['error_code']\n`,
  ]
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  for (const operation of operations) types.push(...typesOf(operation, declare))
  return [heading, ...types].join('\n')
}

type Declare = (name: string, schema: Schema, comment?: string) => string

/** Declares types; one that is as another before it is another name of that. */
function declarations(): Declare {
  const names = new Map<string, string>()
  return (name, schema, comment = schema.description) => {
    const type = typeOf(schema, '')
    const same = names.get(type)
    names.set(type, same ?? name)
    return `${comment === undefined ? '' : `/** ${comment} */\n`}export type ${name} = ${same ?? type}\n`
  }
}

function typesOf(
  { operationId, summary, parameters, requestBody, responses }: Operation,
  declare: Declare,
): string[] {
  const name = operationId.charAt(0).toUpperCase() + operationId.slice(1)
  const query = (parameters ?? []).filter((it) => it.in === 'query')
  const types: string[] = []
  if (query.length > 0) {
    const properties = Object.fromEntries(query.map((it) => [it.name, described(it)]))
    types.push(declare(`${name}Parameters`, { type: 'object', properties }))
  }
  const body = requestBody?.content['application/json'].schema
  if (body !== undefined) types.push(declare(`${name}Body`, body))
  const answer = answerOf(responses)
  if (answer !== undefined) types.push(declare(`${name}Answer`, answer, `${summary}.`))
  return types
}

/** None where the answer has no body. */
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
  const { anyOf = schema.oneOf, type } = schema
  if ('const' in schema) return JSON.stringify(schema.const)
  if (schema.enum) return union(schema.enum.map((it) => JSON.stringify(it)))
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
    const comment = schema.description ? `${inner}/** ${schema.description} */\n` : ''
    const mark = required.includes(name) ? '' : '?'
    return `${comment}${inner}readonly ${name}${mark}: ${typeOf(schema, inner)}`
  })
  return lines.length === 0 ? 'Record<never, never>' : `{\n${lines.join('\n')}\n${indent}}`
}

const union = (members: readonly string[]): string => [...new Set(members)].join(' | ')

const inBrackets = (type: string): string => (type.includes(' | ') ? `(${type})` : type)
