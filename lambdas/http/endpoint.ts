import type { Tally } from '../runtime/tally.ts'
import type { Answer } from './answer.ts'
import type { BodyOf, Call, ParametersOf } from './schemas/call.ts'

/** A request that has passed every check: what an endpoint acts on. */
export type CheckedRequest<C extends Call> = {
  readonly queue: string
  /** The rate limit's key and its ticket. */
  readonly key: string
  readonly ticket: string
  /** Its name. */
  readonly schedule: string
  readonly requestId: string
  /** When the gateway received it; absent if somebody invokes the function by hand. */
  readonly receivedMs: number | undefined
  readonly parameters: ParametersOf<C>
  readonly body: BodyOf<C>
  header(name: string): string | undefined
  /** What the request did, for its metrics. */
  readonly tally: Tally
}

export type Endpoint = {
  readonly call: Call
  act(request: CheckedRequest<Call>): Promise<Answer>
}

/** Ties a call's schema to its code, so that the code knows the types of its request. */
export function endpoint<const C extends Call>(
  call: C,
  act: (request: CheckedRequest<C>) => Promise<Answer>,
): Endpoint {
  return { call, act: act as (request: never) => Promise<Answer> }
}
