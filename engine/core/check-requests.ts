// What a caller may push and pop, and how the engine refuses the rest: the first thing that is wrong, with the name of
// its field over HTTP. It says as well what the times of an item mean, as the caller gave them: when the item is due,
// and when it expires.

import { invalid, QueueError } from '../../shared/errors.ts'
import {
  fieldNamed,
  type Given,
  givenFields,
  type ItemField,
  itemFields,
  type Kept,
  type KeptName,
} from '../../shared/item-fields.ts'
import { refuseUnknown } from '../../shared/options.ts'
import { isJson, looksLikeSeconds } from '../../shared/wire.ts'
import type { Item } from './item.ts'
import {
  DELAY_SECONDS_MAX,
  ITEM_BYTES_MAX,
  ITEMS_PER_POP_MAX,
  ITEMS_PER_PUSH_MAX,
  LOCK_TTL_SECONDS_DEFAULT,
  LOCK_TTL_SECONDS_MAX,
  LOCK_TTL_SECONDS_MIN,
  PRIORITIES_PER_PUSH_MAX,
  PUSH_BYTES_MAX,
  WAIT_SECONDS_MAX,
} from './limits.ts'

export type Pushed = {
  readonly ids: readonly string[]
  /** An earlier push with this key pushed the items; this one changed nothing. */
  readonly repeated?: true
}

/** An item, with what `shared/item-fields.ts` says a push may give. */
export type PushItem = Given & {
  /** The item as JSON text; stored and returned byte for byte. */
  readonly text: string
  /** When the caller handed it in, from which `expiresInSeconds` counts. Default: when it is pushed. */
  readonly sinceMs?: number | undefined
}

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
    checkFields(item, field, items.length === 1 ? '' : `${field}.`)
    bytes += checkText(item.text, field)
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
    `Cannot push items of ${size} priorities at once because a push has at most ${PRIORITIES_PER_PUSH_MAX}; send them in several pushes`,
    { field: 'items' },
  )
}

/**
 * Checks the fields that an item has, and passes over those that only answers tell, so that a caller can push an item
 * elsewhere as it came. Refuses unknown names: one may be a misspelt time for which the caller meant the item.
 */
function checkFields(item: PushItem, within: string, at: string): void {
  for (const name in item) {
    if (name === 'text' || name === 'sinceMs') continue
    const value = item[name as keyof PushItem]
    const field = fieldNamed(name)
    if (field === undefined) refuseUnknown({ [name]: value }, knownNames(), within)
    if (field?.given === undefined || value === undefined) continue
    checkGiven(field, value, at)
    const other = field.given.not as keyof typeof itemFields | undefined
    if (other === undefined || item[other as keyof PushItem] === undefined) continue
    throw invalid(
      at + field.wire,
      `${at}${field.wire} cannot be given together with ${at}${itemFields[other].wire}`,
    )
  }
}

const knownNames = (): Readonly<Record<string, 0>> =>
  Object.fromEntries(['text', ...givenFields.map(({ name }) => name), 'sinceMs'].map((n) => [n, 0]))

/** Refuses a value that a field cannot have; `at`: where the item is in a request, `items[3].`. */
export function checkGiven({ wire, is, given }: ItemField, value: unknown, at: string): void {
  const field = at + wire
  const max = given?.max ?? 0
  switch (is) {
    case 'integer':
    case 'number': {
      const isOne = is === 'integer' ? Number.isInteger(value) : typeof value === 'number'
      if (isOne && (value as number) >= 0 && (value as number) <= max) return
      const what = is === 'integer' ? 'an integer' : 'a number'
      throw refusal(wire, field, `${field} must be ${what} from 0 to ${max}`)
    }
    case 'time':
      checkMs(value as number, field)
      if ((value as number) >= 0 && (value as number) <= TIME_MS_MAX) return
      throw refusal(wire, field, `${field} must be a time since 1970`)
    case 'text':
      // A lone surrogate has no UTF-8: it could not come back as it was.
      if (typeof value === 'string' && value.isWellFormed()) {
        if (value.length > 0 && value.length <= max) return
      }
      throw refusal(wire, field, `${field} must be well-formed text of 1 to ${max} characters`)
    default:
      is satisfies never
  }
}

/** Larger than any date. */
const TIME_MS_MAX = 8_640_000_000_000_000

const refusal = (wire: string, field: string, message: string): QueueError =>
  new QueueError(wire === 'priority' ? 'INVALID_PRIORITY' : 'INVALID_PARAMETER', message, { field })

export const checkPriority = (priority: unknown): void =>
  checkGiven(itemFields.priority, priority, '')

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
    const { deliverAtMs, expiresAtMs } = item
    const at = items.length === 1 ? '' : `items[${index}].`
    const due = mayBeLater(item) ? dueSecondOf(item, nowMs) : undefined
    if (isNew && due !== undefined) checkOutlasts(item, 1_000 * due, nowMs, at)
    if (deliverAtMs !== undefined) checkAhead(deliverAtMs, nowMs, `${at}deliver_at`)
    if (expiresAtMs !== undefined) checkAhead(expiresAtMs, nowMs, `${at}expires_at`)
  }
}

export function checkAhead(ms: number, nowMs: number, field: string): void {
  checkMs(ms, field)
  if (ms > nowMs + 1_000 * DELAY_SECONDS_MAX) {
    throw invalid(field, `${field} must be within five years`)
  }
}

// When an item expires: given as seconds or as a time, and later than it is due.

type Expiring = Pick<PushItem, 'expiresInSeconds' | 'expiresAtMs' | 'sinceMs'>

/** When it expires. A time in the past means now: the item is stored, and no pop returns it. */
export const expiresAtMsOf = (
  { expiresInSeconds, expiresAtMs, sinceMs }: Expiring,
  nowMs: number,
): number | undefined =>
  expiresInSeconds === undefined
    ? expiresAtMs && Math.floor(expiresAtMs)
    : (sinceMs ?? nowMs) + 1_000 * expiresInSeconds

/** The item that a push makes. */
export function newItem(push: PushItem, pushedAtMs: number): Item {
  const given: { [Name in KeptName]?: unknown } = {}
  for (const { name, kept } of givenFields) {
    if (kept !== undefined) given[name as KeptName] = push[name]
  }
  const expiresAtMs = expiresAtMsOf(push, pushedAtMs)
  return { text: push.text, pushedAtMs, ...(given as Kept), expiresAtMs }
}

/** Refuses an item that expires before it is due: no pop could ever return it. */
export function checkOutlasts(item: Expiring, dueMs: number, nowMs: number, at: string): void {
  const expiresAtMs = expiresAtMsOf(item, nowMs)
  if (expiresAtMs === undefined || expiresAtMs > dueMs) return
  const [field, problem] =
    item.expiresInSeconds === undefined
      ? [`${at}expires_at`, 'must be later than the time at which the item is due']
      : [`${at}expires_in_seconds`, 'must reach beyond the time at which the item is due']
  throw invalid(field, `${field} ${problem}`)
}

/**
 * What a push says, for the hash by which a repetition is known: as the caller gave it, so that it has the same text
 * however late it comes.
 */
export function hashedParts(item: PushItem): string[] {
  const parts = [item.text]
  for (const { name, hashed, standard } of givenFields) {
    const value = item[name] ?? standard
    if (hashed !== false && value !== undefined) parts.push(`${hashed}${value}`)
  }
  return parts
}

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
