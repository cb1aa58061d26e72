// What the page of the API says about each call: its words, its answer, and its errors beside those that every call has.
// A call's page stands beside its schema, in a function that no handler calls; and `package.json` here tells bundlers
// that loading a file does nothing. So no function's bundle has the pages, or the schemas of answers.

import type * as v from 'valibot'
import type { HttpErrorCode } from './answer.ts'

export type Accepted = {
  readonly says: string
  readonly answer: v.GenericSchema
  /** A header that it has beside those of 200. */
  readonly header: 'Retry-After' | 'Preference-Applied'
}

export type Page = {
  readonly tag: 'Queue' | 'Locks' | 'Inspection' | 'Management' | 'Rate limits' | 'Service'
  readonly summary: string
  readonly description: string
  /** Absent where there is no body. */
  readonly answer?: v.GenericSchema
  /** The answer for 202, if the call has one. */
  readonly accepted?: Accepted
  readonly hasEtag?: true
  readonly hasReplays?: true
  readonly hasRateLimit?: true
  readonly errors: readonly HttpErrorCode[]
}

export type Pages<OperationId extends string> = Readonly<Record<OperationId, Page>>

/** Whatever a call is about, its parameters, its body and its store can be wrong. */
export const commonErrors = [
  'INVALID_PARAMETER',
  'UNKNOWN_FIELD',
  'INVALID_JSON',
  'BODY_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'RATE_LIMITED',
  'INTERNAL',
] as const satisfies readonly HttpErrorCode[]

/** Of every call that asks the table. */
export const storeErrors = ['STORE_UNAVAILABLE', 'FORMAT_UNKNOWN'] as const
export const queueErrors = [
  'INVALID_QUEUE_ID',
  'BUSY',
  'STORE_UNAVAILABLE',
  'FORMAT_UNKNOWN',
] as const
export const lockErrors = ['INVALID_LOCK_ID', 'LOCK_NOT_FOUND', 'LOCK_EXPIRED'] as const
