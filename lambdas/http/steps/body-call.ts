import { SMALL_BODY_BYTES_MAX } from '../body-text.ts'
import type { Exchange, Target } from '../exchange.ts'
import type { BodyCall } from '../schemas/call.ts'
import { nothing } from '../schemas/fields.ts'

/** A call without a body accepts an empty object: some clients send `{}` by themselves. */
const noBody: BodyCall = { kind: 'optional', schema: nothing, bytesMax: SMALL_BODY_BYTES_MAX }

export const bodyCallOf = (exchange: Exchange): BodyCall =>
  (exchange.target as Target).endpoint.call.body ?? noBody
