import * as v from 'valibot'
import {
  BUFFER_SEGMENTS_MAX,
  MAX_DELIVERIES_MAX,
  ROOM_UNLIMITED,
  SEGMENT_SIZE_MAX,
} from '../../engine/core/limits.ts'
import { SMALL_BODY_BYTES_MAX } from '../body-text.ts'
import type { Call } from './call.ts'
import { integer, object, priority } from './fields.ts'
import { limitSettings, maxRequests } from './rate.ts'

const small = { bytesMax: SMALL_BODY_BYTES_MAX } as const
const LIMIT_MAX = 1_000
const CAPACITY_MAX = ROOM_UNLIMITED / 1_000

const limit = { ...limitSettings, max_requests: maxRequests() }
const removableLimit = (description: string) =>
  v.optional(v.nullable(v.pipe(object(limit), v.description(description))))

const removable = (max: number, description: string) =>
  v.optional(v.nullable(v.pipe(integer(1, max), v.description(description))))

const plain = { raw: new Set<string>() }

export const configureCall = {
  headers: ['If-Match'],
  body: {
    ...small,
    kind: 'required',
    raw: { ...plain, objects: { push_limit: plain, pop_limit: plain } },
    schema: object({
      segment_size: v.optional(
        v.pipe(
          integer(1, SEGMENT_SIZE_MAX),
          v.description('Items a segment, of lanes made from now on. Default 100.'),
        ),
      ),
      buffer_segments: v.optional(
        v.pipe(
          integer(1, BUFFER_SEGMENTS_MAX),
          v.description('Segments kept near the head before others go to S3. Default 1.'),
        ),
      ),
      max_deliveries: removable(
        MAX_DELIVERIES_MAX,
        'An item that comes back this often is dead-lettered. `null`: never.',
      ),
      capacity: removable(CAPACITY_MAX, 'Items the queue may hold. `null`: no limit.'),
      push_limit: removableLimit(
        'How many calls may push. A new one replaces the old. `null`: no limit.',
      ),
      pop_limit: removableLimit(
        'How many calls may pop. A new one replaces the old. `null`: no limit.',
      ),
    }),
  },
} as const satisfies Call

export const purgeCall = {
  body: {
    ...small,
    kind: 'optional',
    schema: object({
      priority: v.optional(v.pipe(priority(), v.description('Only these. Default: all.'))),
    }),
  },
} as const satisfies Call

export const redriveCall = {
  body: {
    ...small,
    kind: 'optional',
    schema: object({
      limit: v.optional(
        v.pipe(integer(1, LIMIT_MAX), v.description('How many items at most. Default 1,000.')),
      ),
    }),
  },
} as const satisfies Call
