// An append as one update, and a queue's first record. An append is blind: it names no version, because appends
// commute with each other and with every fenced write (which takes entries off a tail only as a prefix). Its
// conditions name what would make it wrong: a lane that is gone, or one that it brings and somebody else has made; a
// tail that is full or under a seal; no room; another limit than the one that it has passed; a key, a message or a
// token that the record knows.

import type { Expression } from '../../aws/table.ts'
import { type Append, type TailLimits, tailBytesAllowed } from '../core/append.ts'
import { recordKey, shardOf } from '../core/keys.ts'
import { isUntidy, type Later } from '../core/later.ts'
import { LANES_MAX, TIDY_SCHEDULED_MS } from '../core/limits.ts'
import type { Lane, QueueRecord } from '../core/record.ts'
import { markOf, movedSoFar } from '../core/repeated-pushes.ts'
import {
  type Configuration,
  defaultConfiguration,
  encodeConfiguration,
  type Pass,
  roomOf,
} from '../core/settings.ts'
import { encodeLane, noteName, type StoredRecord } from '../core/stored-record.ts'
import {
  comesAfter,
  limitAsKnown,
  type OnceOnly,
  passOnce,
  recordUpdate,
  setCheckAt,
} from './blind-updates.ts'
import { lowerTimer, schedule } from './later-rows.ts'

type AppendOptions = {
  /** Lanes that the append makes, with its entries in them. */
  readonly newLanes?: ReadonlyMap<number, Lane>
  /** Skips the capacity check: the items are in the system already. */
  readonly anyway?: boolean
  /** How much of its room a join takes from what is kept for due items. */
  readonly keptRoom?: number
  /** Of the queue's push limit, if it has one. */
  readonly pass?: Pass
  /** When the sweeper should look whether a consumer has come for it, if it has no other reason to come. */
  readonly remindAtMs?: number | undefined
  /** We hand the update out; the caller may send it more often, but it must pass only once. */
  readonly once?: OnceOnly
  /** The record according to which its keys and sequence, if any, are new. */
  readonly newBy?: QueueRecord
  /** The record on which its scheduled items rely. */
  readonly seen?: QueueRecord | undefined
  /** When the sweeper must look; `at once`: whatever the timer is by then, if it is no earlier. */
  readonly timerAtMs?: number | { readonly atOnce: number } | undefined
  /** The time from which `timerAtMs` counts as near or not. */
  readonly nowMs?: number | undefined
  /** Adds to the same update what else it should do. */
  readonly beside?: (update: Expression) => void
}

export function appendUpdate(
  append: Append,
  limits: TailLimits,
  {
    newLanes = new Map(),
    anyway = false,
    keptRoom = 0,
    pass = anyway ? 'free' : undefined,
    remindAtMs,
    once,
    newBy,
    seen = newBy,
    timerAtMs,
    nowMs,
    beside,
  }: AppendOptions = {},
): ReturnType<Expression['build']> {
  const update = recordUpdate()
  for (const [priority, entries] of append.lanes) {
    const lane = `L.${update.name(priority)}`
    const made = newLanes.get(priority)
    if (made !== undefined) {
      update.condition(`attribute_not_exists(${lane})`)
      update.set(lane, encodeLane(made))
      continue
    }
    update.sets.push(`${lane}.t=list_append(${lane}.t,${update.value(entries)})`)
    update.condition(`attribute_exists(${lane})`)
  }
  if (newLanes.size > 0) {
    update.condition(`size(L)<=${update.value(LANES_MAX - newLanes.size)}`)
    update.add('n', newLanes.size)
  }
  // Fails if a seal is under way or the queue is full, before anything is stored.
  if (append.bytes > 0) update.condition(`b<=${update.value(tailBytesAllowed(append, limits))}`)
  const roomTaken = append.items - keptRoom
  if (!anyway && roomTaken > 0) update.condition(`room>=${update.value(roomTaken)}`)
  limitAsKnown(update, 'pl', pass)
  takeMarksBack(update, append)
  if (append.later === undefined || seen === undefined) startTimer(update, append, remindAtMs)
  else scheduleBeside(update, append, append.later, { seen, timerAtMs, remindAtMs, nowMs })
  if (once !== undefined) passOnce(update, once)
  if (newBy !== undefined) passIfNew(update, append, newBy)
  setGuards(update, append)
  count(update, append, roomTaken)
  beside?.(update)
  return update.build()
}

/**
 * A push with a key passes if its key is new. After reading `newBy`, we looked for the receipts of keys whose notes
 * had left the record by then. So the conditions are that the record has no note of the key, and that none has left
 * since. The record shows that by the marks of the last notes that have left, and by the number of notes that no
 * longer have a mark: all of these must have left before `newBy`.
 */
function passIfNew(update: Expression, { notes, sequence }: Append, newBy: QueueRecord): void {
  // A queue that was forgotten and made again has lost its earlier notes and messages.
  update.condition(`born=${update.value(newBy.born)}`)
  if (sequence !== undefined) comesAfter(update, sequence.first)
  if (notes === undefined || notes.size === 0) return
  const hashes = [...notes.keys()]
  for (const hash of hashes)
    update.condition(`attribute_not_exists(${update.name(noteName(hash))})`)
  const { marks, forgotten } = newBy.moved
  const marksOfOurs = new Set(hashes.map(markOf))
  if ([...marksOfOurs].some((mark) => marks.includes(mark))) {
    // A note that had left by then has the same mark, so no note at all may have left since.
    update.condition(`km=${update.value(marks)}`)
    if (forgotten === 0) update.condition('attribute_not_exists(kx)')
    else update.condition(`kx=${update.value(forgotten)}`)
    return
  }
  update.condition(`(attribute_not_exists(kx) OR kx<=${update.value(movedSoFar(newBy.moved))})`)
  for (const mark of marksOfOurs) update.condition(`NOT contains(km,${update.value(mark)})`)
}

function setGuards(update: Expression, { notes, sequence }: Append): void {
  for (const [hash, note] of notes ?? []) update.set(update.name(noteName(hash)), note)
  if (sequence !== undefined) update.set('sn', sequence.last)
}

function count(update: Expression, append: Append, roomTaken = append.items): void {
  if (append.timed) update.set('tm', 'y')
  update.add('b', append.bytes)
  update.add('a', 1)
  update.add('room', -roomTaken)
}

/** Removes the flags, because there is something to pop again. Removing an absent attribute costs nothing. */
function takeMarksBack(update: Expression, append: Append): void {
  if (append.items > 0) update.removes.push('dry', 'ev')
}

/**
 * A queue with items to pop has a timer. An append cannot know whether there is one, so it sets one only if
 * none is there. That costs nothing, because the index changes only when the time does.
 */
function startTimer(update: Expression, append: Append, atMs: number | undefined): void {
  if (append.items === 0 || atMs === undefined) return
  update.sets.push(`checkAt=if_not_exists(checkAt,${update.value(atMs)})`)
}

/** Scheduled items have their own timer, which replaces the one for free items. */
function scheduleBeside(
  update: Expression,
  append: Append,
  later: Later,
  {
    seen,
    timerAtMs = later.dueMs,
    remindAtMs,
    nowMs = later.dueMs,
  }: Pick<AppendOptions, 'timerAtMs' | 'remindAtMs' | 'nowMs'> & { readonly seen: QueueRecord },
): void {
  schedule(update, later, seen)
  if (typeof timerAtMs === 'object') {
    const { atOnce } = timerAtMs
    // By a clock that is behind ours, somebody may have set an earlier one since.
    update.condition(`(attribute_not_exists(checkAt) OR checkAt>=${update.value(atOnce)})`)
    setCheckAt(update, atOnce, atOnce)
    return
  }
  const orAtMs = append.items > 0 ? remindAtMs : undefined
  lowerTimer(update, seen, timerAtMs, { nowMs, orAtMs })
}

/** The options of an append that say when the sweeper must come for what it adds. */
export const timersOf = (nowMs: number, { later }: Append, record: QueueRecord | undefined) => ({
  timerAtMs: later && record && timerOf(later, record, nowMs),
  nowMs,
})

const timerOf = (later: Later, { scheduled }: QueueRecord, nowMs: number): number =>
  isUntidy({ ...scheduled, entries: later.entries })
    ? Math.min(later.dueMs, nowMs + TIDY_SCHEDULED_MS)
    : later.dueMs

/** A queue's first record. */
export function newRecord(
  queue: string,
  born: string,
  mark: string,
  lanes: ReadonlyMap<number, Lane>,
  append: Append,
  {
    configuration = defaultConfiguration,
    checkAtMs,
  }: {
    readonly configuration?: Configuration | undefined
    readonly checkAtMs?: number | undefined
  } = {},
): StoredRecord {
  const stored: StoredRecord = {
    ...recordKey(queue),
    shard: shardOf(queue),
    v: 1,
    born,
    m: mark,
    L: {},
    K: {},
    F: {},
    b: append.bytes,
    a: 1,
    c: 0,
    n: lanes.size,
    i: 0,
    g: 0,
    room: roomOf(configuration) - append.items,
  }
  for (const [priority, lane] of lanes) stored.L[priority] = encodeLane(lane)
  if (append.timed || configuration.itemTtlSeconds !== undefined) stored.tm = 'y'
  if (append.items === 0) stored.dry = 'y'
  // The stream has no earlier image to compare it with, so the record itself says that it is an event.
  else stored.ev = 'y'
  if (checkAtMs !== undefined) stored.checkAt = checkAtMs
  if (configuration !== defaultConfiguration) stored.cfg = encodeConfiguration(configuration)
  return stored
}
