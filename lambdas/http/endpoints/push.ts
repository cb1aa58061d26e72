import type { PushItem, Queues } from '../../engine/queues.ts'
import { present } from '../../foundation/shared/present.ts'
import { ok } from '../answer.ts'
import { endpoint } from '../endpoint.ts'
import { pushCall } from '../schemas/push.ts'

export const pushEndpoints = (queues: Queues) => ({
  push: endpoint(pushCall, async ({ queue, body, header, tally, receivedMs }) => {
    const items = 'items' in body ? body.items.map(itemOf) : [itemOf(body)]
    const idempotencyKey = header('idempotency-key')
    const request = present({ items, idempotencyKey, receivedMs })
    const { ids, repeated } = await queues.push(queue, request)
    if (!repeated) tally.count('ItemsPushed', items.length)
    // A repeated push whose items are long gone has no ids any more; it happened anyway. A header tells
    // that it is one, because its body is that of the first answer.
    const headers = repeated ? { 'idempotency-replayed': 'true' } : {}
    return ok({ success: true, items_pushed: items.length, ids }, headers)
  }),
})

type Item = { readonly item: unknown; readonly priority?: number | undefined }

/** The item is its text. */
const itemOf = ({ item, priority }: Item): PushItem => present({ text: item as string, priority })
