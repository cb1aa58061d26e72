// Every route of the API as plain data, from the table of verbs. The handlers, the CDK stack and the OpenAPI page share
// them, so that no two of them can disagree.

import { type Duty, routes as paths, served, type Verb } from '../../shared/verbs.ts'
import type { FunctionName } from '../runtime/names.ts'

export type Route = {
  readonly method: Path[0] | 'HEAD'
  readonly path: `/${string}`
  readonly function: FunctionName
  /** A route without one is open to everybody. */
  readonly duty?: Duty
  readonly operationId: OperationId
}

type NameOf<V extends Verb> = (typeof paths)[V] extends readonly [unknown, unknown, infer Name]
  ? Name
  : V

/** As the API calls it. */
export type OperationId = { readonly [V in Verb]: NameOf<V> }[Verb] | 'healthHead'

type Path = readonly [(typeof paths)[Verb][0], `/${string}`, string?]

const ofVerb = (verb: Verb): Route => {
  const [method, path, name = verb]: Path = paths[verb]
  const [by, duty]: readonly [FunctionName, Duty?] = served[verb]
  return { method, path, function: by, ...(duty && { duty }), operationId: name as OperationId }
}

const isFirst = ({ operationId }: Route, index: number, all: readonly Route[]): boolean =>
  all.findIndex((other) => other.operationId === operationId) === index

export const routes: readonly Route[] = [
  ...(Object.keys(paths) as Verb[]).map(ofVerb).filter(isFirst),
  // Monitors send this. The gateway does not match a HEAD to a GET route.
  { method: 'HEAD', path: '/healthz', function: 'Health', operationId: 'healthHead' },
]
