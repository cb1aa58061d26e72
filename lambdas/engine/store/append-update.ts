import type { Expression } from '../../foundation/expression.ts'
import { type Append, type TailLimits, tailBytesAllowed } from '../core/append.ts'
import { type Configuration, defaultConfiguration, roomOf } from '../core/configuration.ts'
import { recordKey, shardOf } from '../core/keys.ts'
import type { Later } from '../core/later.ts'
import { LANES_MAX } from '../core/limits.ts'
import { markOf, movedSoFar } from '../core/notes.ts'
import type { Lane, QueueRecord } from '../core/record.ts'
import { encodeConfiguration } from '../core/stored-configuration.ts'
import { encodeLane } from '../core/stored-lane.ts'
import { noteName, type StoredRecord, TIMED_FORMAT } from '../core/stored-record.ts'
import { type OnceOnly, passOnce } from './once-update.ts'
import { recordUpdate } from './record-update.ts'
import { lowerTimer, schedule } from './scheduled-updates.ts'
import { comesAfter } from './sequence-update.ts'
import { setCheckAt } from './timer-update.ts'

type AppendOptions = {
  /** Lanes that it makes, with its entries in them. */
  readonly newLanes?: ReadonlyMap<number, Lane>
  /** Capacity does not count: the items are in the system already. */
  readonly anyway?: boolean
  /** A slot of the queue's push limit was taken for it, if the queue has one. */
  readonly admitted?: boolean
  /** When the sweeper is to look whether a consumer has come for it, where it has no other reason. */
  readonly remindAtMs?: number | undefined
  /** The update is handed out, and may be sent more often than it may be carried out. */
  readonly once?: OnceOnly
  /** The record by which its keys and its sequence are new, where it has any. */
  readonly newBy?: QueueRecord
  /** The record by which it schedules something. */
  readonly seen?: QueueRecord | undefined
  /** When the sweeper must look; `at once`: whatever the timer is by then. */
  readonly timerAtMs?: number | { readonly atOnce: number } | undefined
  /** By which that is near, or not. */
  readonly nowMs?: number | undefined
  /** What the same update does beside it. */
  readonly beside?: (update: Expression) => void
}

/**
 * An append is blind: it names no version, because appends commute with each other and with every
 * fenced write (which takes entries off a tail only as a prefix). Its conditions are that each
 * lane is there or, where it brings one, is not; that the tail is under its cap; that there is room.
 */
export function appendUpdate(
  append: Append,
  limits: TailLimits,
  {
    newLanes = new Map(),
    anyway = false,
    admitted = anyway,
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
  // The tail is being sealed, or the queue is full: both say so before anything is stored.
  if (append.bytes > 0) update.condition(`b<=${update.value(tailBytesAllowed(append, limits))}`)
  if (!anyway && append.items > 0) update.condition(`room>=${update.value(append.items)}`)
  // A process that has never read this queue does not know its limit; this condition tells it.
  if (!admitted) update.condition('attribute_not_exists(cfg.pl)')
  takeMarksBack(update, append)
  if (append.later === undefined || seen === undefined) startTimer(update, append, remindAtMs)
  else scheduleBeside(update, append, append.later, { seen, timerAtMs, remindAtMs, nowMs })
  if (once !== undefined) passOnce(update, once)
  if (newBy !== undefined) passIfNew(update, append, newBy)
  setGuards(update, append)
  count(update, append)
  beside?.(update)
  return update.build()
}

/**
 * All lanes at once, for a push to more lanes than an expression can name. Safe only because it
 * compares everything that could have touched a lane: the fence, appends, claims, lanes made.
 */
export function wideAppendUpdate(
  append: Append,
  seen: QueueRecord,
  newLanes: ReadonlyMap<number, Lane>,
  { remindAtMs, timerAtMs, nowMs }: Pick<AppendOptions, 'remindAtMs' | 'timerAtMs' | 'nowMs'>,
): ReturnType<Expression['build']> {
  const update = recordUpdate()
  update.condition(`v=${update.value(seen.version)}`)
  update.condition(`born=${update.value(seen.born)}`)
  update.condition(`a=${update.value(seen.appends)}`)
  update.condition(`c=${update.value(seen.claims)}`)
  update.condition(`n=${update.value(seen.lanesMade)}`)
  if (append.items > 0) update.condition(`room>=${update.value(append.items)}`)
  const lanes: Record<string, unknown> = {}
  for (const [priority, lane] of seen.lanes) {
    const entries = append.lanes.get(priority) ?? []
    lanes[priority] = encodeLane({ ...lane, tail: [...lane.tail, ...entries] })
  }
  for (const [priority, lane] of newLanes) lanes[priority] = encodeLane(lane)
  takeMarksBack(update, append)
  if (append.later === undefined) startTimer(update, append, remindAtMs)
  else scheduleBeside(update, append, append.later, { seen, timerAtMs, remindAtMs, nowMs })
  // Where nothing else has changed, no note can have come or left; but a message may have passed that brought nothing.
  if (append.sequence !== undefined) comesAfter(update, append.sequence.first)
  setGuards(update, append)
  update.set('L', lanes)
  update.add('n', newLanes.size)
  count(update, append)
  return update.build()
}

/**
 * A push with a key passes if its key is new. The receipts of all keys whose notes had left the record when it
 * was as `newBy` were looked for after that; so the conditions are that it has no note, and that no note of its
 * key has left since. The record tells that by the marks of the last that have left, and by how many have no
 * mark any more: these must be among those that had left by then.
 */
function passIfNew(update: Expression, { notes, sequence }: Append, newBy: QueueRecord): void {
  // A queue that was forgotten and made again knows neither notes nor messages of before.
  update.condition(`born=${update.value(newBy.born)}`)
  if (sequence !== undefined) comesAfter(update, sequence.first)
  if (notes === undefined || notes.size === 0) return
  const hashes = [...notes.keys()]
  for (const hash of hashes)
    update.condition(`attribute_not_exists(${update.name(noteName(hash))})`)
  const { marks, forgotten } = newBy.moved
  const marksOfOurs = new Set(hashes.map(markOf))
  if ([...marksOfOurs].some((mark) => marks.includes(mark))) {
    // One that had left by then has the same mark: none at all may have left since.
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

function count(update: Expression, append: Append): void {
  if (append.timed) update.set('fm', TIMED_FORMAT)
  update.add('b', append.bytes)
  update.add('a', 1)
  update.add('room', -append.items)
}

/** There is something to pop again. Removing what is not there costs nothing. */
function takeMarksBack(update: Expression, append: Append): void {
  if (append.items > 0) update.removes.push('dry', 'ev')
}

/**
 * What is free to pop has a timer. An append cannot know whether there is one, and leaves one that is
 * there as it is: that costs nothing, for the index changes only where the time does.
 */
function startTimer(update: Expression, append: Append, atMs: number | undefined): void {
  if (append.items === 0 || atMs === undefined) return
  update.sets.push(`checkAt=if_not_exists(checkAt,${update.value(atMs)})`)
}

/** What is scheduled has its timer, in place of the one for what is free. */
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
  if (typeof timerAtMs === 'object') setCheckAt(update, timerAtMs.atOnce, timerAtMs.atOnce)
  else
    lowerTimer(update, seen, timerAtMs, {
      nowMs,
      orAtMs: append.items > 0 ? remindAtMs : undefined,
    })
}

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
  if (append.timed || configuration.itemTtlSeconds !== undefined) stored.fm = TIMED_FORMAT
  if (append.items === 0) stored.dry = 'y'
  // There is no image before it to compare it with: it says itself that it is an event.
  else stored.ev = 'y'
  if (checkAtMs !== undefined) stored.checkAt = checkAtMs
  if (configuration !== defaultConfiguration) stored.cfg = encodeConfiguration(configuration)
  return stored
}
