// The name of every row and object, with its inverse where one is needed, and the ids that callers get. An example
// stands beside each. Parts are separated by characters that no part contains, and numbers have a fixed width, so that
// names sort as what they name.

import { hash } from 'node:crypto'
import type { Key } from '../../aws/table.ts'
import { fnv1a } from '../../shared/system.ts'
import { PRIORITY_MAX, SHARDS } from './limits.ts'

export const HASH_CHARACTERS = 22

/** These many characters of SHA-256, over the parts and where each of them ends. */
export function hashOf(...parts: readonly string[]): string {
  const text = parts.map((part) => `${Buffer.byteLength(part)}:${part}`).join('')
  return hash('sha256', text, 'base64url').slice(0, HASH_CHARACTERS)
}

/** `q#orders` / `queue` */
export const recordKey = (queue: string): Key => ({ pk: `q#${queue}`, sk: 'queue' })
export const recordPrefix = (idPrefix: string): string => `q#${idPrefix}`
export const queueOfRecordKey = (pk: string): string => pk.slice(2)
export const isRecordKey = ({ pk, sk }: Key): boolean =>
  sk === 'queue' && pk.startsWith(recordPrefix(''))

/** Twelve digits hold 10^12 items a lane: a thousand a second for thirty years. */
const width = 12
const fixed = (n: number): string => String(n).padStart(width, '0')

/** `s#orders#x7Gh2kQz#0#3`: the rows of one segment. */
export const segmentPartition = (
  queue: string,
  epoch: string,
  priority: number,
  segment: number,
): string => `s#${queue}#${epoch}#${priority}#${segment}`

/** `000000000300-000000000308`: a chunk's stretch [from, to). */
export const chunkSortKey = (from: number, to: number): string => `${fixed(from)}-${fixed(to)}`
/** `r000000000300-000000000400`: a recalled copy, under another key than the rows it replaces. */
export const recalledSortKey = (from: number, to: number): string => `r${chunkSortKey(from, to)}`

/** Sorts after every recalled copy that begins at this number or earlier, and before all others. */
export const afterRecalled = (from: number): string => `r${fixed(from)}~`

export function parseChunkSortKey(sk: string): { from: number; to: number; recalled: boolean } {
  const recalled = sk.startsWith('r')
  const [from, to] = (recalled ? sk.slice(1) : sk).split('-')
  return { from: Number(from), to: Number(to), recalled }
}

/** `b#orders#Ax81kQz0` / `000000000002`: the third part of a batch. */
export const batchPartKey = (queue: string, batch: string, part: number): Key => ({
  pk: `b#${queue}#${batch}`,
  sk: fixed(part),
})

/** `t#orders#Kx81mQz0#0`: the rows of what is scheduled; the last number counts purges. */
export const scheduledPartition = (queue: string, born: string, era: number): string =>
  `t#${queue}#${born}#${era}`
/** `1900000000#00000003`: due in this second, copied out by the third seal. */
export const scheduledSortKey = (due: number, seals: number): string =>
  `${String(due).padStart(10, '0')}#${String(seals).padStart(8, '0')}`

/** `i#orders#<hash>` / `receipt` */
export const receiptKey = (queue: string, keyHash: string): Key => ({
  pk: `i#${queue}#${keyHash}`,
  sk: 'receipt',
})

/** `orders/x7Gh2kQz/0/3`: a segment in S3. */
export const segmentObjectKey = (
  queue: string,
  epoch: string,
  priority: number,
  segment: number,
): string => `${queue}/${epoch}/${priority}/${segment}`

/** `orders/batch/Ax81kQz0`: a batch that lives in S3 from birth. */
export const batchObjectKey = (queue: string, batch: string): string => `${queue}/batch/${batch}`

/** Of a segment or of a batch: no queue id has a slash. */
export const queueOfObjectKey = (key: string): string => key.slice(0, key.indexOf('/'))

const SCHEDULES = 'schedules#'

export const schedulesPartition = (queue: string): string => `${SCHEDULES}${queue}`

/** Undefined if this is no partition of schedules. */
export const queueOfSchedules = (pk: string): string | undefined =>
  pk.startsWith(SCHEDULES) ? pk.slice(SCHEDULES.length) : undefined

/** `schedules#orders` / `weekly-report` */
export const scheduleKey = (queue: string, name: string): Key => ({
  pk: schedulesPartition(queue),
  sk: name,
})

/** `schedule-items#orders` / `weekly-report`: what the schedule pushes, which may be large. */
export const scheduleItemKey = (queue: string, name: string): Key => ({
  pk: `schedule-items#${queue}`,
  sk: name,
})

/** `schedules` / `deployed`: which schedules deployments have put. */
export const deployedSchedulesKey: Key = { pk: 'schedules', sk: 'deployed' }

/** `timers` / `walk`: how far the walk that gives every waiting queue a timer has come. */
export const timersKey: Key = { pk: 'timers', sk: 'walk' }

/** `timers` / `awake`: which run of Wake is awake for what comes due soon, and until when at least. */
export const awakeKey: Key = { pk: 'timers', sk: 'awake' }

/** `patterns` / `queues`: the settings of prefixes, all in one row. */
export const queuePatternsKey: Key = { pk: 'patterns', sk: 'queues' }
/** `patterns` / `walk`: when the patterns are applied to existing queues, and how far that has come. */
export const patternsWalkKey: Key = { pk: 'patterns', sk: 'walk' }

/** `waiting` / `seats`: which pops are held, all in one row. */
export const seatsKey: Key = { pk: 'waiting', sk: 'seats' }

export const allShards: readonly number[] = Array.from({ length: SHARDS }, (_, shard) => shard)

export const shardOf = (queue: string): number => fnv1a(queue) % SHARDS

// The ids that callers get, of items and of locks.

export type ItemPlace = {
  readonly epoch: string
  readonly priority: number
  readonly sequence: number
}

/** `x7Gh2kQz-0-2s`: opaque to callers, the item's place to us. */
export const itemId = ({ epoch, priority, sequence }: ItemPlace): string =>
  `${epoch}-${priority.toString(36)}-${sequence.toString(36)}`

const itemIdForm = /^([A-Za-z0-9_~]{8})-([0-9a-z]{1,6})-([0-9a-z]{1,9})$/

export function parseItemId(id: unknown): ItemPlace | undefined {
  const match = typeof id === 'string' ? itemIdForm.exec(id) : null
  if (match === null) return undefined
  const place = {
    epoch: match[1] as string,
    priority: Number.parseInt(match[2] as string, 36),
    sequence: Number.parseInt(match[3] as string, 36),
  }
  // One id has one spelling: `00` is not `0`.
  return place.priority <= PRIORITY_MAX && itemId(place) === id ? place : undefined
}

export const isScheduledId = (id: string): boolean => id.startsWith('t-')

export const LOCK_ID_CHARACTERS = 11
const lockIdForm = /^[A-Za-z0-9_-]{11}$/

export const isLockId = (id: string): boolean => lockIdForm.test(id)
