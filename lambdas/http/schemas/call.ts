import type * as v from 'valibot'
import type { ObjectSchema, RawFields } from '../body-fields.ts'
import type { MediaTypes } from '../media-type.ts'

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

export type ParametersOf<C extends Call> = Output<C['parameters']>

export type BodyOf<C extends Call> = C['body'] extends BodyCall
  ?
      | Output<C['body']['schema']>
      | (C['body']['or'] extends { readonly schema: infer S } ? Output<S> : never)
  : Record<never, never>
