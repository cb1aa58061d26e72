import { isScheduledId } from '../../engine/core/keys.ts'
import { checkIdempotencyKey } from '../../engine/core/pop-request.ts'
import { checkPush } from '../../engine/core/push-request.ts'
import type { PushItem, PushRequest, Queues } from '../../engine/queues.ts'
import { present } from '../../foundation/shared/present.ts'
import { answer, ok } from '../answer.ts'
import { endpoint } from '../endpoint.ts'
import { msOf } from '../ms-of.ts'
import { prefersAsync } from '../preference.ts'
import { pushCall } from '../schemas/push.ts'

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
    // A repeated push whose items are long gone has no ids any more, but it did happen. A header marks a
    // repetition, because its body is that of the first answer.
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
