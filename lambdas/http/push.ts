// The call that pushes, at once or by way of the inbox: what it accepts, and what it answers. An inbox message has
// the same body.

import * as v from 'valibot'
import { checkIdempotencyKey, checkPush } from '../../engine/core/check-requests.ts'
import { isScheduledId } from '../../engine/core/keys.ts'
import {
  DELAY_SECONDS_MAX,
  ITEM_TTL_SECONDS_MAX,
  ITEMS_PER_PUSH_MAX,
  PUSH_BYTES_MAX,
} from '../../engine/core/limits.ts'
import type { PushItem, PushRequest, Queues } from '../../engine/queues.ts'
import { msOf, present } from '../../shared/wire.ts'
import { answer, ok } from './answer.ts'
import { type Call, endpoint } from './endpoint.ts'
import { type Pages, queueErrors } from './page.ts'
import * as answers from './schemas/answers.ts'
import {
  described,
  epochSeconds,
  integer,
  list,
  object,
  optional,
  priority,
} from './schemas/fields.ts'

const number = (min: number, max: number, sentence: string) =>
  v.pipe(v.number(sentence), v.minValue(min, sentence), v.maxValue(max, sentence))

const delay = () =>
  number(0, DELAY_SECONDS_MAX, `must be a number of seconds from 0 to ${DELAY_SECONDS_MAX}`)

/** When an item should join its queue. */
const laterFields = () => ({
  delay_seconds: optional(
    delay(),
    'The item joins its queue this many seconds after the push, to the second and never early. Default 0.',
  ),
  deliver_at: optional(
    epochSeconds(),
    'The same as a time: epoch seconds, within five years. A time in the past is now. Not together with `delay_seconds`.',
  ),
})

/** Stays text: nothing here looks into it, so it may contain anything. */
const item = () => described(v.any(), 'Any JSON value, up to 256 KiB of text.')

export const itemToPush = object(
  {
    item: item(),
    priority: v.optional(priority()),
    expires_in_seconds: optional(
      integer(0, ITEM_TTL_SECONDS_MAX),
      'From this many seconds after the push on, no pop returns the item. Up to five years.',
    ),
    expires_at: optional(
      epochSeconds(),
      'The same as a time: epoch seconds, within five years. A time in the past means now: no pop returns it at all.',
    ),
    ...laterFields(),
  },
  '{"item": 1}',
)

const many = object({
  items: described(
    list(itemToPush, 1, ITEMS_PER_PUSH_MAX, 'objects with an item each'),
    'Pushes all of them, or none; they may have up to 100 priorities.',
  ),
})

const raw = { raw: new Set(['item']) }

export const pushCall = {
  headers: ['Idempotency-Key', 'Prefer'],
  body: {
    kind: 'required',
    schema: itemToPush,
    or: { field: 'items', schema: many },
    bytesMax: PUSH_BYTES_MAX,
    raw: { ...raw, lists: { items: { of: raw, max: ITEMS_PER_PUSH_MAX } } },
  },
} as const satisfies Call

/** Accepts pushes and applies them later. Not every service has one. */
export type Inbox = {
  send(queue: string, request: PushRequest): Promise<{ readonly messageId: string }>
}

export const pushEndpoints = (queues: Pick<Queues, 'push'>, inbox?: Inbox) => ({
  push: endpoint(pushCall, async ({ queue, body, header, tally, receivedMs }) => {
    const items = 'items' in body ? body.items.map(itemOf) : [itemOf(body)]
    const idempotencyKey = header('idempotency-key')
    if (inbox !== undefined && prefersAsync(header('prefer'))) {
      // Check everything before we accept it, as for a push: afterwards no caller is there to get an error.
      checkPush(items)
      if (idempotencyKey !== undefined) checkIdempotencyKey(idempotencyKey)
      const { messageId } = await inbox.send(queue, present({ items, idempotencyKey }))
      tally.count('InboxAccepted', items.length)
      const accepted = { success: true, accepted: items.length, message_id: messageId }
      return answer(202, accepted, { 'preference-applied': 'respond-async' })
    }
    const request = present({ items, idempotencyKey, receivedMs })
    const { ids, repeated } = await queues.push(queue, request)
    if (!repeated) {
      tally.count('ItemsPushed', items.length)
      tally.count('ItemsScheduled', ids.filter(isScheduledId).length)
    }
    // A header marks a repetition, because its body is that of the first answer.
    const headers = repeated ? { 'idempotency-replayed': 'true' } : {}
    return ok({ success: true, items_pushed: items.length, ids }, headers)
  }),
})

type Item = {
  readonly item: unknown
  readonly priority?: number | undefined
  readonly expires_in_seconds?: number | undefined
  readonly expires_at?: number | undefined
  readonly delay_seconds?: number | undefined
  readonly deliver_at?: number | undefined
}

/** The item is its text. */
export const itemOf = ({ item, priority, ...times }: Item): PushItem =>
  present({
    text: item as string,
    priority,
    expiresInSeconds: times.expires_in_seconds,
    expiresAtMs: msOf(times.expires_at),
    delaySeconds: times.delay_seconds,
    deliverAtMs: msOf(times.deliver_at),
  })

/**
 * Whether a `Prefer` header asks for an answer before the work is done (RFC 7240). Names are not
 * case-sensitive, and an unknown preference is not an error.
 */
export const prefersAsync = (prefer = ''): boolean =>
  prefer
    .replaceAll(/"(?:[^"\\]|\\.)*"/g, '')
    .split(',')
    .some((preference) => nameOf(preference) === 'respond-async')

const nameOf = (preference: string): string =>
  (preference.split(/[=;]/)[0] as string).trim().toLowerCase()

export const pushPages = (): Pages<keyof ReturnType<typeof pushEndpoints>> => ({
  push: {
    tag: 'Queue',
    summary: 'Push one item or up to 1,000',
    description:
      'A queue appears with its first push. Several items are pushed all or none. With an ' +
      '`Idempotency-Key` a repeated push has one effect and gets its first answer again. ' +
      'With `Prefer: respond-async` the service may answer 202 once the push is in its inbox, which ' +
      'applies it in order and once (docs/inbox.md); a service without an inbox pushes at once. ' +
      'In the inbox, a key that came before with other items gets no 422: these items go to the dead letters.',
    answer: answers.pushed,
    accepted: {
      says: 'The inbox has it, and applies it in a moment',
      answer: answers.accepted,
      header: 'Preference-Applied',
    },
    hasReplays: true,
    errors: [
      ...queueErrors,
      'SEGMENT_UNAVAILABLE',
      'INVALID_ITEM',
      'INVALID_PRIORITY',
      'ITEM_TOO_LARGE',
      'IDEMPOTENCY_CONFLICT',
      'QUEUE_FULL',
      'TOO_MANY_PRIORITIES',
    ],
  },
})
