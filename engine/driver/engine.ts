// What every operation works with, and how a process reads and writes records. A remembered record may be outdated, so
// it may only ever lead to a conditional write (rule 7). A fenced write that loses its race gets the record that the
// winner left. If its answer is lost, the marks in the record tell what became of it (rule 5): it happened; it never
// will; or it is still open, and we send it again. If the record can no longer tell, neither can we: the outcome is
// unknown.

import type { Clock, Dynamo, Random, Row, Transacted, Written } from '../../aws/dynamo.ts'
import type { Objects } from '../../aws/objects.ts'
import type { KeptReading, SlotLimiter } from '../../rate/limiter.ts'
import { QueueError } from '../../shared/errors.ts'
import { type BoundedCache, randomText } from '../../shared/system.ts'
import type { TailLimits } from '../core/append.ts'
import { type FencedChange, type FenceOptions, fenced } from '../core/fence.ts'
import { recordKey } from '../core/keys.ts'
import {
  DONE_LOCKS_FOLD,
  DONE_LOCKS_STEP,
  HOLD_MS,
  ROOMY_TAIL,
  THROTTLED_FOR_MS,
  TIGHT_TAIL,
} from '../core/limits.ts'
import { doneLocks, foldDone } from '../core/locks.ts'
import { MARK_CHARACTERS, markAfter, patiently, type QueueRecord } from '../core/record.ts'
import { isLimited, type QueuePatterns } from '../core/settings.ts'
import { decodeRecord, type StoredRecord } from '../core/stored-record.ts'
import { holdUpdate } from '../requests/blind-updates.ts'
import { fencedUpdate } from '../requests/fenced-update.ts'
import type { ItemReader } from '../requests/item-reader.ts'
import type { SegmentWatch } from '../requests/segment-rows.ts'

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
  /** Remembered records that a push with a key left whose record before was too old: too many other keys had passed. */
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
  /** Queues that a sweep is tidying; this may go on after the sweep has answered. */
  readonly tidying: Set<string>
  /** Called with the number of expired items that were taken out of a queue. */
  readonly onItemsExpired: (items: number) => void
  /** Called when work that no answer waits for, such as sealing after a push, has failed. */
  readonly onBackgroundError: (error: unknown, context: { queue: string; step: string }) => void
}

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
  remember(engine, record)
  if (isLimited(record.configuration)) engine.limitsSeenMs.set(record, engine.clock.nowMs())
  return record
}

/** The record that a blind write has left or met; as it is now if the answer was lost. */
export const recordAfter = async (
  engine: Engine,
  queue: string,
  written: Written,
): Promise<QueueRecord | undefined> =>
  written.kind === 'unknown' ? readRecord(engine, queue) : seen(engine, queue, written.row)

/** The record may be one that we only assume to be right, because no call draws conclusions from memory. */
export const remember = ({ memory }: Engine, record: QueueRecord): void =>
  memory.set(record.queue, record, rememberedBytes(record))

/** About what a decoded record takes in memory: strings at two bytes a character, objects around. */
const rememberedBytes = (record: QueueRecord): number =>
  2_000 + 2 * record.tailBytes + 600 * record.lanes.size + 300 * record.locks.size

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

type Committed =
  | { readonly kind: 'committed'; readonly record: QueueRecord }
  /** Another writer was first: this is the record it left. */
  | { readonly kind: 'lost'; readonly current: QueueRecord | undefined }

export type CommittedBeside =
  /** DynamoDB does not return what a transaction wrote, so the record is here only if we have read it. */
  | { readonly kind: 'committed'; readonly record: QueueRecord | undefined }
  | Extract<Committed, { kind: 'lost' }>
  /** DynamoDB refused another entry of the transaction than the record's; `row` is the item it met. */
  | { readonly kind: 'blocked'; readonly row: Row | undefined }

/** Writes a fenced change. `eager`: do not back off while the store throttles. */
export async function commit(
  engine: Engine,
  change: FencedChange,
  { eager = false }: { readonly eager?: boolean } = {},
): Promise<Committed> {
  const key = recordKey(change.before.queue)
  const expressions = fencedUpdate(change)
  const committed = await settled(engine, change, () =>
    engine.dynamo.update(key, expressions, eager),
  )
  // A single update always returns the record, and has no other entry that could block it.
  return committed as Committed
}

/** Writes a fenced change and the rows beside it in one transaction. */
export async function commitBeside(
  engine: Engine,
  change: FencedChange,
  beside: readonly Row[],
): Promise<CommittedBeside> {
  const { queue } = change.before
  const own = recordEntry(engine, queue, fencedUpdate(change))
  return settled(engine, change, async () => {
    engine.memory.delete(queue)
    const items = [own, ...beside] as never
    return sentOf(await engine.dynamo.transact({ TransactItems: items }))
  })
}

/** An update of a record as an entry of a transaction. If DynamoDB refuses it, it returns the record. */
export const recordEntry = (
  { dynamo }: Engine,
  queue: string,
  update: ReturnType<typeof fencedUpdate>,
) => ({
  Update: {
    TableName: dynamo.tableName,
    Key: recordKey(queue),
    ...update,
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
  },
})

type Sent = Written | { readonly kind: 'blocked'; readonly row: Row | undefined }

function sentOf(transacted: Transacted): Sent {
  if (transacted.kind === 'done') return { kind: 'done', row: undefined }
  if (transacted.kind === 'unknown') return transacted
  const own = transacted.reasons[0]
  if (own?.failed) return { kind: 'failed', row: own.row }
  return { kind: 'blocked', row: transacted.reasons.find(({ failed }) => failed)?.row }
}

/** How often we send one fenced write whose answers get lost; after that, the store is out of reach. */
const FENCED_SENDINGS_MAX = 4
const RESEND_AFTER_MS = 50

/**
 * If an answer is lost, looks for the mark that the write would have left (rule 5). If the mark is there,
 * the write happened. If another mark is in its place, it did not happen and never can, because the version
 * has moved on. While the version has not moved, we send the very same request again: however many copies
 * are on their way, only one of them can ever find that version.
 */
async function settled(
  engine: Engine,
  change: FencedChange,
  send: () => Promise<Sent>,
): Promise<CommittedBeside> {
  const { queue } = change.before
  let cause: unknown
  for (let sending = 1; sending <= FENCED_SENDINGS_MAX; sending += 1) {
    const first = sending === 1
    const sent = await send().catch((error: unknown) => {
      throw first ? error : QueueError.unknown(queue, error)
    })
    if (sent.kind === 'done') {
      const record = sent.row && seen(engine, queue, sent.row)
      return { kind: 'committed', record }
    }
    if (sent.kind === 'blocked') {
      // This sending did nothing; an earlier one may have done all of it.
      return first ? sent : await settleDoubt(engine, change, sent.row)
    }
    let current: QueueRecord | undefined
    if (sent.kind === 'failed') {
      if (first) return { kind: 'lost', current: seen(engine, queue, sent.row) }
      current = seenInDoubt(engine, queue, sent.row)
    } else {
      cause = sent.cause
      await engine.clock.sleep(RESEND_AFTER_MS * (sending - 0.5))
      current = await readInDoubt(engine, queue)
    }
    const verdict = verdictOn(change, current)
    if (verdict.kind !== 'open') return committedBy(verdict, queue, cause)
    // The version has not moved, so another guard refused it: an earlier sending may still land.
    if (sent.kind === 'failed') break
  }
  throw QueueError.unknown(queue, cause)
}

async function settleDoubt(
  engine: Engine,
  change: FencedChange,
  item: Row | undefined,
): Promise<CommittedBeside> {
  const { queue } = change.before
  const verdict = verdictOn(change, await readInDoubt(engine, queue))
  return committedBy(
    verdict,
    queue,
    new Error(`Refused while an earlier sending is open: ${item !== undefined}`),
  )
}

/** What a record says about a write whose answer was lost. */
type Verdict =
  | { readonly kind: 'happened'; readonly record: QueueRecord }
  | { readonly kind: 'never'; readonly current: QueueRecord }
  /** The version is still the one that the write expects, so it may still land. */
  | { readonly kind: 'open' }
  | { readonly kind: 'unknowable' }

function verdictOn(change: FencedChange, current: QueueRecord | undefined): Verdict {
  const { before } = change
  if (current === undefined || current.born !== before.born) return { kind: 'unknowable' }
  if (current.version === before.version) return { kind: 'open' }
  const mark = markAfter(current, before.version)
  if (mark === undefined) return { kind: 'unknowable' }
  return mark === change.mark ? { kind: 'happened', record: current } : { kind: 'never', current }
}

function committedBy(verdict: Verdict, queue: string, cause: unknown): CommittedBeside {
  if (verdict.kind === 'happened') return { kind: 'committed', record: verdict.record }
  if (verdict.kind === 'never') return { kind: 'lost', current: verdict.current }
  throw QueueError.unknown(queue, cause)
}

/** Reads the record after a lost answer: if we cannot read it either, we do not know what happened. */
const readInDoubt = (engine: Engine, queue: string): Promise<QueueRecord | undefined> =>
  readRecord(engine, queue).catch((error: unknown) => {
    throw QueueError.unknown(queue, error)
  })

/** Decodes it while an earlier sending is open: a record that we cannot use does not end the doubt. */
function seenInDoubt(engine: Engine, queue: string, row: Row | undefined): QueueRecord | undefined {
  try {
    return seen(engine, queue, row)
  } catch (error) {
    throw QueueError.unknown(queue, error)
  }
}

/**
 * The next fenced write folds acknowledged locks into head and holes. If all pops are claims, no such
 * write comes, so the acknowledge whose lock is the 16th (the 24th, …) folds them: as with sealing,
 * exactly one crosses each line, and if it fails, no answer changes.
 */
export async function foldAfter(engine: Engine, record: QueueRecord): Promise<void> {
  const done = doneLocks(record)
  if (done < DONE_LOCKS_FOLD || (done - DONE_LOCKS_FOLD) % DONE_LOCKS_STEP !== 0) return
  await tryToFold(engine, record)
}

/** Folds now. Returns whether the store answered; others may have been first. */
export async function tryToFold(engine: Engine, record: QueueRecord): Promise<boolean> {
  const nowMs = engine.clock.nowMs()
  const draft = foldDone(record, nowMs)
  try {
    await commit(engine, changeOf(engine, record, draft, { nowMs }))
    return true
  } catch (error) {
    engine.onBackgroundError(error, { queue: record.queue, step: 'fold' })
    return false
  }
}

/**
 * Asks claims to stand back for a moment. They do not move the version, so a fenced write that depends
 * on there being none would lose to a steady stream of them for ever; with this it gets its turn.
 */
export async function hold(engine: Engine, record: QueueRecord): Promise<QueueRecord | undefined> {
  // Without locks there were no claims that could be in the way; others may have written meanwhile.
  if (record.locks.size === 0) return readRecord(engine, record.queue)
  const untilMs = engine.clock.nowMs() + HOLD_MS
  const written = await engine.dynamo.update(recordKey(record.queue), holdUpdate(record, untilMs))
  return recordAfter(engine, record.queue, written)
}

/** A pause that grows with the attempt and differs between writers. */
export async function pause(engine: Engine, attempt: number): Promise<void> {
  await engine.clock.sleep(Math.min(100, 4 * attempt) * (0.5 + engine.random()))
}

/** When the sweeper should look whether a consumer has come for the items that we append now. */
export const remindAtMs = ({ clock, remindAfterMs }: Engine): number | undefined =>
  remindAfterMs === undefined ? undefined : patiently(clock.nowMs() + remindAfterMs)

/** Appends may fill the tail well up while the store keeps pace, but only a little once it throttles. */
export const tailLimits = (engine: Engine): TailLimits =>
  isThrottled(engine) ? TIGHT_TAIL : ROOMY_TAIL

export const isThrottled = (engine: Engine): boolean =>
  engine.dynamo.throttledSince(engine.clock.nowMs() - THROTTLED_FOR_MS)
