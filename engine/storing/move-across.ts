// Items move to another queue: the fenced write that settles them here and the append there are one transaction, so
// that an item is never in both queues and never in neither. That costs twice as much as a plain write, and is rare.
// It may lose to a writer of this queue, or meet an obstacle in the other one: a full tail, no room, no lane. Then
// nothing has happened, and the caller plans anew. Dead items go this way, priority by priority, so that those of one
// that is stuck hold up no others.

import { deadLetterQueueOf } from '../../shared/bounds.ts'
import { type ErrorCode, QueueError } from '../../shared/errors.ts'
import { randomText } from '../../shared/system.ts'
import { type Append, appendOf, obstacleTo } from '../core/append.ts'
import type { FencedChange } from '../core/fence.ts'
import { decodeItem, encodeItem, lastingOf } from '../core/item.ts'
import { INLINE_BYTES_MAX, PUSH_BYTES_MAX } from '../core/limits.ts'
import { numbersOf, type Ranges, take } from '../core/ranges.ts'
import {
  type Dead,
  deliveriesOf,
  type Lane,
  type QueueRecord,
  stretchesOf,
} from '../core/record.ts'
import { isInS3 } from '../core/runs.ts'
import { settle } from '../core/settling.ts'
import type { Engine } from '../driver/engine.ts'
import type { CommittedBeside } from '../driver/records.ts'
import { appendUpdate } from '../requests/append-update.ts'
import { checkLanesFit, ensureLane, queueFull } from './make-lanes.ts'
import { seal } from './seal.ts'
import { bringing, byReference, discardBatches } from './write-entries.ts'

type MakeRoom = (
  engine: Engine,
  record: QueueRecord,
  items: number,
) => Promise<QueueRecord | undefined>

/**
 * Sends the fenced write and, in the same transaction, an append to another queue: `addition`. That queue's capacity
 * counts only for items that are new to it; their caller says how to make room.
 */
export async function moveLanesBeside(
  engine: Engine,
  change: FencedChange,
  to: string,
  lanes: ReadonlyMap<number, readonly string[]>,
  { makeRoom }: { readonly makeRoom?: MakeRoom } = {},
): Promise<CommittedBeside & { readonly addition: Append }> {
  const inline = appendOf(lanes)
  for (const priority of lanes.keys()) await ensureLane(engine, to, priority)
  const addition =
    inline.bytes <= INLINE_BYTES_MAX ? inline : await byReference(engine, to, inline.lanes)
  const limits = engine.records.tailLimits()
  const update = appendUpdate(addition, limits, {
    anyway: makeRoom === undefined,
    pass: 'free',
    remindAtMs: engine.records.remindAtMs(),
  })
  const beside = engine.records.entry(to, update)
  const committing = engine.records.commitBeside(change, [beside])
  const committed = await bringing(engine, to, addition, committing)
  engine.records.forget(to)
  if (committed.kind === 'committed') return { ...committed, addition }
  // The write was certainly refused, and only we know the batch's id: nothing will ever refer to it.
  await discardBatches(engine, to, addition)
  if (committed.kind === 'blocked') {
    const target = engine.records.seen(to, committed.row) ?? (await engine.records.read(to))
    // If capacity does not count, a full queue must not hide that the tail is full.
    const items = makeRoom === undefined ? 0 : addition.items
    const obstacle = obstacleTo({ ...addition, items }, target, limits)
    if (target !== undefined) checkLanesFit(target, lanes.keys())
    if (target !== undefined && obstacle.kind === 'tail-full') await seal(engine, target)
    if (target !== undefined && obstacle.kind === 'full') {
      const now = await makeRoom?.(engine, target, items)
      if (now !== undefined && now.room < items) throw queueFull(now, items)
    }
  }
  return { ...committed, addition }
}

/** The same for items of one priority that are in the system already; an error says what could not move. */
export async function move(
  engine: Engine,
  change: FencedChange,
  to: string,
  priority: number,
  entries: readonly string[],
): Promise<CommittedBeside> {
  const lanes = new Map([[priority, entries]])
  return moveLanesBeside(engine, change, to, lanes).catch((error: unknown) => {
    throw cannotMove(`items of priority ${priority}`, change.before.queue, to, error)
  })
}

/** The error names both queues: the caller asked for one, but the other may be in the way. */
export function cannotMove(what: string, from: string, to: string, error: unknown): unknown {
  if (!(error instanceof QueueError)) return error
  const { code, message, outcome, retryable } = error
  return new QueueError(code, `Cannot move ${what} from queue "${from}" to "${to}": ${message}`, {
    cause: error,
    outcome,
    ...(!retryable && { isFinal: true }),
  })
}

/** One transaction that moves items of one priority. */
type LaneMove = {
  readonly priority: number
  /** Returns nothing if it lost to another writer, or the items are somewhere else by now. */
  run(): Promise<{ readonly moved: number; readonly record: QueueRecord | undefined } | undefined>
}

export type LanesMoved = {
  readonly moved: number
  /** The queue's record after the last move or read. */
  readonly record: QueueRecord | undefined
  /** The error of a priority that may have been moved all the same, or else of the first that could not be moved. */
  readonly failure: unknown
}

/** Whether we know that these items of one priority cannot move in this call. */
type IsStuck = (priority: number, lane: Lane, items: Ranges) => boolean

type MovingPlan = {
  readonly to: string
  readonly next: (record: QueueRecord, isStuck: IsStuck, moved: number) => LaneMove | undefined
  readonly movesMax: number
  /** After this many lost races in a row, a priority counts as failed. */
  readonly lossesMax: number
  /** How many priorities may fail, each after at least one request, before the call ends. */
  readonly failuresMax?: number
}

/**
 * Moves items out of a queue, transaction by transaction, as `next` finds them. We skip a priority that fails, so
 * that it does not hold back the others, and also all priorities that would fail for the same reason: with hundreds
 * of them, each try would cost a request. If the store is out of reach, we stop.
 */
export async function moveLanes(
  engine: Engine,
  queue: string,
  { to, next, movesMax, lossesMax, failuresMax = Number.POSITIVE_INFINITY }: MovingPlan,
): Promise<LanesMoved> {
  const failures = new Map<number, unknown>()
  const othersStuck: IsStuck[] = []
  let moved = 0
  let losses = 0
  let record = await engine.records.read(queue)
  const isStuck: IsStuck = (...item) =>
    failures.has(item[0]) || othersStuck.some((isLike) => isLike(...item))
  for (let move = 1; record !== undefined && move <= movesMax; move += 1) {
    const step = next(record, isStuck, moved)
    if (step === undefined) break
    try {
      const startedMs = engine.clock.nowMs()
      const done = await step.run()
      if (done !== undefined) {
        moved += done.moved
        losses = 0
        await standBack(engine, startedMs)
        record = done.record ?? (await engine.records.read(queue))
        continue
      }
      losses += 1
      if (losses === lossesMax) throw QueueError.busy(queue)
      await engine.records.pause(losses)
    } catch (error) {
      failures.set(step.priority, error)
      if (isOutage(error) || failures.size >= failuresMax) break
      const isLike = othersLike(engine, to, error)
      if (isLike !== undefined) othersStuck.push(isLike)
      const hasLost = losses > 0
      losses = 0
      // A refusal changed nothing: the record is as it was.
      if (!hasLost) continue
    }
    const seen = record
    record = await engine.records.read(queue)
    if (seen !== undefined && record?.version === seen.version) engine.items.stillThere(seen)
  }
  const all = [...failures.values()]
  return { moved, record, failure: all.find(isOpen) ?? all[0] }
}

/** Longer than transactions take, unless the store is in trouble; and then a hundred pauses must not take minutes. */
const STANDS_BACK_MS_MAX = 200

/**
 * While a transaction lasts, DynamoDB refuses all other writes to its records. One transaction right after another
 * would keep a push out until it gives up, so we leave the others as much time as the transaction took.
 */
async function standBack({ clock }: Engine, startedMs: number): Promise<void> {
  const tookMs = clock.nowMs() - startedMs
  if (tookMs > 0) await clock.sleep(Math.min(tookMs, STANDS_BACK_MS_MAX))
}

/** An outage would stop the other priorities, too, each after all its attempts. */
const isOutage = (error: unknown): boolean => codeOf(error) === 'STORE_UNAVAILABLE'

const isOpen = (error: unknown): boolean =>
  error instanceof QueueError && error.outcome === 'unknown'

const codeOf = (error: unknown): ErrorCode | undefined =>
  error instanceof QueueError ? error.code : undefined

/** Which other priorities would fail for the same reason. */
function othersLike(engine: Engine, to: string, error: unknown): IsStuck | undefined {
  const code = codeOf(error)
  if (code === 'SEGMENT_UNAVAILABLE') {
    return (_, lane, items) => items.some((range) => isInS3(lane, range))
  }
  // The strong read that led to the refusal has put it there.
  const target = engine.records.recall(to)
  if (code !== 'TOO_MANY_PRIORITIES' || target === undefined) return undefined
  return (priority) => !target.lanes.has(priority)
}

/** Dead letters that one transaction moves, there or back: a part of a batch. */
export const ITEMS_PER_MOVE = 100
/** 2,000 dead items at the most, one by one, and some lost races. */
const MOVES_MAX = 2_100
const LOSSES_MAX = 12
/** How many priorities a run of housekeeping may find stuck; it tries each of them once. */
const FAILURES_MAX = 20

type BuryOptions = {
  /** Priorities that come before all others. */
  readonly first?: readonly number[]
  readonly movesMax?: number
  readonly failuresMax?: number
}

/**
 * Moves all dead items of a queue to its dead-letter queue. While they stay, each takes the place of an item
 * in flight, so a priority that cannot be moved must not hold back the others.
 */
export function buryDead(
  engine: Engine,
  queue: string,
  { first = [], movesMax = MOVES_MAX, failuresMax = FAILURES_MAX }: BuryOptions = {},
): Promise<LanesMoved> {
  // Start with another priority each time: if many are stuck, those behind them still get their turn.
  const start = engine.random()
  return moveLanes(engine, queue, {
    to: deadLetterQueueOf(queue),
    movesMax,
    lossesMax: LOSSES_MAX,
    failuresMax,
    next(record, isStuck) {
      const all = [...record.lanes.keys()]
      const from = Math.floor(start * all.length)
      for (const priority of [...first, ...all.slice(from), ...all.slice(0, from)]) {
        const lane = record.lanes.get(priority)
        if (lane === undefined || lane.dead.length === 0) continue
        const picks = firstDead(lane)
        if (isStuck(priority, lane, picks)) continue
        return { priority, run: () => moveDead(engine, record, lane, picks) }
      }
      return undefined
    },
  })
}

/** Takes several stretches together, but never those in S3 with others, which must not wait until S3 can be reached. */
function firstDead(lane: Lane): Ranges {
  const [first, ...others] = lane.dead as readonly [Dead, ...Dead[]]
  const place = isInS3(lane, first)
  const end = others.findIndex((range) => isInS3(lane, range) !== place)
  return take([first, ...(end < 0 ? others : others.slice(0, end))], ITEMS_PER_MOVE)
}

async function moveDead(engine: Engine, record: QueueRecord, lane: Lane, picks: Ranges) {
  const { priority } = lane
  const to = deadLetterQueueOf(record.queue)
  const read = await readDead(engine, record, priority, picks)
  if (read?.kind !== 'read') return undefined
  const moved = read.entries.length
  const draft = settle(record, stretchesOf(priority, take(picks, moved)))
  const nowMs = engine.clock.nowMs()
  const numbers = [...numbersOf(picks)]
  const entries = read.entries.map((entry, index) => {
    const sequence = numbers[index] as number
    const death = {
      reason: reasonOf(lane, sequence),
      deadLetteredAtMs: nowMs,
      priorDeliveries: deliveriesOf(lane, sequence),
    }
    const dead = { ...lastingOf(decodeItem(entry)), ...death }
    return encodeItem(dead, randomText(engine.random, 4))
  })
  const change = engine.records.change(record, draft, { nowMs })
  const committed = await move(engine, change, to, priority, entries)
  return committed.kind === 'committed' ? { moved, record: committed.record } : undefined
}

/** If we cannot read all of them, we read only the first stretch: a lost one must not hold back the one before it. */
async function readDead(engine: Engine, record: QueueRecord, priority: number, picks: Ranges) {
  const read = (ranges: Ranges) =>
    engine.items.read(record, stretchesOf(priority, ranges), PUSH_BYTES_MAX)
  const isAlone = picks.length === 1
  const all = await read(picks).catch((error: unknown) => {
    if (isAlone) throw error
    return undefined
  })
  return all?.kind === 'read' || isAlone ? all : read(picks.slice(0, 1))
}

const reasonOf = ({ dead }: Lane, sequence: number): string =>
  (dead.find(({ from, to }) => from <= sequence && sequence < to) as Dead).reason
