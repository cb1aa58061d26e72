import type { Endpoint } from './endpoint.ts'
import type { Target } from './exchange.ts'
import { parameterKinds } from './parameter-kinds.ts'
import { routes } from './routes.ts'
import { nothing } from './schemas/fields.ts'

/** By operation id. */
export type Endpoints = Readonly<Record<string, Endpoint>>

/** The gateway has this route if it admits pages of other sites; it is not part of the API. */
const preflight = {
  method: 'OPTIONS',
  path: '/{proxy+}',
  function: 'Health',
  operationId: 'preflight',
} as const

/** Endpoints by the gateway's name for their routes. */
export function targetsOf(endpoints: Endpoints): ReadonlyMap<string, Target> {
  const targets = new Map<string, Target>()
  for (const route of [...routes, preflight]) {
    const endpoint = Object.hasOwn(endpoints, route.operationId)
      ? endpoints[route.operationId]
      : undefined
    if (endpoint === undefined) continue
    const kinds = parameterKinds(endpoint.call.parameters ?? nothing)
    const key = `${route.method} ${route.path}`
    targets.set(key, { key, route, endpoint, kinds })
  }
  return targets
}
