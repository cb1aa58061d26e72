import { QueueError } from '../../foundation/errors.ts'
import { type Names, refuseUnknown } from '../../foundation/shared/known-options.ts'
import { checkExpiry, checkOutlasts } from './item-expiry.ts'
import {
  DELAY_SECONDS_MAX,
  ITEM_BYTES_MAX,
  ITEMS_PER_PUSH_MAX,
  PRIORITY_MAX,
  PUSH_BYTES_MAX,
} from './limits.ts'
import { checkMs } from './time-in-ms.ts'

export type PushItem = {
  /** The item as JSON text; stored and returned byte for byte. */
  readonly text: string
  readonly priority?: number | undefined
  /** No pop returns the item once this long has passed since its push, or from this time on. Give only one. */
  readonly expiresInSeconds?: number | undefined
  readonly expiresAtMs?: number | undefined
  /** When the caller handed it in, from which `expiresInSeconds` counts. Default: when it is pushed. */
  readonly sinceMs?: number | undefined
  /** The item joins its lane this many seconds after the push; 0 means at once. */
  readonly delaySeconds?: number | undefined
  /** The same as a time; a time in the past means now. */
  readonly deliverAtMs?: number | undefined
}

const itemNames: Names<PushItem> = {
  text: 0,
  priority: 0,
  expiresInSeconds: 0,
  expiresAtMs: 0,
  sinceMs: 0,
  delaySeconds: 0,
  deliverAtMs: 0,
}

/** Other fields that pops and lists return, allowed here so that a caller can push an item elsewhere as it came. */
export const toldNames = {
  id: 0,
  pushedAtMs: 0,
  deliveries: 0,
  scheduledId: 0,
  dueMs: 0,
  reason: 0,
  deadLetteredAtMs: 0,
  priorDeliveries: 0,
  state: 0,
  retryAtMs: 0,
} as const

export type PushRequest = {
  readonly items: readonly PushItem[]
  readonly idempotencyKey?: string | undefined
  /** When the gateway received the call. A limit counts nothing by a clock that is far from this. */
  readonly receivedMs?: number | undefined
}

/** Refuses items that cannot be pushed; the error names the field. */
export function checkPush(items: readonly PushItem[]): void {
  if (items.length === 0 || items.length > ITEMS_PER_PUSH_MAX) {
    throw new QueueError(
      'INVALID_ITEM',
      `Cannot push ${items.length} items at once because it takes 1 to ${ITEMS_PER_PUSH_MAX}`,
      { field: 'items' },
    )
  }
  let bytes = 0
  for (const [index, item] of items.entries()) {
    const field = items.length === 1 ? 'item' : `items[${index}]`
    checkNames(item, field)
    checkPriority(item.priority ?? 0, items.length === 1 ? 'priority' : `${field}.priority`)
    checkExpiry(item, items.length === 1 ? '' : `${field}.`)
    bytes += checkText(item.text, field)
    checkTimes(item, items.length === 1 ? '' : `${field}.`)
  }
  if (bytes > PUSH_BYTES_MAX) {
    throw new QueueError(
      'BODY_TOO_LARGE',
      `Cannot push ${bytes} bytes at once because the limit is ${PUSH_BYTES_MAX}`,
      { field: 'items' },
    )
  }
}

/** Refuses unknown names: one may be a misspelt time for which the caller meant the item. */
function checkNames(item: PushItem, field: string): void {
  for (const name in item) {
    if (Object.hasOwn(itemNames, name) || Object.hasOwn(toldNames, name)) continue
    refuseUnknown({ [name]: item[name as keyof PushItem] }, itemNames, field)
  }
}

export function checkPriority(priority: unknown, field: string): void {
  if (
    Number.isInteger(priority) &&
    (priority as number) >= 0 &&
    (priority as number) <= PRIORITY_MAX
  ) {
    return
  }
  throw new QueueError(
    'INVALID_PRIORITY',
    `${field} must be an integer from 0 to ${PRIORITY_MAX}`,
    {
      field,
    },
  )
}

/** When an item should join its lane: a full second, never early. `undefined` means now. */
export function dueSecondOf(
  { delaySeconds, deliverAtMs }: PushItem,
  pushedAtMs: number,
): number | undefined {
  const dueMs = deliverAtMs ?? pushedAtMs + 1_000 * (delaySeconds ?? 0)
  return dueMs <= pushedAtMs ? undefined : Math.ceil(dueMs / 1_000)
}

export const mayBeLater = ({ delaySeconds, deliverAtMs }: PushItem): boolean =>
  delaySeconds !== undefined || deliverAtMs !== undefined

function checkTimes({ delaySeconds, deliverAtMs }: PushItem, prefix: string): void {
  if (delaySeconds !== undefined && deliverAtMs !== undefined) {
    const field = `${prefix}deliver_at`
    throw wrongTime(field, `${field} cannot be given together with ${prefix}delay_seconds`)
  }
  if (delaySeconds !== undefined) {
    const isOne = delaySeconds >= 0 && delaySeconds <= DELAY_SECONDS_MAX
    const field = `${prefix}delay_seconds`
    if (!isOne) throw wrongTime(field, `${field} must be a number from 0 to ${DELAY_SECONDS_MAX}`)
  }
  if (deliverAtMs !== undefined) checkMs(deliverAtMs, `${prefix}deliver_at`)
}

/**
 * By the clock of the process that pushes. A repeated push may come so late that an item would expire before its new
 * due time, so only a new push (`isNew`) is refused for that.
 */
export function checkTimesAhead(
  items: readonly PushItem[],
  nowMs: number,
  { isNew = true }: { readonly isNew?: boolean } = {},
): void {
  for (const [index, item] of items.entries()) {
    const { deliverAtMs = 0, expiresAtMs = 0 } = item
    const due = dueSecondOf(item, nowMs)
    const at = items.length === 1 ? '' : `items[${index}].`
    if (isNew && due !== undefined) checkOutlasts(item, 1_000 * due, nowMs, at)
    checkAhead(deliverAtMs, nowMs, `${at}deliver_at`)
    checkAhead(expiresAtMs, nowMs, `${at}expires_at`)
  }
}

export function checkAhead(ms: number, nowMs: number, field: string): void {
  checkMs(ms, field)
  if (ms > nowMs + 1_000 * DELAY_SECONDS_MAX) {
    throw wrongTime(field, `${field} must be within five years`)
  }
}

const wrongTime = (field: string, message: string): QueueError =>
  new QueueError('INVALID_PARAMETER', message, { field })

function checkText(text: unknown, field: string): number {
  // A lone surrogate outside an escape has no UTF-8: it could not come back as it was.
  if (typeof text !== 'string' || !text.isWellFormed() || !isJson(text)) {
    throw new QueueError('INVALID_ITEM', `${field} must be JSON text`, { field })
  }
  const bytes = Buffer.byteLength(text)
  if (bytes > ITEM_BYTES_MAX) {
    throw new QueueError(
      'ITEM_TOO_LARGE',
      `${field} has ${bytes} bytes, and the limit is ${ITEM_BYTES_MAX}`,
      { field },
    )
  }
  return bytes
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    // All we need to know is that this is not JSON; the calling function names the field.
    return false
  }
}
