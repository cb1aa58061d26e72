import type { BoundedCache } from '../../../foundation/bounded-cache.ts'
import type { Clock, Dynamo, Random, Row } from '../../../foundation/dynamo.ts'
import { NOTHING_CHANGED, QueueError } from '../../../foundation/errors.ts'
import type { Objects } from '../../../foundation/objects.ts'
import { randomText } from '../../../foundation/random-text.ts'
import type { KeptReading } from '../../../rate/operations/kept-reading.ts'
import type { SlotLimiter } from '../../../rate/operations/limiter.ts'
import type { TailLimits } from '../../core/append.ts'
import { isLimited } from '../../core/configuration.ts'
import { type FencedChange, type FenceOptions, fenced } from '../../core/fence.ts'
import { isSomethingJoinable, mayHaveRoom } from '../../core/joinable.ts'
import { recordKey } from '../../core/keys.ts'
import { JOIN_RETRY_MS, ROOMY_TAIL, THROTTLED_FOR_MS, TIGHT_TAIL } from '../../core/limits.ts'
import type { QueuePatterns } from '../../core/queue-patterns.ts'
import { MARK_CHARACTERS, type QueueRecord } from '../../core/record.ts'
import { decodeRecord, type StoredRecord } from '../../core/stored-record.ts'
import { patiently } from '../../core/timers.ts'
import type { ItemReader } from '../../store/items.ts'
import type { SegmentWatch } from '../../store/segment-watch.ts'

/** What every operation works with; `createEngine` builds it. */
export type Engine = {
  readonly dynamo: Dynamo
  readonly objects: Objects
  readonly items: ItemReader
  readonly segments: SegmentWatch
  readonly clock: Clock
  readonly random: Random
  /** Records as this engine last saw them. They may only ever lead to a conditional write (rule 7). */
  readonly memory: BoundedCache<QueueRecord>
  /** Remembered records that one append of this engine made from the record before: nobody else pushes. */
  readonly alone: WeakSet<QueueRecord>
  /** The same after a push with a key that could not rely on the record before: too many other keys had passed. */
  readonly behind: WeakSet<QueueRecord>
  /** When this engine saw the records of queues with limits: a limit that no longer exists must not deny calls. */
  readonly limitsSeenMs: WeakMap<QueueRecord, number>
  readonly slots: SlotLimiter
  /** Asked when a queue's first record is made. */
  readonly patterns: KeptReading<QueuePatterns>
  readonly idempotencyTtlSeconds: number
  /** Whether writes set the flags from which the stack makes events. */
  readonly events: boolean
  /** After this long, we announce items again that nobody takes; absent without events. */
  readonly remindAfterMs: number | undefined
  /** How many pops may wait at once, in all processes together; undefined means any number. */
  readonly waitingPopsMax: number | undefined
  /** What this engine has seen of their seats. */
  readonly seats: { allTakenUntilMs: number }
  /** Queues whose dead items could not be moved, and until when nothing but a timer makes us try again. */
  readonly stuckUntilMs: BoundedCache<number>
  /** Queues whose first row with items for later had to wait for a lane. */
  readonly blockedRows: BoundedCache<BlockedRows>
  /** Queues that a sweep is tidying; this may go on after the sweep has answered. */
  readonly tidying: Set<string>
  /** Called with the number of expired items that were taken out of a queue. */
  readonly onItemsExpired: (items: number) => void
  /** Called when work that no answer waits for, such as sealing after a push, has failed. */
  readonly onBackgroundError: (error: unknown, context: { queue: string; step: string }) => void
}

type BlockedRows = {
  readonly born: string
  readonly changes: number
  readonly lanesMade: number
  readonly untilMs: number
}

/** When the sweeper should look whether a consumer has come for the items that we append now. */
export const remindAtMs = ({ clock, remindAfterMs }: Engine): number | undefined =>
  remindAfterMs === undefined ? undefined : patiently(clock.nowMs() + remindAfterMs)

export const newMark = (engine: Engine): string => randomText(engine.random, MARK_CHARACTERS)

/** A decision as a fenced write of this engine. */
export const changeOf = (
  engine: Engine,
  before: QueueRecord,
  draft: QueueRecord,
  options: Omit<FenceOptions, 'mark' | 'remindAfterMs'>,
): FencedChange =>
  fenced(before, draft, {
    ...options,
    mark: newMark(engine),
    isStuck: options.isStuck || areRowsBlocked(engine, before),
    remindAfterMs: engine.remindAfterMs,
  })

/** Notes that no item of the first row can have a lane, and that the record has no place for them. */
export function noteBlockedRows(
  engine: Engine,
  { queue, born, scheduled: { changes }, lanesMade }: QueueRecord,
): void {
  const untilMs = engine.clock.nowMs() + JOIN_RETRY_MS
  engine.blockedRows.set(queue, { born, changes, lanesMade, untilMs })
}

/**
 * Whether we noted that in the last minute, and since then nobody took anything out of the record, changed a row or
 * made a lane.
 */
export function areRowsBlocked({ blockedRows, clock }: Engine, record: QueueRecord): boolean {
  const blocked = blockedRows.get(record.queue)
  if (blocked?.born !== record.born || blocked.changes !== record.scheduled.changes) return false
  return blocked.lanesMade === record.lanesMade && clock.nowMs() < blocked.untilMs
}

/** The record as it is now. */
export async function readRecord(engine: Engine, queue: string): Promise<QueueRecord | undefined> {
  return seen(engine, queue, await engine.dynamo.get(recordKey(queue), true))
}

/** The same after a lost answer: if we cannot read the record either, we do not know what happened. */
export const readInDoubt = (engine: Engine, queue: string): Promise<QueueRecord | undefined> =>
  readRecord(engine, queue).catch((error: unknown) => {
    throw outcomeUnknown(queue, error)
  })

/** The record may be one that we only assume to be right, because no call draws conclusions from memory. */
export const remember = ({ memory }: Engine, record: QueueRecord): void =>
  memory.set(record.queue, record, rememberedBytes(record))

/** Decodes a record that DynamoDB handed over, and remembers it. */
export function seen(engine: Engine, queue: string, row: Row | undefined): QueueRecord | undefined {
  if (row === undefined) {
    engine.memory.delete(queue)
    return undefined
  }
  const record = decodeRecord(row as StoredRecord)
  remember(engine, record)
  if (isLimited(record.configuration)) engine.limitsSeenMs.set(record, engine.clock.nowMs())
  return record
}

/** The same while an earlier sending is open: a record that cannot be read does not end the doubt. */
export function seenInDoubt(
  engine: Engine,
  queue: string,
  row: Row | undefined,
): QueueRecord | undefined {
  try {
    return seen(engine, queue, row)
  } catch (error) {
    throw outcomeUnknown(queue, error)
  }
}

/** About what a decoded record takes in memory: strings at two bytes a character, objects around. */
const rememberedBytes = (record: QueueRecord): number =>
  2_000 + 2 * record.tailBytes + 600 * record.lanes.size + 300 * record.locks.size

/** Appends may fill the tail well up while the store keeps pace, but only a little once it throttles. */
export const tailLimits = (engine: Engine): TailLimits =>
  isThrottled(engine) ? TIGHT_TAIL : ROOMY_TAIL

export const isThrottled = (engine: Engine): boolean =>
  engine.dynamo.throttledSince(engine.clock.nowMs() - THROTTLED_FOR_MS)

/** A pause that grows with the attempt and differs between writers. */
export async function pause(engine: Engine, attempt: number): Promise<void> {
  await engine.clock.sleep(Math.min(100, 4 * attempt) * (0.5 + engine.random()))
}

export function outcomeUnknown(queue: string, cause: unknown): QueueError {
  return new QueueError(
    'STORE_UNAVAILABLE',
    `Cannot tell whether the change to queue "${queue}" was made, because the store's answer was lost`,
    { outcome: 'unknown', cause },
  )
}

/** For an error after part of the work was done: it must not tell the caller "nothing changed". */
export function changedAllTheSame(error: unknown): unknown {
  if (!(error instanceof QueueError) || error.outcome === 'unknown') return error
  const message = error.message.replace(NOTHING_CHANGED, 'a part was done before')
  return new QueueError(error.code, message, {
    outcome: 'unknown',
    cause: error.cause ?? error,
    field: error.field,
    ...(!error.retryable && { isFinal: true }),
  })
}

export const busy = (queue: string): QueueError =>
  new QueueError('BUSY', `Queue "${queue}" is too busy at the moment; ${NOTHING_CHANGED}`)

/** Whether something is due by this clock for which there may be room and a lane. */
export const mayJoin = (engine: Engine, record: QueueRecord, nowMs: number): boolean =>
  mayHaveRoom(record) && isSomethingJoinable(record, nowMs, areRowsBlocked(engine, record))
