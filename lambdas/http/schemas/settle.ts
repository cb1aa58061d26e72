import * as v from 'valibot'
import { REASON_CHARACTERS_MAX } from '../../engine/core/limits.ts'
import { SMALL_BODY_BYTES_MAX } from '../body-text.ts'
import type { Call } from './call.ts'
import { itemIds, lockId, object, text, ttlSeconds } from './fields.ts'

const LOCKS_MAX = 100
const sentence = `must be 1 to ${LOCKS_MAX} lock ids`

const oneLock = object({ lock_id: lockId(), ids: v.optional(itemIds()) })
const small = { kind: 'required', bytesMax: SMALL_BODY_BYTES_MAX } as const

export const acknowledgeCall = {
  body: {
    ...small,
    schema: oneLock,
    or: {
      field: 'lock_ids',
      schema: object({
        lock_ids: v.pipe(
          v.array(lockId(), sentence),
          v.minLength(1, sentence),
          v.maxLength(LOCKS_MAX, sentence),
          v.description('Each is settled for itself, and has a result of its own.'),
        ),
      }),
    },
    mediaTypes: 'json-or-curl',
  },
} as const satisfies Call

export const extendLockCall = {
  body: { ...small, schema: object({ lock_id: lockId(), ttl_seconds: ttlSeconds() }) },
} as const satisfies Call

export const releaseCall = { body: { ...small, schema: oneLock } } as const satisfies Call

export const deadLetterCall = {
  body: {
    ...small,
    schema: object({
      lock_id: lockId(),
      ids: v.optional(itemIds()),
      reason: v.optional(
        v.pipe(text(0, REASON_CHARACTERS_MAX), v.description('Kept with the items.')),
      ),
    }),
  },
} as const satisfies Call
