import * as v from 'valibot'
import { ITEMS_PER_POP_MAX, WAIT_SECONDS_MAX } from '../../engine/core/limits.ts'
import type { Call } from './call.ts'
import { flag, integer, lockId, object, optional, ttlSeconds } from './fields.ts'

export const popCall = {
  headers: ['Idempotency-Key'],
  parametersAsHeaders: true,
  parameters: object({
    count: optional(integer(1, ITEMS_PER_POP_MAX), 'How many items at most. Default 1.'),
    require_ack: optional(flag(), 'Lock the items until they are acknowledged. Default false.'),
    ttl_seconds: v.optional(ttlSeconds()),
    allow_competing_consumers: optional(
      flag(),
      'Take free items beside live locks. Default false.',
    ),
    wait_seconds: optional(
      integer(1, WAIT_SECONDS_MAX),
      'If there is nothing to pop, wait for something for up to this many seconds. If too many calls wait already, the answer comes at once, with Retry-After.',
    ),
    acknowledge: optional(lockId(), 'A lock to acknowledge in the same write.'),
  }),
} as const satisfies Call
