/**
 * An expression with its values in place: x`n > ${5}` is sent as `n > :v1`, with 5 for `:v1`. One may
 * stand in another.
 */
export interface Written {
  readonly expression: string
  readonly names: Readonly<Record<string, string>>
  readonly values: Readonly<Record<string, unknown>>
}

export type Expression = string | Written

/** In an expression, a name that goes by an alias: x`m.${name('5')} = ${1}`. */
export const name = (attribute: string): Alias => new Alias(attribute)

class Alias {
  readonly attribute: string
  constructor(attribute: string) {
    this.attribute = attribute
  }
}

// No two are alike, so that the expressions of one request can be joined.
let placeholders = 0

export function x(parts: TemplateStringsArray, ...given: readonly unknown[]): Written {
  const names: Record<string, string> = {}
  const values: Record<string, unknown> = {}
  const tokens = given.map((value) => {
    if (isWritten(value)) {
      Object.assign(names, value.names)
      Object.assign(values, value.values)
      return value.expression
    }
    placeholders += 1
    const token = value instanceof Alias ? `#n${placeholders}` : `:v${placeholders}`
    if (value instanceof Alias) names[token] = value.attribute
    else values[token] = value
    return token
  })
  return { expression: String.raw({ raw: parts.raw }, ...tokens), names, values }
}

/** The input of a request in which expressions may be written with x. */
export type Writable<T> = { [K in keyof T]: T[K] | (string extends T[K] ? Written : never) }

/** The same as the SDK takes it. DynamoDB refuses empty names and values, so those are left out. */
export function sent<T extends object>(input: Writable<T>): T {
  const plain: Record<string, unknown> = {}
  const names: Record<string, string> = {}
  const values: Record<string, unknown> = {}
  for (const [field, value] of Object.entries(input)) {
    if (isWritten(value)) {
      plain[field] = value.expression
      Object.assign(names, value.names)
      Object.assign(values, value.values)
    } else if (value !== undefined) plain[field] = value
  }
  if (Object.keys(names).length > 0) plain.ExpressionAttributeNames = names
  if (Object.keys(values).length > 0) plain.ExpressionAttributeValues = values
  return plain as T
}

const isWritten = (value: unknown): value is Written =>
  typeof value === 'object' && value !== null && 'expression' in value
