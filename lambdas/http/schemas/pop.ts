import * as v from 'valibot'
import { ITEMS_PER_POP_MAX } from '../../engine/core/limits.ts'
import type { Call } from './call.ts'
import { flag, integer, lockId, object, ttlSeconds } from './fields.ts'

export const popCall = {
  headers: ['Idempotency-Key'],
  parametersAsHeaders: true,
  parameters: object({
    count: v.optional(
      v.pipe(integer(1, ITEMS_PER_POP_MAX), v.description('How many items at most. Default 1.')),
    ),
    require_ack: v.optional(
      v.pipe(flag(), v.description('Lock the items until they are acknowledged. Default false.')),
    ),
    ttl_seconds: v.optional(ttlSeconds()),
    allow_competing_consumers: v.optional(
      v.pipe(flag(), v.description('Pass by live locks and take what is free. Default false.')),
    ),
    acknowledge: v.optional(
      v.pipe(lockId(), v.description('A lock to acknowledge in the same write.')),
    ),
  }),
} as const satisfies Call
