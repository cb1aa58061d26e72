import type { Schema } from './api-types.ts'

/**
 * The same schema in which an object that has all fields of a named one is that one and its own fields. The page
 * cannot say so: no further field is allowed in the named one.
 */
export function extending(schema: Schema, named: Readonly<Record<string, Schema>>): Schema {
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
