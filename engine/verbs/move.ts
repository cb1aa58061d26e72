// Move by ids: to the end of another lane, to another queue, or to a later time. One write to the record, or one
// transaction of two records, takes an item out and puts it there, so it is in one place at any time, and a write that
// loses a race has done nothing. Scheduled items go another way (`take-later.ts`). The write that appends does not
// learn the new places, so we look for them afterwards; the move stands, whether or not we find them.

import { ID_RULE, isDeadLetterQueue, isQueueId } from '../../shared/bounds.ts'
import { checkQueueId, QueueError, whyNot } from '../../shared/errors.ts'
import { randomText } from '../../shared/system.ts'
import { present } from '../../shared/wire.ts'
import {
  type Append,
  appendOf,
  type Placed,
  tailBytesAllowed,
  withAppended,
} from '../core/append.ts'
import { checkAhead, checkPriority } from '../core/check-requests.ts'
import { encodeItem, type ItemTimes, spanOf } from '../core/item.ts'
import { itemId } from '../core/keys.ts'
import { isDue } from '../core/later.ts'
import { ANSWER_BYTES_MAX, INLINE_BYTES_MAX, PUSH_BYTES_MAX } from '../core/limits.ts'
import { movedItem } from '../core/moved-items.ts'
import {
  forOneWriteOf,
  idsByForm,
  lockWith,
  type NamedItem,
  stretchesOfNamed,
  takeOut,
} from '../core/named-items.ts'
import { endOf, type Lane, type QueueRecord } from '../core/record.ts'
import { act, again, answer, asStored, lost } from '../driver/decision.ts'
import type { Engine } from '../driver/engine.ts'
import { firstConfiguration } from '../driver/queue-settings.ts'
import { ensureLane } from '../storing/make-lanes.ts'
import { makeRoom } from '../storing/make-room.ts'
import { cannotMove, moveLanesBeside } from '../storing/move-across.ts'
import { seal, sealAfter } from '../storing/seal.ts'
import { bringing, byReference, discardBatches } from '../storing/write-entries.ts'
import { eachById, gapsOf } from './cancel.ts'
import { type Moved, type Moving, type NotMoved, putOff } from './place-later.ts'
import { rescheduled } from './take-later.ts'

export type MoveRequest = {
  readonly ids: readonly string[]
  /** Where they go: another priority, another queue, or both. If you name only one, the other stays as it is. */
  readonly priority?: number | undefined
  readonly queue?: string | undefined
  /** When they become due; items that already wait are scheduled for then, too. A time in the past means now. */
  readonly deliverAtMs?: number | undefined
}

export type MoveResult =
  | {
      readonly id: string
      readonly result: 'moved'
      /** Absent if a consumer had taken and settled the item before this call could look up its new place. */
      readonly newId?: string
    }
  | { readonly id: string; readonly result: 'locked' | 'gone' }

export interface MovingVerbs {
  /**
   * Moves waiting items to the end of another lane, in their order, and changes which lane scheduled items will
   * join; or puts both off to a later time. Locked items stay.
   */
  move(queue: string, request: MoveRequest): Promise<readonly MoveResult[]>
}

/**
 * Moves items by their ids, each independently. Waiting items go first, so that scheduled ones come behind them if all
 * get the same time.
 */
export async function move(
  engine: Engine,
  queue: string,
  request: MoveRequest,
): Promise<MoveResult[]> {
  checkQueueId(queue)
  const { ids, priority, queue: to, deliverAtMs: dueMs } = request
  const { waiting, scheduled } = idsByForm(ids)
  checkTarget(engine, request)
  const results = new Map<string, MoveResult>()
  if (waiting.length > 0) {
    const moved = await moveWaiting(engine, queue, { ...request, ids: waiting })
    for (const one of moved) results.set(one.id, one)
  }
  const hasMoved = [...results.values()].some(({ result }) => result === 'moved')
  const place = { dueMs, priority, queue: to }
  const newIds = await rescheduled(engine, queue, scheduled, place).catch((error: unknown) => {
    const named = to === undefined ? error : cannotMove('scheduled items', queue, to, error)
    throw hasMoved ? QueueError.partly(named) : named
  })
  for (const [id, newId] of newIds) results.set(id, { id, result: 'moved', newId })
  return ids.map((id) => results.get(id) ?? { id, result: 'gone' })
}

function checkTarget({ clock }: Engine, { priority, queue, deliverAtMs }: MoveRequest): void {
  if (priority === undefined && queue === undefined && deliverAtMs === undefined) {
    const message = 'priority, queue or deliver_at is missing: where the items are to go'
    throw new QueueError('INVALID_PARAMETER', message, { field: 'priority' })
  }
  if (priority !== undefined) checkPriority(priority)
  if (queue !== undefined && !isQueueId(queue)) {
    const message = `queue must be ${ID_RULE}${whyNot(queue)}`
    throw new QueueError('INVALID_QUEUE_ID', message, { field: 'queue' })
  }
  if (deliverAtMs !== undefined) checkAhead(deliverAtMs, clock.nowMs(), 'deliver_at')
}

/**
 * Moves waiting items, in the order of pops: to the end of another lane, or to a time still ahead, for which it
 * schedules them. One write takes 2.5 MiB and items of 40 lanes; more need another write.
 */
async function moveWaiting(
  engine: Engine,
  queue: string,
  request: MoveRequest,
): Promise<MoveResult[]> {
  const { ids, priority, queue: to = queue, deliverAtMs: dueMs } = request
  const isNow = dueMs !== undefined && isDue(Math.ceil(dueMs / 1_000), engine.clock.nowMs())
  const results = await eachById<MoveResult>(engine, queue, ids, (taking) => {
    const { record, view, taken } = taking
    const { nowMs } = view
    const isThen = (item: NamedItem): boolean =>
      // An item that waits for its retry is not available now.
      dueMs === undefined || (isNow && lockWith(record, item) === undefined)
    const isThere = (item: NamedItem): boolean =>
      to === queue && item.priority === (priority ?? item.priority) && isThen(item)
    const [staying, leaving] = [
      taking.waiting.filter(isThere),
      taking.waiting.filter((item) => !isThere(item)),
    ]
    taking.known(resultsOf(staying.map(({ id }) => [id, id])))
    if (leaving.length === 0) return answer(undefined)
    const chosen = forOneWriteOf(record, leaving)
    return {
      kind: 'read',
      stretches: stretchesOfNamed(chosen),
      bytesMax: PUSH_BYTES_MAX,
      next(texts) {
        const items = chosen.slice(0, texts.length)
        const draft = takeOut(record, stretchesOfNamed(items), nowMs)
        const gaps = gapsOf(engine, record, draft, nowMs)
        if ('instead' in gaps) return gaps.instead
        const setsDry = engine.events && view.losses === 0
        const options = { nowMs, guards: gaps.guards, setsDry }
        const moving = { record, items, texts, draft, options, to, priority }
        return act(async () => {
          const moved = await (dueMs === undefined || isNow
            ? appendMoved(engine, moving)
            : putOff(engine, moving, dueMs)
          ).catch((error: unknown) => {
            throw to === queue ? error : cannotMove('items', queue, to, error)
          })
          if (moved.kind === 'lost') return lost(asStored(moved.current))
          if (moved.kind === 'blocked') return again(asStored(await engine.records.read(queue)))
          return taken(resultsOf(moved.ids), moved.after)
        })
      },
    }
  })
  return ids.map((id, index) => {
    const result = results[index] ?? 'gone'
    return typeof result === 'string' ? { id, result } : result
  })
}

const resultsOf = (ids: Extract<Moved, { kind: 'moved' }>['ids']) =>
  new Map<string, MoveResult>(
    ids.map(([id, newId]) => [id, { id, result: 'moved', ...present({ newId }) }]),
  )

type Appended = {
  readonly kind: 'moved'
  readonly addition: Append
  readonly after: QueueRecord | undefined
}

type Lanes = ReadonlyMap<number, readonly string[]>

/** Moves the items to the ends of lanes, in this queue or another. */
async function appendMoved(engine: Engine, moving: Moving): Promise<Moved> {
  const lanes = await lanesOf(engine, moving)
  const isWithin = moving.to === moving.record.queue
  const appended = await (isWithin ? moveWithin : moveAcross)(engine, moving, lanes)
  if (appended.kind !== 'moved') return appended
  const ids = await newIds(engine, moving, lanes, appended)
  return { kind: 'moved', ids, after: appended.after }
}

/** What the items become at the other place, by lane. */
async function lanesOf(engine: Engine, moving: Moving): Promise<Lanes> {
  const { record, items, texts, to, priority, options } = moving
  const comesBack = isDeadLetterQueue(record.queue) && !isDeadLetterQueue(to)
  const redriven = comesBack ? await timesOfRedriven(engine, to) : {}
  const times = { nowMs: options.nowMs, redriven }
  const lanes = new Map<number, string[]>()
  for (const [index, item] of items.entries()) {
    const moved = movedItem(to, record, item, texts[index] as string, times)
    const entry = encodeItem(moved, randomText(engine.random, 4))
    const lane = priority ?? item.priority
    const entries = lanes.get(lane)
    if (entries === undefined) lanes.set(lane, [entry])
    else entries.push(entry)
  }
  return lanes
}

/**
 * If a queue's items expire some time after their push, an item that comes back from the dead letters counts as
 * new: by its old time it would expire at once. Another engine may have changed that setting a moment ago, and then
 * the item would be lost for good, so we must not go by memory. The move remembers the record that we read here.
 */
export async function timesOfRedriven(engine: Engine, to: string): Promise<ItemTimes> {
  const record = await engine.records.read(to)
  const { itemTtlSeconds } = record?.configuration ?? (await firstConfiguration(engine, to))
  return itemTtlSeconds === undefined ? {} : { redrivenMs: engine.clock.nowMs() }
}

/** Moves them to another lane of the queue: one fenced write takes the items out and appends them. */
async function moveWithin(
  engine: Engine,
  { record, draft, options, to: queue }: Moving,
  lanes: Lanes,
): Promise<Appended | NotMoved> {
  for (const priority of lanes.keys()) {
    if (record.lanes.has(priority)) continue
    await ensureLane(engine, queue, priority)
    return { kind: 'blocked' }
  }
  const inline = appendOf(lanes)
  const addition =
    inline.bytes <= INLINE_BYTES_MAX ? inline : await byReference(engine, queue, lanes)
  const tailBytesMax = tailBytesAllowed(addition, engine.records.tailLimits())
  if (record.tailBytes > tailBytesMax) {
    await discardBatches(engine, queue, addition)
    await seal(engine, record)
    return { kind: 'blocked' }
  }
  const guards = { ...options.guards, tailBytesMax }
  const change = engine.records.change(record, withAppended(draft, addition), {
    ...options,
    guards,
  })
  const committed = await bringing(engine, queue, addition, engine.records.commit(change))
  if (committed.kind === 'lost') {
    await discardBatches(engine, queue, addition)
    return committed
  }
  await sealAfter(engine, committed.record, addition.bytes)
  return { kind: 'moved', addition, after: committed.record }
}

/** Moves them to another queue: a transaction of two records. That queue's capacity counts: the items are new there. */
async function moveAcross(
  engine: Engine,
  { record, draft, options, to }: Moving,
  lanes: Lanes,
): Promise<Appended | NotMoved> {
  const change = engine.records.change(record, draft, options)
  const committed = await moveLanesBeside(engine, change, to, lanes, { makeRoom })
  if (committed.kind !== 'committed') return committed
  return { kind: 'moved', addition: committed.addition, after: committed.record }
}

/** Old and new ids; without a new one, where we cannot find the item's new place. */
async function newIds(
  engine: Engine,
  { to, priority, record, items }: Moving,
  lanes: Lanes,
  { addition, after }: Appended,
): Promise<[string, string | undefined][]> {
  const find = async () =>
    findMoved(engine, addition, lanes, to === record.queue ? after : await engine.records.read(to))
  const placed = await find().catch((error: unknown) => {
    engine.onBackgroundError(error, { queue: to, step: 'find-moved' })
    return new Map<number, never>() as Placed
  })
  const used = new Map<number, number>()
  return items.map((item) => {
    const lane = priority ?? item.priority
    const index = used.get(lane) ?? 0
    used.set(lane, index + 1)
    const at = placed.get(lane)
    return [item.id, at && itemId({ epoch: at.epoch, priority: lane, sequence: at.start + index })]
  })
}

/** How many sealed items we search: what a busy queue seals within some tenths of a second. */
const LOOKED_THROUGH_MAX = 500

/**
 * Finds the places of entries that were certainly appended. A blind append does not know the end of a lane, and a
 * transaction returns no record; but the last entry of each lane identifies them all, by its tag. It is in the
 * tail, unless a seal has moved it meanwhile. Once a consumer has taken and settled it, we do not find it.
 */
async function findMoved(
  engine: Engine,
  addition: Append,
  entries: ReadonlyMap<number, readonly string[]>,
  record: QueueRecord | undefined,
): Promise<Placed> {
  const placed = new Map<number, { epoch: string; start: number }>()
  for (const [priority, own] of entries) {
    const lane = record?.lanes.get(priority)
    if (record === undefined || lane === undefined) continue
    const appended = addition.lanes.get(priority) ?? []
    const end = endInTail(lane, appended) ?? (await endInSealed(engine, record, lane, own))
    if (end !== undefined) placed.set(priority, { epoch: lane.epoch, start: end - own.length })
  }
  return placed
}

function endInTail(lane: Lane, appended: readonly string[]): number | undefined {
  const at = lane.tail.lastIndexOf(appended.at(-1) ?? '')
  if (at === -1) return undefined
  return lane.tail.slice(at + 1).reduce((end, entry) => end - spanOf(entry), endOf(lane))
}

async function endInSealed(
  engine: Engine,
  record: QueueRecord,
  lane: Lane,
  own: readonly string[],
): Promise<number | undefined> {
  const from = Math.max(lane.head, lane.sealed - LOOKED_THROUGH_MAX)
  if (from >= lane.sealed) return undefined
  const stretch = { priority: lane.priority, from, to: lane.sealed }
  const read = await engine.items.read(record, [stretch], ANSWER_BYTES_MAX)
  if (read.kind === 'missing') return undefined
  const at = read.entries.lastIndexOf(own.at(-1) as string)
  return at === -1 ? undefined : from + at + 1
}
