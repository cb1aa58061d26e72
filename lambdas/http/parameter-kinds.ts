import type * as v from 'valibot'
import type { ObjectSchema } from './body-fields.ts'
import type { ParameterKind, ParameterKinds } from './parameters.ts'

type Schema = v.GenericSchema & {
  readonly wrapped?: Schema
}

/** How to read each parameter's text, from the type with which its schema begins. */
export function parameterKinds(schema: ObjectSchema): ParameterKinds {
  const entries = Object.entries(schema.entries)
  return Object.fromEntries(entries.map(([name, entry]) => [name, kindOf(entry as Schema)]))
}

function kindOf(schema: Schema): ParameterKind {
  if (schema.wrapped !== undefined) return kindOf(schema.wrapped)
  return schema.type === 'number' || schema.type === 'boolean' ? schema.type : 'string'
}
