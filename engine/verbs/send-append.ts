// One append until it is in, or refused. It names no version, so others may append at the same time: it fails only for
// reasons that the record shows, and DynamoDB returns the record with the failure, so no attempt needs a read. What may
// be in the way: no record, a missing lane, no room, a full tail or a full list of scheduled items (both wait for their
// seal), or that its keys are new no longer. Once an answer is lost, we never send an append without keys again: a
// second copy could follow the first (rule 5). One with keys, or of inbox messages, passes only while these are new, and
// once it is in they are not: so it may be sent again.

import { QueueError } from '../../shared/errors.ts'
import {
  type Append,
  findNoted,
  goesByRecord,
  isNew,
  isRepeatable,
  obstacleTo,
  type Placed,
  placedAt,
  startsAfterAppend,
} from '../core/append.ts'
import type { QueueRecord } from '../core/record.ts'
import { attempts } from '../driver/attempts.ts'
import { act, again, asStored, done, doubt, type Outcome, type View } from '../driver/decision.ts'
import type { Engine } from '../driver/engine.ts'
import type { LimitedCall } from '../driver/queue-settings.ts'
import { appendUpdate, timersOf } from '../requests/append-update.ts'
import { findAppended, sealLaterAfter, sealLaterQuietly } from '../storing/copy-later.ts'
import { makeRecord, makeRoomForLanes, queueFull, remindInTime } from '../storing/make-lanes.ts'
import { makeRoom } from '../storing/make-room.ts'
import { buryDead } from '../storing/move-across.ts'
import { sealAfter, sealQuietly } from '../storing/seal.ts'
import { missingLanes } from '../storing/write-entries.ts'

/** What one append brings, and to which queue. */
type Appending = {
  readonly engine: Engine
  readonly queue: string
  readonly addition: Append
  /** For an append with keys or a sequence: the record according to which they are new. */
  readonly newBy?: QueueRecord
  lostAnswers: number
  /** Waits for a full tail so far. */
  waits: number
}

/** What became of an append with keys or a sequence. */
type Appended =
  | { readonly kind: 'placed'; readonly placed: Placed }
  /** By this record, part of it may not be new any more. It did not happen, unless in doubt, and it never will. */
  | { readonly kind: 'look'; readonly record: QueueRecord | undefined; readonly inDoubt: boolean }

/**
 * Most attempts only wait for a seal, 50–100 ms each: three seconds in all, after which an answer serves the
 * caller better.
 */
const ATTEMPTS_MAX = 40
/** How often we send a repeatable append whose answers get lost; after that, the store is out of reach. */
const LOST_ANSWERS_MAX = 4

/** Where the items of an append without keys came to lie. */
export async function append(
  engine: Engine,
  queue: string,
  addition: Append,
  limit: LimitedCall,
): Promise<Placed> {
  const appended = await sendUntilIn({ engine, queue, addition, lostAnswers: 0, waits: 0 }, limit)
  if (appended.kind !== 'placed') throw new Error('An append without keys was not new')
  return appended.placed
}

/** The same for an append whose pushes have keys, or that applies inbox messages: it may find that they are not new. */
export function appendNew(
  engine: Engine,
  queue: string,
  addition: Append,
  newBy: QueueRecord,
  limit: LimitedCall,
): Promise<Appended> {
  return sendUntilIn({ engine, queue, addition, newBy, lostAnswers: 0, waits: 0 }, limit)
}

function sendUntilIn(appending: Appending, limit: LimitedCall): Promise<Appended> {
  const { engine, queue, newBy } = appending
  const from = newBy === undefined ? 'memory' : { record: newBy, isCurrent: false }
  const course = { from, attemptsMax: ATTEMPTS_MAX, limit } as const
  return attempts<Appended>(engine, queue, course, (view) => {
    const known = knownOf(appending, view)
    return act(async () => (known === undefined ? sendBlind(appending, view) : done(known)))
  })
}

/** What the record says about an append with keys or a sequence; undefined if they are new. Receipts tell the rest. */
function knownOf({ addition, newBy }: Appending, { record, inDoubt }: View): Appended | undefined {
  if (newBy === undefined) return undefined
  if (record !== undefined && inDoubt) {
    const placed = findNoted(addition, record)
    if (placed?.size === addition.lanes.size) return { kind: 'placed', placed }
  }
  return record !== undefined && isNew(addition, newBy, record)
    ? undefined
    : { kind: 'look', record, inDoubt }
}

const isStillNew = ({ addition, newBy }: Appending, record: QueueRecord): boolean =>
  newBy === undefined || isNew(addition, newBy, record)

async function sendBlind(appending: Appending, { record, pass }: View): Promise<Outcome<Appended>> {
  const { engine, queue, addition } = appending
  // Without a record, we assume that the lanes exist.
  const newLanes = record === undefined ? new Map() : missingLanes(engine, addition, record)
  const update = appendUpdate(addition, engine.records.tailLimits(), {
    newLanes,
    pass,
    remindAtMs: engine.records.remindAtMs(),
    ...(record !== undefined && goesByRecord(addition) && { newBy: record }),
    ...timersOf(engine.clock.nowMs(), addition, record),
  })
  const written = await engine.records.update(queue, update)
  if (written.kind === 'unknown') return lookFor(appending, written.cause)
  const after = engine.records.seen(queue, written.row)
  if (written.kind === 'failed' || after === undefined) return clearTheWay(appending, after)
  return landed(appending, after)
}

/** What a push sees to once it is in. */
async function landed(
  { engine, addition }: Appending,
  after: QueueRecord,
): Promise<Outcome<Appended>> {
  await sealAfter(engine, after, addition.bytes)
  await sealLaterAfter(engine, after, addition.later)
  if (addition.items > 0) await remindInTime(engine, after)
  return done(placedIn(addition, after))
}

function placedIn(addition: Append, record: QueueRecord): Appended {
  return { kind: 'placed', placed: placedAt(record, startsAfterAppend(addition, record)) }
}

/** Prepares the next attempt, going by the record that refused this one; or refuses the push. */
async function clearTheWay(
  appending: Appending,
  record: QueueRecord | undefined,
): Promise<Outcome<Appended>> {
  const { engine, queue, addition } = appending
  const obstacle = obstacleTo(addition, record, engine.records.tailLimits())
  if (record === undefined) {
    // The record by which its keys were new is gone.
    if (appending.newBy !== undefined) return again(asStored(record))
    return makeRecord(engine, queue, addition, (made) => placedIn(addition, made))
  }
  // Another push with its key was first, which may have taken the very room that this one lacks.
  if (!isStillNew(appending, record)) return again(asStored(record))
  switch (obstacle.kind) {
    case 'full': {
      const now = await makeRoom(engine, record, addition.items)
      if (now === undefined || !isStillNew(appending, now)) return again(asStored(now))
      if (now.room < addition.items) throw queueFull(now, addition.items)
      return again(asStored(now))
    }
    case 'too-many-lanes':
      return again(asStored(await makeRoomForLanes(engine, record, buryDead)))
    case 'tail-full':
    case 'scheduled-full':
      await waitForRoom(appending, record, obstacle.kind)
      return again(asStored(record))
    case 'no-record':
    case 'no-lanes':
    case 'none':
      return again(asStored(record))
    default:
      throw obstacle satisfies never
  }
}

const FULL_WAIT_MS = 50

/** Another process is sealing what is full. */
async function waitForRoom(
  appending: Appending,
  record: QueueRecord,
  full: 'tail-full' | 'scheduled-full',
): Promise<void> {
  const { engine } = appending
  appending.waits += 1
  await engine.clock.sleep(FULL_WAIT_MS * (1 + engine.random()))
  // Still full after a wait: the process that was to seal it may have died.
  if (appending.waits % 2 === 0) {
    await (full === 'tail-full' ? sealQuietly(engine, record) : sealLaterQuietly(engine, record))
  }
}

/** Finds the append in the record, or says that nobody can tell. Sends a repeatable append again. */
function lookFor(appending: Appending, cause: unknown): Outcome<Appended> {
  const { engine, queue, addition } = appending
  return doubt(cause, async () => {
    appending.lostAnswers += 1
    const current = await engine.records.read(queue)
    if (isRepeatable(addition) && appending.lostAnswers < LOST_ANSWERS_MAX)
      return again(asStored(current))
    const found = current && (await findAppended(engine, addition, current))
    if (current === undefined || found === undefined) throw QueueError.unknown(queue, cause)
    return done({ kind: 'placed', placed: placedAt(current, found) })
  })
}
