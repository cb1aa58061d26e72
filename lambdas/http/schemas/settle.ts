import * as v from 'valibot'
import { LOCKS_PER_CALL_MAX, REASON_CHARACTERS_MAX } from '../../engine/core/limits.ts'
import { SMALL_BODY_BYTES_MAX } from '../body-text.ts'
import type { Call } from './call.ts'
import {
  described,
  list,
  lockedItemIds,
  lockId,
  object,
  optional,
  text,
  ttlSeconds,
} from './fields.ts'

const oneLock = object({ lock_id: lockId(), ids: v.optional(lockedItemIds()) })
const small = { kind: 'required', bytesMax: SMALL_BODY_BYTES_MAX } as const

export const acknowledgeCall = {
  body: {
    ...small,
    schema: oneLock,
    or: {
      field: 'lock_ids',
      schema: object({
        lock_ids: described(
          list(lockId(), 1, LOCKS_PER_CALL_MAX, 'lock ids'),
          'Each is settled for itself, and has a result of its own.',
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
      ids: v.optional(lockedItemIds()),
      reason: optional(text(0, REASON_CHARACTERS_MAX), 'Kept with the items.'),
    }),
  },
} as const satisfies Call
