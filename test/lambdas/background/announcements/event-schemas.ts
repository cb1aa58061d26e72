import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { type DetailType, detailTypes } from '../../../../lambdas/runtime/names.ts'

const folder = join(import.meta.dirname, '../../../../docs/events')

/** As much of JSON Schema as the schemas use; a word that is not known here is an error. */
type Schema = {
  readonly type?: string
  readonly const?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: false
  readonly required?: readonly string[]
  readonly maxProperties?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly format?: 'date-time'
}

export const eventSchemas: ReadonlyMap<DetailType, Schema & { readonly title: string }> = new Map(
  Object.entries(detailTypes).map(([name, detailType]) => [
    detailType,
    JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')),
  ]),
)

/** What of a detail is not as docs/events/ says; empty if all is. */
export function problemsOf(detailType: string, detail: unknown): string[] {
  const schema = eventSchemas.get(detailType as DetailType)
  if (schema === undefined) return [`no schema of "${detailType}"`]
  return check(schema, detail, detailType)
}

export const expectDocumented = (detailType: string, detail: unknown): void =>
  expect(problemsOf(detailType, detail), JSON.stringify(detail)).toEqual([])

const words = new Set([
  ...['$schema', '$id', 'title', 'description', 'type', 'const', 'properties', 'required'],
  ...['patternProperties', 'additionalProperties', 'maxProperties', 'minimum', 'maximum'],
  ...['minLength', 'maxLength', 'pattern', 'format'],
])

function check(schema: Schema, value: unknown, path: string): string[] {
  const unknown = Object.keys(schema).filter((word) => !words.has(word))
  if (unknown.length > 0) return [`${path}: the test does not know ${unknown}`]
  const holds: readonly (readonly [boolean, string])[] = [
    [schema.type === undefined || typeOf(value) === schema.type, `is no ${schema.type}`],
    [schema.const === undefined || value === schema.const, `is not ${schema.const}`],
    [!(Number(value) < (schema.minimum ?? -Infinity)), 'is too low'],
    [!(Number(value) > (schema.maximum ?? Infinity)), 'is too high'],
    [!(String(value).length < (schema.minLength ?? 0)), 'is too short'],
    [!(String(value).length > (schema.maxLength ?? Infinity)), 'is too long'],
    [new RegExp(schema.pattern ?? '').test(String(value)), `does not match ${schema.pattern}`],
    [schema.format === undefined || isTime(String(value)), 'is no time'],
  ]
  const own = holds.filter(([is]) => !is).map(([, problem]) => `${path} ${problem}`)
  return typeOf(value) === 'object' ? [...own, ...checkFields(schema, value as object, path)] : own
}

function checkFields(schema: Schema, value: object, path: string): string[] {
  const fields = Object.entries(value)
  const missing = (schema.required ?? []).filter((name) => !(name in value))
  const tooMany = fields.length > (schema.maxProperties ?? Infinity)
  return [
    ...missing.map((name) => `${path}.${name} is missing`),
    ...(tooMany ? [`${path} has too many fields`] : []),
    ...fields.flatMap(([name, field]) => {
      const patterns = Object.entries(schema.patternProperties ?? {})
      const known =
        schema.properties?.[name] ?? patterns.find(([form]) => new RegExp(form).test(name))?.[1]
      if (known !== undefined) return check(known, field, `${path}.${name}`)
      return schema.additionalProperties === false ? [`${path}.${name} is not documented`] : []
    }),
  ]
}

const isTime = (text: string): boolean =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text) && !Number.isNaN(Date.parse(text))

function typeOf(value: unknown): string {
  if (Number.isInteger(value)) return 'integer'
  if (value === null || Array.isArray(value)) return 'neither'
  return typeof value
}
