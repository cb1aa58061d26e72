// What a caller may push and pop, and how the engine refuses the rest: the first thing that is wrong, with the name of
// its field over HTTP. It says as well what the times of an item mean, as the caller gave them: when the item is due,
// and when it expires.

import { invalid, QueueError } from '../../shared/errors.ts'
import { type Names, refuseUnknown } from '../../shared/options.ts'
import { looksLikeSeconds } from '../../shared/wire.ts'
import {
  DELAY_SECONDS_MAX,
  ITEM_BYTES_MAX,
  ITEM_TTL_SECONDS_MAX,
  ITEMS_PER_POP_MAX,
  ITEMS_PER_PUSH_MAX,
  LOCK_TTL_SECONDS_DEFAULT,
  LOCK_TTL_SECONDS_MAX,
  LOCK_TTL_SECONDS_MIN,
  PRIORITIES_PER_PUSH_MAX,
  PRIORITY_MAX,
  PUSH_BYTES_MAX,
  WAIT_SECONDS_MAX,
} from './limits.ts'

export type Pushed = {
  readonly ids: readonly string[]
  /** An earlier push with this key pushed the items; this one changed nothing. */
  readonly repeated?: true
}

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

export type PushRequest = {
  readonly items: readonly PushItem[]
  readonly idempotencyKey?: string | undefined
  /** When the gateway received the call. A limit counts nothing by a clock that is far from this. */
  readonly receivedMs?: number | undefined
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
  if (items.length > PRIORITIES_PER_PUSH_MAX) checkPriorities(items)
  if (bytes > PUSH_BYTES_MAX) {
    throw new QueueError(
      'BODY_TOO_LARGE',
      `Cannot push ${bytes} bytes at once because the limit is ${PUSH_BYTES_MAX}`,
      { field: 'items' },
    )
  }
}

function checkPriorities(items: readonly PushItem[]): void {
  const { size } = new Set(items.map(({ priority = 0 }) => priority))
  if (size <= PRIORITIES_PER_PUSH_MAX) return
  throw new QueueError(
    'INVALID_PRIORITY',
    `Cannot push to ${size} priorities at once because it takes ${PRIORITIES_PER_PUSH_MAX}; push them in parts`,
    { field: 'items' },
  )
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

// When an item is due: given as a delay or as a time, and stored as a whole second.

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
    throw invalid(field, `${field} cannot be given together with ${prefix}delay_seconds`)
  }
  if (delaySeconds !== undefined) {
    const isOne = delaySeconds >= 0 && delaySeconds <= DELAY_SECONDS_MAX
    const field = `${prefix}delay_seconds`
    if (!isOne) throw invalid(field, `${field} must be a number from 0 to ${DELAY_SECONDS_MAX}`)
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
    throw invalid(field, `${field} must be within five years`)
  }
}

// When an item expires: given as seconds or as a time, and later than it is due.

type Given = Pick<PushItem, 'expiresInSeconds' | 'expiresAtMs' | 'sinceMs'>

/** Larger than any date. */
const TIME_MS_MAX = 8_640_000_000_000_000

/** Refuses an invalid expiry, naming the field; `at`: where the item is in a request, `items[3].`. */
export function checkExpiry({ expiresInSeconds, expiresAtMs }: Given, at: string): void {
  if (expiresAtMs !== undefined) {
    const field = `${at}expires_at`
    if (expiresInSeconds !== undefined) {
      throw invalid(field, `${field} cannot be given together with ${at}expires_in_seconds`)
    }
    checkMs(expiresAtMs, field)
    if (expiresAtMs >= 0 && expiresAtMs <= TIME_MS_MAX) return
    throw invalid(field, `${field} must be a time since 1970`)
  }
  if (expiresInSeconds === undefined) return
  const isWhole = Number.isInteger(expiresInSeconds)
  if (isWhole && expiresInSeconds >= 0 && expiresInSeconds <= ITEM_TTL_SECONDS_MAX) return
  const field = `${at}expires_in_seconds`
  throw invalid(field, `${field} must be an integer from 0 to ${ITEM_TTL_SECONDS_MAX}`)
}

/** When it expires. A time in the past means now: the item is stored, and no pop returns it. */
export const expiresAtMsOf = (
  { expiresInSeconds, expiresAtMs, sinceMs }: Given,
  nowMs: number,
): number | undefined =>
  expiresInSeconds === undefined
    ? expiresAtMs && Math.floor(expiresAtMs)
    : (sinceMs ?? nowMs) + 1_000 * expiresInSeconds

/** Refuses an item that expires before it is due: no pop could ever return it. */
export function checkOutlasts(item: Given, dueMs: number, nowMs: number, at: string): void {
  const expiresAtMs = expiresAtMsOf(item, nowMs)
  if (expiresAtMs === undefined || expiresAtMs > dueMs) return
  const [field, problem] =
    item.expiresInSeconds === undefined
      ? [`${at}expires_at`, 'must be later than the time at which the item is due']
      : [`${at}expires_in_seconds`, 'must reach beyond the time at which the item is due']
  throw invalid(field, `${field} ${problem}`)
}

/** The expiry as the caller gave it, so that a repeated push has the same text, however late it comes. */
export const expiryText = ({ expiresInSeconds, expiresAtMs }: Given): readonly string[] => [
  ...(expiresInSeconds === undefined ? [] : [`expires in ${expiresInSeconds}`]),
  ...(expiresAtMs === undefined ? [] : [`expires at ${expiresAtMs}`]),
]

// What a pop may ask for.

export type PopRequest = {
  readonly count?: number | undefined
  readonly requireAck?: boolean | undefined
  readonly ttlSeconds?: number | undefined
  /** Takes free items beside live locks. Otherwise a live lock holds back the whole queue. */
  readonly competing?: boolean | undefined
  /** A lock to acknowledge in the same write. */
  readonly acknowledge?: string | undefined
  /** With `requireAck`: a pop repeated with this key while its lock lives gets the same items and lock again. */
  readonly idempotencyKey?: string | undefined
  /** The lock's signs say that a consumer's run holds it: see `consumersAreGone`. */
  readonly forConsumer?: boolean | undefined
  /** If there is nothing to pop, waits this long for something: 1 to 20 seconds. */
  readonly waitSeconds?: number | undefined
  /** Ends the wait early; the pop answers as if its time were up. */
  readonly signal?: AbortSignal | undefined
  /** When the gateway received the call. A limit counts nothing by a clock that is far from this. */
  readonly receivedMs?: number | undefined
}

export function checkPop(request: PopRequest): { count: number; ttlMs: number } {
  const { count = 1, ttlSeconds = LOCK_TTL_SECONDS_DEFAULT, waitSeconds } = request
  if (!Number.isInteger(count) || count < 1 || count > ITEMS_PER_POP_MAX) {
    throw new QueueError(
      'INVALID_COUNT',
      `count must be an integer from 1 to ${ITEMS_PER_POP_MAX}`,
      {
        field: 'count',
      },
    )
  }
  const isWait = (seconds: number) =>
    Number.isInteger(seconds) && seconds >= 1 && seconds <= WAIT_SECONDS_MAX
  if (waitSeconds !== undefined && !isWait(waitSeconds)) {
    throw invalid('wait_seconds', `wait_seconds must be an integer from 1 to ${WAIT_SECONDS_MAX}`)
  }
  if (request.idempotencyKey !== undefined) {
    checkIdempotencyKey(request.idempotencyKey)
    if (!request.requireAck) {
      throw invalid(
        'Idempotency-Key',
        'Idempotency-Key on a pop needs require_ack: without a lock there is nothing to repeat',
      )
    }
  }
  return { count, ttlMs: checkTtl(ttlSeconds) * 1000 }
}

/** Requires an integer and clamps it to the allowed lifetime of a lock. */
export function checkTtl(ttlSeconds: number): number {
  if (!Number.isInteger(ttlSeconds)) {
    throw new QueueError('INVALID_TTL', 'ttl_seconds must be an integer', { field: 'ttl_seconds' })
  }
  return Math.max(LOCK_TTL_SECONDS_MIN, Math.min(LOCK_TTL_SECONDS_MAX, ttlSeconds))
}

// What requests of several verbs have in common: keys, limits, times, and how a field is refused.

const keyForm = /^[\x20-\x7e]{1,128}$/

export function checkIdempotencyKey(key: string): void {
  if (keyForm.test(key)) return
  throw invalid('Idempotency-Key', 'Idempotency-Key must be 1 to 128 printable ASCII characters')
}

/** How many a call may ask for at once: of items, or of queues. */
export function checkLimit(limit: number, max: number): void {
  if (Number.isInteger(limit) && limit >= 1 && limit <= max) return
  throw invalid('limit', `limit must be an integer from 1 to ${max}`)
}

/** Refuses what cannot be a time in milliseconds; `field` is its name over HTTP. */
export function checkMs(ms: number, field: string): void {
  if (!Number.isFinite(ms)) throw invalid(field, `${field} must be a time, in code in milliseconds`)
  if (!looksLikeSeconds(ms)) return
  throw invalid(field, `${field} takes milliseconds in code, and ${ms} looks like seconds`)
}
