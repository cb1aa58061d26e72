import {
  type Append,
  goesByRecord,
  isNext,
  isRepeatable,
  obstacleTo,
  type Placed,
  placedAt,
} from '../../core/append.ts'
import { recordKey } from '../../core/keys.ts'
import { LANES_PER_APPEND } from '../../core/limits.ts'
import type { QueueRecord } from '../../core/record.ts'
import { appendUpdate, timersOf, wideAppendUpdate } from '../../store/append-update.ts'
import { attempts } from '../attempts/attempts.ts'
import {
  act,
  again,
  asRemembered,
  asStored,
  done,
  doubt,
  look,
  lost,
  type Outcome,
  type View,
} from '../attempts/decision.ts'
import {
  type Engine,
  outcomeUnknown,
  readRecord,
  remindAtMs,
  seen,
  tailLimits,
} from '../attempts/engine.ts'
import type { LimitedCall } from '../attempts/pass-limit.ts'
import { remindInTime } from '../attempts/remind-in-time.ts'
import { missingLanes } from '../lanes/entries.ts'
import { makeRecord, makeRoomForLanes } from '../lanes/lanes.ts'
import { queueFull } from '../lanes/queue-full.ts'
import { appendSealing, sealAfter } from '../lanes/seal.ts'
import { findAppended } from '../later/find-scheduled.ts'
import { sealLaterAfter } from '../later/seal-later.ts'
import { makeRoom } from '../moving/make-room.ts'
import { buryDead } from '../moving/move-dead.ts'
import {
  type Appended,
  type Appending,
  isStillNew,
  knownBy,
  knownOf,
  placedIn,
} from './appending.ts'
import { waitForRoom } from './wait-for-room.ts'

/**
 * Most attempts only wait for a seal, 50–100 ms each: three seconds in all, after which an answer serves the
 * caller better.
 */
const ATTEMPTS_MAX = 40
/** How often we send a repeatable append whose answers get lost; after that, the store is out of reach. */
const LOST_ANSWERS_MAX = 4

/**
 * An append names no version: it fails only for reasons that the record shows, and DynamoDB returns the
 * record with the failure, so no attempt needs a read. Once an answer is lost, we never send the append
 * again: a second copy could follow the first (rule 5).
 */
export async function append(
  engine: Engine,
  queue: string,
  addition: Append,
  limit: LimitedCall,
): Promise<Placed> {
  const remembered = engine.memory.get(queue)
  const appending = { engine, queue, addition, remembered, lostAnswers: 0, waits: 0 }
  const appended = await sendUntilIn(appending, limit)
  if (appended.kind !== 'placed') throw new Error('An append without keys was not new')
  return appended.placed
}

/**
 * The same for an append whose pushes have keys, or that applies inbox messages. It passes only while these are new,
 * and once it is in they are not: so after a lost answer we may send it again.
 */
export function appendNew(
  engine: Engine,
  queue: string,
  addition: Append,
  known: { readonly newBy: QueueRecord; readonly remembered: QueueRecord | undefined },
  limit: LimitedCall,
): Promise<Appended> {
  return sendUntilIn({ engine, queue, addition, ...known, lostAnswers: 0, waits: 0 }, limit)
}

function sendUntilIn(appending: Appending, limit: LimitedCall): Promise<Appended> {
  const { engine, queue, addition, newBy } = appending
  if (addition.lanes.size > LANES_PER_APPEND) return appendWide(appending, limit)
  const from = newBy === undefined ? 'memory' : knownBy(appending, newBy)
  const course = { from, attemptsMax: ATTEMPTS_MAX, limit } as const
  return attempts<Appended>(engine, queue, course, (view) => {
    const { record, attempt } = view
    const known = knownOf(appending, view)
    if (known !== undefined) return act(async () => done(known))
    const isAlone =
      attempt === 1 &&
      addition.later === undefined &&
      record !== undefined &&
      engine.alone.has(record)
    return act(() => (isAlone ? sealFirst(appending, record) : sendBlind(appending, view)))
  })
}

/** For a lone producer whose push would fill the tail. If it is too early for a seal, it pushes like any other. */
async function sealFirst(
  { engine, queue, addition }: Appending,
  record: QueueRecord,
): Promise<Outcome<Appended>> {
  const sealed = await appendSealing(engine, record, addition)
  return sealed === undefined
    ? again(asRemembered(engine.memory.get(queue)))
    : done(placedIn(addition, sealed))
}

async function sendBlind(appending: Appending, { record, pass }: View): Promise<Outcome<Appended>> {
  const { engine, queue, addition, remembered } = appending
  // Without a record, we assume that the lanes exist.
  const newLanes = record === undefined ? new Map() : missingLanes(engine, addition, record)
  const update = appendUpdate(addition, tailLimits(engine), {
    newLanes,
    pass,
    remindAtMs: remindAtMs(engine),
    ...(record !== undefined && goesByRecord(addition) && { newBy: record }),
    ...timersOf(engine.clock.nowMs(), addition, record),
  })
  const written = await engine.dynamo.update(recordKey(queue), update)
  if (written.kind === 'unknown') return lookFor(appending, written.cause)
  const after = seen(engine, queue, written.row)
  if (written.kind === 'failed' || after === undefined) return clearTheWay(appending, after)
  // Use only a record remembered from before: by one read for this push, every producer would seem to be alone.
  if (remembered !== undefined && isNext(remembered, after)) engine.alone.add(after)
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

/**
 * Appends to more lanes than an expression can name: one write replaces all of them, on condition that nothing
 * at all has changed. That write cannot tell what is in the way, so we look first.
 */
function appendWide(appending: Appending, limit: LimitedCall): Promise<Appended> {
  const { engine, queue, addition, newBy } = appending
  const from = newBy === undefined ? 'memory-or-store' : knownBy(appending, newBy)
  const course = { from, attemptsMax: ATTEMPTS_MAX, limit } as const
  return attempts<Appended>(engine, queue, course, (view) => {
    const { record, isCurrent } = view
    const known = knownOf(appending, view)
    if (known !== undefined) return act(async () => done(known))
    const obstacle = obstacleTo(addition, record, tailLimits(engine))
    if (record !== undefined && obstacle.kind === 'too-wide') {
      return act(() => sendWide(appending, record))
    }
    return isCurrent ? act(() => clearTheWay(appending, record)) : look
  })
}

async function sendWide(appending: Appending, record: QueueRecord): Promise<Outcome<Appended>> {
  const { engine, queue, addition } = appending
  const newLanes = missingLanes(engine, addition, record)
  const update = wideAppendUpdate(addition, record, newLanes, {
    remindAtMs: remindAtMs(engine),
    ...timersOf(engine.clock.nowMs(), addition, record),
  })
  const written = await engine.dynamo.update(recordKey(queue), update)
  if (written.kind === 'unknown') return lookFor(appending, written.cause)
  const after = seen(engine, queue, written.row)
  if (written.kind === 'failed' || after === undefined) return lost(asStored(after))
  return landed(appending, after)
}

/** Prepares the next attempt, going by the record that refused this one; or refuses the push. */
async function clearTheWay(
  appending: Appending,
  record: QueueRecord | undefined,
): Promise<Outcome<Appended>> {
  const { engine, queue, addition } = appending
  const obstacle = obstacleTo(addition, record, tailLimits(engine))
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
      appending.waits += 1
      return again(
        asStored(await waitForRoom(engine, record, obstacle.kind, appending.waits, addition)),
      )
    case 'too-wide':
    case 'no-record':
    case 'no-lanes':
    case 'none':
      return again(asStored(record))
    default:
      throw obstacle satisfies never
  }
}

/** Finds the append in the record, or says that nobody can tell. Sends a repeatable append again. */
function lookFor(appending: Appending, cause: unknown): Outcome<Appended> {
  const { engine, queue, addition } = appending
  return doubt(cause, async () => {
    appending.lostAnswers += 1
    const current = await readRecord(engine, queue)
    if (isRepeatable(addition) && appending.lostAnswers < LOST_ANSWERS_MAX)
      return again(asStored(current))
    const found = current && (await findAppended(engine, addition, current))
    if (current === undefined || found === undefined) throw outcomeUnknown(queue, cause)
    return done({ kind: 'placed', placed: placedAt(current, found) })
  })
}
