// The call that pushes, at once or by way of the inbox: what it accepts, and what it answers. An inbox message has
// the same body.

import * as v from 'valibot'
import { checkIdempotencyKey, checkPush } from '../../engine/core/check-requests.ts'
import { isScheduledId } from '../../engine/core/keys.ts'
import { ITEMS_PER_PUSH_MAX, PUSH_BYTES_MAX } from '../../engine/core/limits.ts'
import type { PushItem, PushRequest, Queues } from '../../engine/queues.ts'
import { givenFields } from '../../shared/item-fields.ts'
import { msOf, present } from '../../shared/wire.ts'
import { answer, ok } from './answer.ts'
import { type Call, endpoint } from './endpoint.ts'
import { type Pages, queueErrors } from './page.ts'
import * as answers from './schemas/answers.ts'
import { described, list, object } from './schemas/fields.ts'
import { givenEntries } from './schemas/item.ts'

export const itemToPush = object(
  {
    // Stays text: nothing here looks into it, so it may contain anything.
    item: described(v.any(), 'Any JSON value, up to 256 KiB of text.'),
    ...givenEntries(),
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

/** An item as the engine takes it, from a body that was checked: its own JSON is text. */
export function itemOf(body: Readonly<Record<string, unknown>>): PushItem {
  const given: Record<string, unknown> = { text: body.item }
  for (const name in body) {
    const field = givenByWire.get(name)
    if (field === undefined) continue
    const value = body[name]
    given[field.name] = field.is === 'time' ? msOf(value as number) : value
  }
  return given as PushItem
}

const givenByWire = new Map(givenFields.map((field) => [field.wire, field]))

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
