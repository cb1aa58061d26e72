import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { apiTypes, typeOf } from '../../scripts/client-types/api-types.ts'

test('client/api-types.ts is what docs/openapi.json says', () => {
  const script = join(import.meta.dirname, '../../scripts/client-types.ts')
  const { status, stderr } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' })
  expect(stderr).toBe('')
  expect(status).toBe(0)
})

test('a schema that is not understood is refused', () => {
  expect(() => typeOf({ type: 'tuple' }, '')).toThrow('Cannot make a type of a schema')
})

test('a type says what is required, and what is a list of several kinds', () => {
  const schema = {
    type: 'object',
    properties: {
      a: { type: 'array', items: { anyOf: [{ type: 'integer' }, { type: 'null' }] } },
      b: { const: true },
    },
    required: ['a'],
  }
  const answer = { content: { 'application/json': { schema } } }
  const operation = { operationId: 'do', summary: 'Does', responses: { 200: answer } }
  const page = { paths: { '/': { get: operation } }, components: { schemas: { Error: {} } } }
  expect(apiTypes(page)).toContain(
    '/** Does. */\nexport type DoAnswer = {\n  readonly a: readonly (number | null)[]\n  readonly b?: true\n}',
  )
})
