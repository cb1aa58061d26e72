import type { PushItem, Queues } from '../../engine/queues.ts'
import { present } from '../../foundation/shared/present.ts'
import { ok } from '../answer.ts'
import { endpoint } from '../endpoint.ts'
import { pushCall } from '../schemas/push.ts'

export const pushEndpoints = (queues: Queues) => ({
  push: endpoint(pushCall, async ({ queue, body, header, tally, receivedMs }) => {
    const items = 'items' in body ? body.items.map(itemOf) : [itemOf(body)]
    const idempotencyKey = header('idempotency-key')
    const { ids } = await queues.push(queue, present({ items, idempotencyKey, receivedMs }))
    tally.count('ItemsPushed', items.length)
    // A repeated push whose items are long gone has no ids any more; it happened anyway.
    return ok({ success: true, items_pushed: items.length, ids })
  }),
})

type Item = { readonly item: unknown; readonly priority?: number | undefined }

/** The item is its text. */
const itemOf = ({ item, priority }: Item): PushItem => present({ text: item as string, priority })
