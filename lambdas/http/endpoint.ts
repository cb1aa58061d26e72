// What a call is: what it accepts, as data, and the code that acts on a request that has passed every check.

import type * as v from 'valibot'
import type { Tally } from '../runtime/log.ts'
import type { Answer } from './answer.ts'
import type { MediaTypes, ObjectSchema, RawFields } from './read-request.ts'

/** What a call accepts, as data: it checks requests, and we make the OpenAPI page from it. */
export type Call = {
  /** Query parameters; a call without this refuses them all. */
  readonly parameters?: ObjectSchema
  /** They may also come as headers. */
  readonly parametersAsHeaders?: true
  readonly body?: BodyCall
  /** Takes any request, and checks nothing. */
  readonly unchecked?: true
  /** Headers with a meaning here. */
  readonly headers?: readonly ('Idempotency-Key' | 'If-Match' | 'Prefer')[]
}

export type BodyCall = {
  readonly kind: 'optional' | 'required'
  readonly schema: ObjectSchema
  /** Another form of the body, which has this field. */
  readonly or?: { readonly field: string; readonly schema: ObjectSchema }
  readonly bytesMax: number
  readonly raw?: RawFields
  readonly mediaTypes?: MediaTypes
}

type Output<S> = S extends v.GenericSchema ? v.InferOutput<S> : Record<never, never>

type ParametersOf<C extends Call> = Output<C['parameters']>

type BodyOf<C extends Call> = C['body'] extends BodyCall
  ?
      | Output<C['body']['schema']>
      | (C['body']['or'] extends { readonly schema: infer S } ? Output<S> : never)
  : Record<never, never>

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
