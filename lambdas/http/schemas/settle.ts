import * as v from 'valibot'
import {
  LOCKS_PER_CALL_MAX,
  REASON_CHARACTERS_MAX,
  RELEASE_DELAY_SECONDS_MAX,
} from '../../engine/core/limits.ts'
import { SMALL_BODY_BYTES_MAX } from '../body-text.ts'
import type { Call } from './call.ts'
import {
  described,
  flag,
  integer,
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
          'Each lock is settled independently, and has its own result.',
        ),
      }),
    },
    mediaTypes: 'json-or-curl',
  },
} as const satisfies Call

export const extendLockCall = {
  body: { ...small, schema: object({ lock_id: lockId(), ttl_seconds: ttlSeconds() }) },
} as const satisfies Call

export const releaseCall = {
  body: {
    ...small,
    schema: object({
      lock_id: lockId(),
      ids: v.optional(lockedItemIds()),
      delay_seconds: optional(
        integer(0, RELEASE_DELAY_SECONDS_MAX),
        'How long the items wait before they come back. In an exclusive queue, the others wait with them. Default 0.',
      ),
      overtake: optional(
        flag(),
        'The others do not wait: until then, pops pass these items. Default false.',
      ),
    }),
  },
} as const satisfies Call

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
