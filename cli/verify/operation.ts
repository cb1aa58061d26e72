import { routes } from '../../lambdas/http/routes.ts'

/** A route's name in docs/openapi.json; `other` for an address that is not a route. */
export type Operation = (typeof routes)[number]['operationId'] | 'other'

/** `path` below the endpoint. */
export function operationOf(method: string, path: string): Operation {
  const found = path.split('/')
  const route = routes.find((it) => it.method === method && matches(it.path.split('/'), found))
  return route?.operationId ?? 'other'
}

const matches = (wanted: readonly string[], found: readonly string[]): boolean =>
  wanted.length === found.length &&
  wanted.every((part, at) => part.startsWith('{') || part === found[at])
