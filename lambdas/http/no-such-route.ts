import type { HttpEvent } from './exchange.ts'
import { RequestError } from './request-error.ts'
import { routes } from './routes.ts'

/** The error for a request that matches no route: the method is wrong, or there is nothing at the address. */
export function noSuchRoute(event: HttpEvent): RequestError {
  const methods = routes
    .filter(({ path }) => matches(path, pathOf(event)))
    .map(({ method }) => method)
  if (methods.length === 0) {
    return new RequestError('NOT_FOUND', nothingHere)
  }
  const allow = methods.join(', ')
  return new RequestError('METHOD_NOT_ALLOWED', `This address takes ${allow} only`, {
    headers: { allow },
  })
}

/** Names the calls that callers look for first; the page in the repository has them all. */
const nothingHere =
  'There is nothing at this address. Calls are such as POST /queue/{id}/push, /pop and /acknowledge, and ' +
  'GET /queues; docs/api.md in the repository of PushPop has them all'

/** The gateway puts a stage's name before the path, unless it is the default one. */
function pathOf({ rawPath = '', requestContext }: HttpEvent): string {
  const stage = `/${requestContext?.stage ?? '$default'}`
  return rawPath.startsWith(`${stage}/`) ? rawPath.slice(stage.length) : rawPath
}

function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split('/')
  const found = path.split('/')
  return (
    wanted.length === found.length &&
    wanted.every((part, i) => (part.startsWith('{') ? found[i] !== '' : part === found[i]))
  )
}
