import type { BoundedCache } from '../../foundation/bounded-cache.ts'
import type { Clock, Dynamo, Random, Row, Transacted, Written } from '../../foundation/dynamo.ts'
import { QueueError } from '../../foundation/errors.ts'
import type { Objects } from '../../foundation/objects.ts'
import { randomText } from '../../foundation/random-text.ts'
import type { SlotEngine } from '../../rate/operations/rate-engine.ts'
import type { TailLimits } from '../core/append.ts'
import { isLimited } from '../core/configuration.ts'
import { type FencedChange, type FenceOptions, fenced } from '../core/fence.ts'
import { recordKey } from '../core/keys.ts'
import { ROOMY_TAIL, THROTTLED_FOR_MS, TIGHT_TAIL } from '../core/limits.ts'
import { MARK_CHARACTERS, markAfter, type QueueRecord } from '../core/record.ts'
import { decodeRecord, type StoredRecord } from '../core/stored-record.ts'
import { fencedUpdate } from '../store/fenced-update.ts'
import type { ItemReader } from '../store/items.ts'

/** What every operation works with; built once by `createQueues`. */
export type Engine = {
  readonly dynamo: Dynamo
  readonly objects: Objects
  readonly items: ItemReader
  readonly clock: Clock
  readonly random: Random
  /** Records as last seen. May only ever lead to a conditional write (rule 7). */
  readonly memory: BoundedCache<QueueRecord>
  /** Remembered records that an append of this engine made of the one before: nobody else pushes. */
  readonly alone: WeakSet<QueueRecord>
  /** When records of queues with limits were seen: a limit that denies must not be long gone. */
  readonly limitsSeenMs: WeakMap<QueueRecord, number>
  readonly slots: SlotEngine
  readonly idempotencyTtlSeconds: number
  /** Whether records are marked for the events that are made of the table's stream. */
  readonly events: boolean
  /** Items that nobody takes are announced again after this long; absent where nothing is announced. */
  readonly remindAfterMs: number | undefined
  /** Queues whose dead items could not be moved, and until when only a timer has it tried again. */
  readonly stuckUntilMs: BoundedCache<number>
  /** Queues that a sweep tidies, which may go on after it has answered. */
  readonly tidying: Set<string>
  /** Work that an answer does not wait for, such as sealing after a push, has failed. */
  readonly onBackgroundError: (error: unknown, context: { queue: string; step: string }) => void
}

/** When the sweeper should look whether somebody has come for what is appended now. */
export const remindAtMs = ({ clock, remindAfterMs }: Engine): number | undefined =>
  remindAfterMs === undefined ? undefined : clock.nowMs() + remindAfterMs

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
    remindAfterMs: engine.remindAfterMs,
  })

/** The record as it is now. */
export async function readRecord(engine: Engine, queue: string): Promise<QueueRecord | undefined> {
  return seen(engine, queue, await engine.dynamo.get(recordKey(queue), true))
}

/** Decodes a record that DynamoDB handed over, and remembers it. */
export function seen(engine: Engine, queue: string, row: Row | undefined): QueueRecord | undefined {
  if (row === undefined) {
    engine.memory.delete(queue)
    return undefined
  }
  const record = decodeRecord(row as StoredRecord)
  engine.memory.set(queue, record, rememberedBytes(record))
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

export type Committed =
  | { readonly kind: 'committed'; readonly record: QueueRecord | undefined }
  /** Another writer was first: this is the record he left. */
  | { readonly kind: 'lost'; readonly current: QueueRecord | undefined }
  /** An entry beside the record's own in the transaction was refused; with the item it met. */
  | { readonly kind: 'blocked'; readonly item: Row | undefined }

/** Sendings of one fenced write whose answers are lost: then the store is out of reach. */
const SENDINGS_MAX = 4
const RESEND_AFTER_MS = 50

/**
 * Writes a fenced change, alone or in a transaction. A lost answer is looked up by the mark that
 * the write would have left (rule 5): found, it happened; another mark in its place, it did not and
 * never can, because the version has moved on. While the version has not moved, the very same
 * request is sent again: of any number of its copies only one can ever find that version.
 */
export async function commit(
  engine: Engine,
  change: FencedChange,
  {
    beside = [],
    eager = false,
  }: { readonly beside?: readonly Row[]; readonly eager?: boolean } = {},
): Promise<Committed> {
  const { queue } = change.before
  const send = sender(engine, change, beside, eager)
  let cause: unknown
  for (let sending = 1; sending <= SENDINGS_MAX; sending += 1) {
    const first = sending === 1
    const written = await send().catch((error: unknown) => {
      if (first) throw error
      throw outcomeUnknown(queue, error)
    })
    if (written.kind === 'done') {
      const record = written.item && seen(engine, queue, written.item)
      stillAlone(engine, change.before, record)
      return { kind: 'committed', record }
    }
    if (written.kind === 'blocked') {
      // Nothing of this sending happened; of an earlier one it all may have.
      if (first) return written
      return await settleDoubt(engine, change, written.item)
    }
    let current: QueueRecord | undefined
    if (written.kind === 'failed') {
      if (first) return { kind: 'lost', current: seen(engine, queue, written.item) }
      current = seenInDoubt(engine, queue, written.item)
    } else {
      cause = written.cause
      await engine.clock.sleep(RESEND_AFTER_MS * (sending - 0.5))
      current = await readRecord(engine, queue).catch((error: unknown) => {
        throw outcomeUnknown(queue, error)
      })
    }
    const verdict = verdictOn(change, current)
    if (verdict === 'happened') return { kind: 'committed', record: current }
    if (verdict === 'never') return { kind: 'lost', current }
    if (verdict === 'unknowable') throw outcomeUnknown(queue, cause)
    // The version is as it was. Refused all the same, it was by another guard: and still may land.
    if (written.kind === 'failed') throw outcomeUnknown(queue, cause)
  }
  throw outcomeUnknown(queue, cause)
}

/** A producer that pops as well, say: its own writes are no company. */
function stillAlone(engine: Engine, before: QueueRecord, after: QueueRecord | undefined): void {
  if (after === undefined || !engine.alone.has(before)) return
  if (after.appends === before.appends) engine.alone.add(after)
}

export function outcomeUnknown(queue: string, cause: unknown): QueueError {
  return new QueueError(
    'STORE_UNAVAILABLE',
    `Cannot tell whether the change to queue "${queue}" was made, because the store's answer was lost`,
    { outcome: 'unknown', cause },
  )
}

/** An error after a part of the operation was done: nobody may take it for "nothing changed". */
export function changedAllTheSame(error: unknown): unknown {
  if (!(error instanceof QueueError) || error.outcome === 'unknown') return error
  return new QueueError(error.code, error.message, {
    outcome: 'unknown',
    cause: error.cause ?? error,
    ...(error.field !== undefined && { field: error.field }),
  })
}

function verdictOn(
  change: FencedChange,
  current: QueueRecord | undefined,
): 'happened' | 'never' | 'open' | 'unknowable' {
  if (current === undefined || current.born !== change.before.born) return 'unknowable'
  if (current.version === change.before.version) return 'open'
  const mark = markAfter(current, change.before.version)
  if (mark === undefined) return 'unknowable'
  return mark === change.mark ? 'happened' : 'never'
}

async function settleDoubt(
  engine: Engine,
  change: FencedChange,
  item: Row | undefined,
): Promise<Committed> {
  const { queue } = change.before
  const current = await readRecord(engine, queue).catch((error: unknown) => {
    throw outcomeUnknown(queue, error)
  })
  const verdict = verdictOn(change, current)
  if (verdict === 'happened') return { kind: 'committed', record: current }
  if (verdict === 'never') return { kind: 'lost', current }
  throw outcomeUnknown(queue, new Error(`Refused while an earlier sending is open: ${!!item}`))
}

type Sent = Written | { readonly kind: 'blocked'; readonly item: Row | undefined }

function sender(
  engine: Engine,
  change: FencedChange,
  beside: readonly Row[],
  eager: boolean,
): () => Promise<Sent> {
  const key = recordKey(change.before.queue)
  const expressions = fencedUpdate(change)
  if (beside.length === 0) return () => engine.dynamo.update(key, expressions, eager)
  const own = {
    Update: {
      TableName: engine.dynamo.tableName,
      Key: key,
      ...expressions,
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
    },
  }
  return async () => {
    engine.memory.delete(change.before.queue)
    const items = [own, ...beside] as never
    return sentOf(await engine.dynamo.transact({ TransactItems: items }))
  }
}

function sentOf(transacted: Transacted): Sent {
  if (transacted.kind !== 'failed') return transacted
  const own = transacted.reasons[0]
  if (own?.failed) return { kind: 'failed', ...(own.item !== undefined && { item: own.item }) }
  return { kind: 'blocked', item: transacted.reasons.find(({ failed }) => failed)?.item }
}

/** Appends may fill the tail far while the store keeps up, and little once it throttles. */
export const tailLimits = (engine: Engine): TailLimits =>
  isThrottled(engine) ? TIGHT_TAIL : ROOMY_TAIL

export const isThrottled = (engine: Engine): boolean =>
  engine.dynamo.throttledSince(engine.clock.nowMs() - THROTTLED_FOR_MS)

/** A pause that grows with the attempt and differs between writers. */
export async function pause(engine: Engine, attempt: number): Promise<void> {
  await engine.clock.sleep(Math.min(100, 4 * attempt) * (0.5 + engine.random()))
}

/** Losses from which on what was seen before a pause is not worth a try. */
const LOOK_AGAIN_AFTER = 4

/**
 * After a lost race: a pause, and what to try it with next. That is the record that beat it, at no
 * cost; but whoever writes during the pause beats that as well, so after a few it looks again.
 */
export async function afterLoss(
  engine: Engine,
  queue: string,
  losses: number,
  current: QueueRecord | undefined,
): Promise<QueueRecord | undefined> {
  await pause(engine, losses)
  return losses >= LOOK_AGAIN_AFTER ? readRecord(engine, queue) : current
}

export const busy = (queue: string): QueueError =>
  new QueueError('BUSY', `Queue "${queue}" is too busy at the moment; nothing was changed`)
