import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { apiTypes, type Schema, typeOf } from '../../scripts/client-types.ts'

test('client/api-types.ts is what docs/openapi.json says', () => {
  const script = join(import.meta.dirname, '../../scripts/client-types.ts')
  const { status, stderr } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' })
  expect(stderr).toBe('')
  expect(status).toBe(0)
})

test('a schema that is not understood is refused', () => {
  expect(() => typeOf({ type: 'tuple' }, '')).toThrow('Cannot make a type of a schema')
})

/** The types of a page that has this one answer. */
const typesWith = (schema: Schema, schemas: Readonly<Record<string, Schema>> = {}): string => {
  const answer = { content: { 'application/json': { schema } } }
  const operation = { operationId: 'do', summary: 'Does', responses: { 200: answer } }
  return apiTypes({ paths: { '/': { get: operation } }, components: { schemas } })
}

test('a type says what is required, and what is a list of several kinds', () => {
  const schema = {
    type: 'object',
    properties: {
      a: { type: 'array', items: { anyOf: [{ type: 'integer' }, { type: 'null' }] } },
      b: { const: true },
    },
    required: ['a'],
  }
  expect(typesWith(schema)).toContain(
    '/** Does. */\nexport type DoAnswer = {\n  readonly a: readonly (number | null)[]\n  readonly b?: true\n}',
  )
})

test('a schema with a name becomes a separate type', () => {
  const types = typesWith({ $ref: '#/components/schemas/Pet' }, { Pet: { type: 'string' } })
  expect(types).toContain('export type Pet = string\n')
  expect(types).toContain('export type DoAnswer = Pet\n')
})

describe('An object that has all fields of one with a name', () => {
  const name = { type: 'string', description: 'Its name.' }
  const age = { type: 'integer' }
  const Pet = { type: 'object', properties: { name }, required: ['name'] }
  const typeWith = (schema: Schema, named: Readonly<Record<string, Schema>> = { Pet }) =>
    typesWith(schema, named).slice(typesWith(schema, named).indexOf('export type DoAnswer'))
  const both = { type: 'object', properties: { name, age }, required: ['name'] }

  test('is that one and its own fields, also in a list.', () => {
    const items = typeWith({ type: 'array', items: both })
    expect(items).toBe('export type DoAnswer = readonly (Pet & {\n  readonly age?: number\n})[]\n')
  })

  test('is the largest of them, where there are several.', () => {
    const schema = { ...both, properties: { name, age, tail: { type: 'boolean' } } }
    expect(typeWith(schema, { Pet, Named: both })).toMatch('export type DoAnswer = Named & {\n')
  })

  test('is not that one if a field is described otherwise, or may be left out.', () => {
    const otherWords = { ...both, properties: { name: { type: 'string' }, age } }
    const optional = { ...both, required: [] }
    expect(typeWith(otherWords)).toMatch('export type DoAnswer = {\n')
    expect(typeWith(optional)).toMatch('export type DoAnswer = {\n')
  })
})

test('a field that may be null has its words from inside', () => {
  const field = { anyOf: [{ type: 'integer', description: 'How many.' }, { type: 'null' }] }
  const types = typesWith({ type: 'object', properties: { field } })
  expect(types).toContain('  /** How many. */\n  readonly field?: number | null\n')
})
