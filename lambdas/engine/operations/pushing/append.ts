import { QueueError } from '../../../foundation/errors.ts'
import {
  type Append,
  findAppend,
  isNext,
  obstacleTo,
  type Placed,
  startsAfterAppend,
} from '../../core/append.ts'
import { recordKey } from '../../core/keys.ts'
import { LANES_PER_APPEND } from '../../core/limits.ts'
import { doneLocks } from '../../core/locks.ts'
import type { Lane, QueueRecord } from '../../core/record.ts'
import { appendUpdate, wideAppendUpdate } from '../../store/append-update.ts'
import { attempts } from '../attempts/attempts.ts'
import {
  act,
  again,
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
import { foldForRoom } from '../attempts/fold.ts'
import type { LimitedCall } from '../attempts/pass-limit.ts'
import { makeRecord, makeRoomForLanes, missingLanes } from '../lanes/lanes.ts'
import { appendSealing, sealAfter, sealQuietly } from '../lanes/seal.ts'
import { buryDead } from '../moving/move-dead.ts'

/**
 * Most attempts only wait for a seal, 50–100 ms each: three seconds in all, after which the caller is
 * better served by an answer.
 */
const ATTEMPTS_MAX = 40
const FULL_WAIT_MS = 50

/** What one push appends, and to which queue. */
type Appending = {
  readonly engine: Engine
  readonly queue: string
  readonly addition: Append
  /** Waits for a full tail so far. */
  waits: number
}

/**
 * An append names no version: it fails only for reasons that the record shows, and DynamoDB hands that
 * over with the failure, so no attempt needs a read. Once an answer is lost it is never sent again: a
 * second copy could follow the first (rule 5).
 */
export function append(
  engine: Engine,
  queue: string,
  addition: Append,
  limit: LimitedCall,
): Promise<Placed> {
  const appending: Appending = { engine, queue, addition, waits: 0 }
  if (addition.lanes.size > LANES_PER_APPEND) return appendWide(appending, limit)
  const course = { from: 'memory', attemptsMax: ATTEMPTS_MAX, limit } as const
  return attempts<Placed>(engine, queue, course, (view) => {
    const { record, attempt } = view
    const isAlone = attempt === 1 && record !== undefined && engine.alone.has(record)
    return act(() => (isAlone ? sealFirst(appending, record) : sendBlind(appending, view)))
  })
}

/** For a lone producer whose push would fill the tail. If this is not the moment, it pushes as any other. */
async function sealFirst(
  { engine, queue, addition }: Appending,
  record: QueueRecord,
): Promise<Outcome<Placed>> {
  const sealed = await appendSealing(engine, record, addition)
  return sealed === undefined ? again(engine.memory.get(queue)) : done(placed(addition, sealed))
}

async function sendBlind(
  appending: Appending,
  { record, admitted }: View,
): Promise<Outcome<Placed>> {
  const { engine, queue, addition } = appending
  // Lanes are there, as far as anyone knows.
  const newLanes = record === undefined ? new Map() : missingLanes(engine, addition, record)
  const options = { newLanes, admitted, remindAtMs: remindAtMs(engine) }
  const update = appendUpdate(addition, tailLimits(engine), options)
  const written = await engine.dynamo.update(recordKey(queue), update)
  if (written.kind === 'unknown') return lookFor(appending, written.cause)
  const after = seen(engine, queue, written.row)
  if (written.kind === 'failed' || after === undefined) return clearTheWay(appending, after)
  if (record !== undefined && isNext(record, after)) engine.alone.add(after)
  await sealAfter(engine, after, addition.bytes)
  return done(placed(addition, after))
}

/**
 * Appends to more lanes than an expression can name: one write replaces all of them, on the condition
 * that nothing at all has changed. That write cannot tell what is in the way, so this looks first.
 */
function appendWide(appending: Appending, limit: LimitedCall): Promise<Placed> {
  const { engine, queue, addition } = appending
  const course = { from: 'memory-or-store', attemptsMax: ATTEMPTS_MAX, limit } as const
  return attempts<Placed>(engine, queue, course, ({ record, isCurrent }) => {
    const obstacle = obstacleTo(addition, record, tailLimits(engine))
    if (record !== undefined && obstacle.kind === 'too-wide') {
      return act(() => sendWide(appending, record))
    }
    return isCurrent ? act(() => clearTheWay(appending, record)) : look
  })
}

async function sendWide(appending: Appending, record: QueueRecord): Promise<Outcome<Placed>> {
  const { engine, queue, addition } = appending
  const newLanes = missingLanes(engine, addition, record)
  const update = wideAppendUpdate(addition, record, newLanes, remindAtMs(engine))
  const written = await engine.dynamo.update(recordKey(queue), update)
  if (written.kind === 'unknown') return lookFor(appending, written.cause)
  const after = seen(engine, queue, written.row)
  if (written.kind === 'failed' || after === undefined) return lost(after)
  await sealAfter(engine, after, addition.bytes)
  return done(placed(addition, after))
}

/** Does what the next attempt needs, by the record that refused this one; or refuses the push. */
async function clearTheWay(
  appending: Appending,
  record: QueueRecord | undefined,
): Promise<Outcome<Placed>> {
  const { engine, queue, addition } = appending
  const obstacle = obstacleTo(addition, record, tailLimits(engine))
  if (record === undefined) {
    return makeRecord(engine, queue, addition, (made) => placed(addition, made))
  }
  switch (obstacle.kind) {
    case 'full':
      if (doneLocks(record) === 0) throw queueFull(record)
      return again(await foldForRoom(engine, record))
    case 'too-many-lanes':
      return again(await makeRoomForLanes(engine, record, buryDead))
    case 'tail-full':
      return again(await waitForRoom(appending, record))
    case 'too-wide':
    case 'no-record':
    case 'no-lanes':
    case 'none':
      return again(record)
    default:
      throw obstacle satisfies never
  }
}

async function waitForRoom(
  appending: Appending,
  record: QueueRecord,
): Promise<QueueRecord | undefined> {
  const { engine, queue, addition } = appending
  appending.waits += 1
  await engine.clock.sleep(FULL_WAIT_MS * (1 + engine.random()))
  // Still full after a wait: the process that was to seal it may have died.
  if (appending.waits % 2 === 0) await sealQuietly(engine, record)
  // The next blind append learns what the record is now; a wide one has to read it.
  return addition.lanes.size > LANES_PER_APPEND ? readRecord(engine, queue) : record
}

/** Finds the append in the record, or says that nobody can tell. */
function lookFor({ engine, queue, addition }: Appending, cause: unknown): Outcome<Placed> {
  return doubt(cause, async () => {
    const current = await readRecord(engine, queue)
    const found = current && findAppend(addition, current)
    if (current === undefined || found === undefined) throw outcomeUnknown(queue, cause)
    return done(places(current, found))
  })
}

function placed(addition: Append, record: QueueRecord): Placed {
  return places(record, startsAfterAppend(addition, record))
}

function places(record: QueueRecord, starts: ReadonlyMap<number, number>): Placed {
  const found = new Map<number, { epoch: string; start: number }>()
  for (const [priority, start] of starts) {
    found.set(priority, { epoch: (record.lanes.get(priority) as Lane).epoch, start })
  }
  return found
}

export function queueFull({ queue, configuration }: QueueRecord): QueueError {
  return new QueueError(
    'QUEUE_FULL',
    `Cannot push to queue "${queue}" because it would hold more than its capacity of ${configuration.capacity} items`,
  )
}
