// Pushes as HTTP calls: each by itself, or those that linger together as one request with one key, whose answer we
// share out. A call that the service would refuse, that has its own key, or that goes to the inbox never shares a
// request.

import {
  ITEM_BYTES_MAX,
  ITEMS_PER_PUSH_MAX,
  PRIORITIES_PER_PUSH_MAX,
  PUSH_BYTES_MAX,
} from '../shared/bounds.ts'
import { type Batching, blameOf, Lingering, type Load } from '../shared/linger.ts'
import { present } from '../shared/wire.ts'
import type { PushAnswer } from './api-types.ts'
import { PushPopError } from './errors.ts'
import { secondsOf, textOf } from './json.ts'
import { itemOptions } from './option-names.ts'
import type {
  AsyncOptions,
  CallOptions,
  ItemOptions,
  KeyOptions,
  PushItem,
  Queue,
} from './queue.ts'
import { newKey, queueAt } from './queue-calls.ts'
import { aborted, delay, type Send } from './transport.ts'

type PushCall = {
  /** Pushes one item, or a list, which may hold only one. */
  readonly form: 'one' | 'many'
  readonly items: readonly PushItem<unknown>[]
  readonly options: KeyOptions & AsyncOptions & CallOptions
}

/** `isReplay`: an earlier call with the same key had pushed. */
type PushedItems = {
  readonly ids: readonly string[]
  readonly isReplay: boolean
  /** Present if the items are in the service's inbox, and not yet in the queue. */
  readonly inInbox?: { readonly messageId: string; readonly itemsAccepted: number }
}

type Pusher = {
  push(id: string, call: PushCall): Promise<PushedItems>
  flush(): Promise<void>
}

/** The verbs of a queue that push. */
export function pushCalls<T>(pusher: Pusher, id: string): Pick<Queue<T>, 'push' | 'pushMany'> {
  const queue = queueAt(id)
  return {
    async push(item, options = {}) {
      const call = { form: 'one', items: [{ ...options, item }], options } as const
      const { ids, isReplay, inInbox } = await pusher.push(queue.id, call)
      if (inInbox !== undefined) return { messageId: inInbox.messageId }
      return present({ id: ids[0], repeated: isReplay || undefined })
    },
    async pushMany(items, options = {}) {
      const call = { form: 'many', items, options } as const
      const { ids, isReplay, inInbox } = await pusher.push(queue.id, call)
      if (inInbox !== undefined) return { itemsPushed: 0, ids, ...inInbox }
      return present({ itemsPushed: items.length, ids, repeated: isReplay || undefined })
    },
  }
}

export function pusherOf(send: Send, batching: Batching | undefined): Pusher {
  if (batching === undefined) {
    const push = async (id: string, call: PushCall) => {
      const [pushed] = await sendPushes(send, id, [asText(call)], { signal: call.options.signal })
      return pushed as PushedItems
    }
    return { push, flush: async () => {} }
  }
  const lingering = new Lingering<TextCall, PushedItems>(batching, {
    nowMs: () => performance.now(),
    sleep: delay,
    async send(id, calls, sending) {
      const pushed = await sendPushes(send, id, calls, sending)
      return pushed.map((answer) => ({ kind: 'answer', answer }))
    },
    blame: (error) => (error instanceof PushPopError ? blameOf(error) : 'all'),
    givenUp: (signal, wasSent) =>
      Object.assign(aborted(signal), wasSent ? { outcome: 'unknown' } : { attempts: 0 }),
    tooMany: (message: string) => new PushPopError('BUSY', message, { retryable: true }),
  })
  return {
    async push(id, call) {
      const text = asText(call)
      return lingering.push(id, text, loadOf(text, call), call.options.signal)
    },
    flush: () => lingering.flush(),
  }
}

type TextCall = {
  readonly form: PushCall['form']
  readonly texts: readonly string[]
  readonly idempotent: boolean
  readonly key: string | undefined
  readonly respondAsync: boolean
}

function asText({ form, items, options }: PushCall): TextCall {
  const { idempotent = false, idempotencyKey: key, respondAsync = false } = options
  const at = (index: number) => (form === 'one' ? '' : `items[${index}].`)
  const texts = items.map((item, index) => pushText(item, at(index)))
  return { form, texts, idempotent, key, respondAsync }
}

function pushText(item: PushItem<unknown>, at: string): string {
  const given = itemOptions.map(({ wire, is, option }) => [
    wire,
    is === 'time' ? secondsOf(at + option, item[option] as Date | number) : item[option],
  ])
  const rest = JSON.stringify(Object.fromEntries(given)).slice(1)
  return `{"item":${textOf(item.item)}${rest === '}' ? '' : ','}${rest}`
}

/** One request for all of these calls. */
async function sendPushes(
  send: Send,
  id: string,
  calls: readonly TextCall[],
  { signal, isPatient = true }: { signal: AbortSignal | undefined; isPatient?: boolean },
): Promise<readonly PushedItems[]> {
  const [first] = calls as readonly [TextCall]
  const isLone = calls.length === 1
  const texts = calls.flatMap((call) => call.texts)
  // A call with its caller's own key goes alone. A key that we make serves all calls, and does no harm to those that
  // did not ask for one.
  const key = first.key ?? (calls.some(({ idempotent }) => idempotent) ? newKey() : undefined)
  const { body, isReplay } = await send({
    verb: 'push',
    at: { id },
    body: isLone && first.form === 'one' ? texts[0] : `{"items":[${texts.join(',')}]}`,
    headers: {
      ...(key !== undefined && { 'idempotency-key': key }),
      ...(first.respondAsync && { prefer: 'respond-async' }),
    },
    isRepeatable: key !== undefined,
    signal,
    isFinal: (error) => !isPatient && blameOf(error) !== 'all',
  })
  const pushed = body as PushAnswer
  if ('accepted' in pushed) {
    const inInbox = { messageId: pushed.message_id, itemsAccepted: pushed.accepted }
    return [{ ids: [], isReplay, inInbox }]
  }
  const { ids } = pushed
  let from = 0
  return calls.map(({ texts }) => {
    from += texts.length
    return { ids: ids.slice(from - texts.length, from), isReplay }
  })
}

/**
 * A call that the service would refuse goes alone, so that it gets the service's own error and harms no other call. So
 * does a call for the inbox, which has another answer.
 */
function loadOf({ texts, key, respondAsync }: TextCall, { items }: PushCall): Load {
  const sizes = texts.map((text) => new TextEncoder().encode(text).length + 1)
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  const priorities = new Set(items.map(({ priority = 0 }) => priority))
  const isFit =
    texts.length > 0 &&
    texts.length <= ITEMS_PER_PUSH_MAX &&
    bytes < PUSH_BYTES_MAX &&
    priorities.size <= PRIORITIES_PER_PUSH_MAX &&
    sizes.every((size) => size <= ITEM_BYTES_MAX) &&
    items.every(isAsServiceTakesIt)
  // Only the service's clock tells whether a time is still ahead.
  const itemsNow = items.filter(
    ({ delaySeconds = 0, deliverAt }) => delaySeconds === 0 && deliverAt === undefined,
  ).length
  const alone = key !== undefined || respondAsync || !isFit
  const isPlain = priorities.size === 1 && priorities.has(0)
  return { items: texts.length, bytes, itemsNow, alone, ...(!isPlain && { priorities }) }
}

/** Whether the service would accept what was given with the item, as far as we can tell. */
const isAsServiceTakesIt = (item: PushItem<unknown>): boolean =>
  itemOptions.every(({ is, option, max = 0, not }) => {
    const given = item[option]
    if (given === undefined) return true
    if (not !== undefined && item[not as keyof ItemOptions] !== undefined) return false
    if (is === 'time') return Number(given) >= 0
    if (is === 'text') return String(given).length <= max
    return Number.isInteger(given) && Number(given) >= 0 && Number(given) <= max
  })
