import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Queues } from '../../../engine/queues.ts'
import { errorTable } from '../../../lambdas/http/answer.ts'
import type { Endpoint } from '../../../lambdas/http/endpoint.ts'
import { type Route, routes } from '../../../lambdas/http/routes.ts'
import type { RateLimits } from '../../../rate/rate-limits.ts'
import { errorsOf, openApiDocument, operations } from '../../../scripts/openapi.ts'
import { endpointsOn } from './service.ts'

const root = join(import.meta.dirname, '../../..')
const text = readFileSync(join(root, 'docs/openapi.json'), 'utf8')
type Operation = { operationId: string; responses: Record<string, unknown> }
const { paths } = JSON.parse(text) as { paths: Record<string, Record<string, Operation>> }

const endpointsOf: Readonly<Record<string, Readonly<Record<string, Endpoint>>>> = endpointsOn(
  {} as Queues,
  {} as RateLimits,
)

/** Every schema of an object with fields, wherever it stands; each place may have its own words on it. */
function objectsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const inside = Object.values(value).flatMap(objectsIn)
  const { description: _, ...schema } = value as { description?: unknown; properties?: object }
  const fields = Object.keys(schema.properties ?? {})
  return fields.length === 0 ? inside : [JSON.stringify(schema), ...inside]
}

const all = routes
const operationOf = ({ path, method }: Route) => paths[path]?.[method.toLowerCase()]

describe('docs/openapi.json', () => {
  it('is what the schemas say: `npm run openapi` writes it.', () => {
    expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(openApiDocument())))
  })

  it('has every route, and no other.', () => {
    const documented = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, { operationId }]) => `${method} ${path} ${operationId}`,
      ),
    )
    const wanted = all.map((it) => `${it.method.toLowerCase()} ${it.path} ${it.operationId}`)
    expect(documented.sort()).toEqual(wanted.sort())
  })

  it('describes what the handlers check: route by route the same schemas.', () => {
    for (const { operationId, function: name } of all) {
      const endpoint = endpointsOf[name]?.[operationId]
      expect(endpoint, operationId).toBeDefined()
      expect(endpoint?.call, operationId).toEqual(operations[operationId].call)
    }
    const handled = Object.values(endpointsOf).flatMap((endpoints) => Object.keys(endpoints))
    const routed = [...all.map(({ operationId }) => operationId), 'preflight']
    expect(handled.sort()).toEqual(routed.sort())
  })

  it('has the statuses of the error table for each operation.', () => {
    for (const route of all) {
      const operation = operations[route.operationId]
      const good = operation.accepted === undefined ? [200] : [200, 202]
      const refused = errorsOf(operation).map((code) => errorTable[code].status)
      const statuses = new Set([...good, ...refused])
      const documented = Object.keys(operationOf(route)?.responses ?? {}).map(Number)
      expect(documented, route.operationId).toEqual([...statuses].sort((a, b) => a - b))
    }
  })

  it('writes an object that several calls have once, under a name.', () => {
    const objects = objectsIn(JSON.parse(text))
    const twice = objects.filter((one, place) => objects.indexOf(one) !== place)
    expect(twice).toEqual([])
  })

  it('has every error code somewhere, but for addresses that do not exist.', () => {
    const documented = new Set(Object.values(operations).flatMap(errorsOf))
    const missing = Object.keys(errorTable).filter((code) => !documented.has(code as never))
    expect(missing.sort()).toEqual(['METHOD_NOT_ALLOWED', 'NOT_FOUND'])
  })
})

describe('The handlers', () => {
  it('are one file a function.', () => {
    const files = readdirSync(join(root, 'lambdas/handlers')).map((file) => file.replace('.ts', ''))
    const functions = [
      ...new Set(all.map((route) => route.function)),
      'ReturnExpiredLocks',
      'Housekeep',
      'Announce',
      ...['ApplyInbox', 'PushInbox', 'Wake'],
    ]
    const kebab = (name: string) => name.replace(/(?<!^)[A-Z]/g, '-$&').toLowerCase()
    expect(files.sort()).toEqual(functions.map(kebab).sort())
  })
})
