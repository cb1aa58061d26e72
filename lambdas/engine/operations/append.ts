import { QueueError } from '../../foundation/errors.ts'
import { randomText } from '../../foundation/random-text.ts'
import {
  type Append,
  findAppend,
  isNext,
  obstacleTo,
  sealsAfter,
  startsAfterAppend,
} from '../core/append.ts'
import { defaultConfiguration } from '../core/configuration.ts'
import { recordKey } from '../core/keys.ts'
import { FORGET_AFTER_MS, LANES_MAX, LANES_PER_APPEND, ROOMY_TAIL } from '../core/limits.ts'
import { doneLocks } from '../core/locks.ts'
import { EPOCH_CHARACTERS, endOf, type Lane, newLane, type QueueRecord } from '../core/record.ts'
import { appendUpdate, newRecord, wideAppendUpdate } from '../store/append-update.ts'
import {
  busy,
  type Engine,
  newMark,
  outcomeUnknown,
  pause,
  readRecord,
  remindAtMs,
  seen,
  tailLimits,
} from './engine.ts'
import { foldForRoom } from './fold.ts'
import { housekeepRecord } from './housekeep.ts'
import { passLimit } from './pass-limit.ts'
import { appendSealing, seal } from './seal.ts'

/** First sequence number in each lane, and the lane's epoch, which together make the items' ids. */
export type Placed = ReadonlyMap<number, { readonly epoch: string; readonly start: number }>

/**
 * Most wait for a tail that is being sealed, 50–100 ms each: three seconds in all, after
 * which the caller is better served by an answer.
 */
const ATTEMPTS_MAX = 40
const FULL_WAIT_MS = 50

/** How a push stands to the queue's limit, before anything was asked of the store. */
export type Admittance = { readonly hasSlot: boolean; readonly receivedMs: number | undefined }

/**
 * The one loop of a push. An append names no version: it fails only for a reason that the record
 * handed over with the failure tells, so no step of it needs a read. Once an answer is lost it is
 * never sent again: a second copy could follow the first (rule 5).
 */
export async function append(
  engine: Engine,
  queue: string,
  addition: Append,
  { hasSlot, receivedMs }: Admittance,
): Promise<Placed> {
  const wide = addition.lanes.size > LANES_PER_APPEND
  let record = engine.memory.get(queue)
  let waits = 0
  let admitted = hasSlot
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    if (wide) record ??= await readRecord(engine, queue)
    if (!admitted && record !== undefined) {
      admitted = await passLimit(engine, 'push', record, receivedMs)
    }
    const limits = tailLimits(engine)
    // Not a wide one: the record that a lost race leaves may have a limit, which its write does not ask for.
    if (attempt === 1 && !wide && record !== undefined && engine.alone.has(record)) {
      const sealedFirst = await appendSealing(engine, record, addition)
      if (sealedFirst !== undefined) return placed(addition, sealedFirst)
      record = engine.memory.get(queue)
    }
    if (!wide) {
      // Blind at first: lanes are there, as far as anyone knows.
      const newLanes = record === undefined ? new Map() : missingLanes(engine, addition, record)
      const written = await engine.dynamo.update(
        recordKey(queue),
        appendUpdate(addition, limits, { newLanes, admitted, remindAtMs: remindAtMs(engine) }),
      )
      if (written.kind === 'unknown') return lookFor(engine, queue, addition, written.cause)
      if (written.kind === 'done') {
        const after = seen(engine, queue, written.item) as QueueRecord
        if (record !== undefined && isNext(record, after)) engine.alone.add(after)
        await sealAfter(engine, after, addition.bytes)
        return placed(addition, after)
      }
      record = seen(engine, queue, written.item)
    }
    let obstacle = obstacleTo(addition, record, limits)
    // A wide push has asked nothing of the store so far, and memory refuses nothing (rule 7).
    if (wide && (obstacle.kind === 'full' || obstacle.kind === 'too-many-lanes')) {
      record = await readRecord(engine, queue)
      obstacle = obstacleTo(addition, record, limits)
    }
    switch (obstacle.kind) {
      case 'no-record': {
        const made = await makeRecord(engine, queue, addition)
        if (made.kind === 'made') return placed(addition, made.record)
        record = made.current
        break
      }
      case 'full':
        if (record === undefined || doneLocks(record) === 0) throw queueFull(queue, record)
        record = await foldForRoom(engine, record)
        break
      case 'too-many-lanes':
        await makeRoomForLanes(engine, queue, record as QueueRecord)
        record = engine.memory.get(queue)
        break
      case 'too-wide': {
        const written = await appendWide(engine, queue, addition, record as QueueRecord)
        if (written !== undefined) return written
        record = engine.memory.get(queue)
        await pause(engine, attempt)
        break
      }
      case 'tail-full':
        waits += 1
        await engine.clock.sleep(FULL_WAIT_MS * (1 + engine.random()))
        // Still full after a wait: whoever was to seal it may have died.
        if (waits % 2 === 0) await sealQuietly(engine, record as QueueRecord)
        break
      case 'no-lanes':
      case 'none':
        break
      default:
        throw obstacle satisfies never
    }
  }
  throw busy(queue)
}

export function missingLanes(
  engine: Engine,
  addition: Append,
  record: QueueRecord | undefined,
): Map<number, Lane> {
  const lanes = new Map<number, Lane>()
  const { segmentSize } = record?.configuration ?? defaultConfiguration
  for (const [priority, entries] of addition.lanes) {
    if (record?.lanes.has(priority)) continue
    const epoch = randomText(engine.random, EPOCH_CHARACTERS)
    lanes.set(priority, newLane(epoch, segmentSize, entries))
  }
  return lanes
}

/** The queue's first push makes it. Its birth mark is ours alone, which decides a lost answer. */
async function makeRecord(
  engine: Engine,
  queue: string,
  addition: Append,
): Promise<
  | { readonly kind: 'made'; readonly record: QueueRecord }
  | { readonly kind: 'there'; readonly current: QueueRecord | undefined }
> {
  const lanes = missingLanes(engine, addition, undefined)
  const born = randomText(engine.random, EPOCH_CHARACTERS)
  // Nobody pops from a record that was made for a transaction which then never came.
  const checkAtMs =
    addition.items === 0 ? engine.clock.nowMs() + FORGET_AFTER_MS : remindAtMs(engine)
  const item = newRecord(queue, born, newMark(engine), lanes, addition, { checkAtMs })
  const written = await engine.dynamo.put({
    Item: item,
    ConditionExpression: 'attribute_not_exists(pk)',
  })
  if (written.kind === 'failed') {
    return { kind: 'there', current: seen(engine, queue, written.item) }
  }
  if (written.kind === 'done') {
    const record = seen(engine, queue, item) as QueueRecord
    await sealAfter(engine, record, addition.bytes)
    return { kind: 'made', record }
  }
  const current = await readRecord(engine, queue).catch((error: unknown) => {
    throw outcomeUnknown(queue, error)
  })
  if (current?.born !== born) throw outcomeUnknown(queue, written.cause)
  return { kind: 'made', record: seen(engine, queue, item) as QueueRecord }
}

async function appendWide(
  engine: Engine,
  queue: string,
  addition: Append,
  record: QueueRecord,
): Promise<Placed | undefined> {
  const written = await engine.dynamo.update(
    recordKey(queue),
    wideAppendUpdate(addition, record, missingLanes(engine, addition, record), remindAtMs(engine)),
  )
  if (written.kind === 'unknown') return lookFor(engine, queue, addition, written.cause)
  const current = seen(engine, queue, written.item)
  if (written.kind === 'failed') return undefined
  await sealAfter(engine, current as QueueRecord, addition.bytes)
  return placed(addition, current as QueueRecord)
}

/** Finds the append in the record, or says that nobody can tell. */
async function lookFor(
  engine: Engine,
  queue: string,
  addition: Append,
  cause: unknown,
): Promise<Placed> {
  const current = await readRecord(engine, queue).catch((error: unknown) => {
    throw outcomeUnknown(queue, error)
  })
  const found = current && findAppend(addition, current)
  if (current === undefined || found === undefined) throw outcomeUnknown(queue, cause)
  return places(current, found)
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

async function sealAfter(engine: Engine, record: QueueRecord, bytes: number): Promise<void> {
  const alone = engine.alone.has(record)
  if (sealsAfter(record, bytes, tailLimits(engine), alone)) await sealQuietly(engine, record)
}

/** The push is answered by its append alone: a seal that fails is somebody else's next. */
export async function sealQuietly(engine: Engine, record: QueueRecord): Promise<void> {
  await seal(engine, record).catch((error: unknown) => {
    engine.onBackgroundError(error, { queue: record.queue, step: 'seal' })
  })
}

/** Drops lanes that are empty. The record must be as the store has it now: this may refuse (rule 7). */
export async function makeRoomForLanes(
  engine: Engine,
  queue: string,
  record: QueueRecord,
): Promise<void> {
  const empty = [...record.lanes.values()].filter((lane) => lane.head === endOf(lane)).length
  if (empty > 0) {
    const report = await housekeepRecord(engine, queue, record, true)
    // Others may have dropped them meanwhile.
    const lanesLeft = engine.memory.get(queue)?.lanes.size ?? 0
    if (report.dropped > 0 || lanesLeft < record.lanes.size) return
  }
  throw new QueueError(
    'TOO_MANY_PRIORITIES',
    `Cannot use another priority in queue "${queue}" because ${LANES_MAX} have items in them already`,
    { field: 'priority' },
  )
}

export function queueFull(queue: string, record: QueueRecord | undefined): QueueError {
  const capacity = record?.configuration.capacity
  return new QueueError(
    'QUEUE_FULL',
    `Cannot push to queue "${queue}" because it would hold more than its capacity of ${capacity} items`,
  )
}

/**
 * Makes the lane, empty, where it is missing: what a transaction appends to must be there. It
 * brings no items and no bytes, so a full queue and a full tail do not matter.
 */
export async function ensureLane(
  engine: Engine,
  queue: string,
  priority: number,
): Promise<QueueRecord> {
  const nothing: Append = { lanes: new Map([[priority, []]]), items: 0, bytes: 0 }
  let record = engine.memory.get(queue)
  let current = record === undefined
  if (current) record = await readRecord(engine, queue)
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    if (record?.lanes.has(priority)) return record
    if (record === undefined) {
      const made = await makeRecord(engine, queue, nothing)
      record = made.kind === 'made' ? made.record : made.current
      current = true
    } else if (obstacleTo(nothing, record, ROOMY_TAIL).kind === 'too-many-lanes') {
      // Others may have made room since this process saw the queue.
      if (current) await makeRoomForLanes(engine, queue, record)
      record = await readRecord(engine, queue)
      current = true
    } else {
      const newLanes = missingLanes(engine, nothing, record)
      const written = await engine.dynamo.update(
        recordKey(queue),
        appendUpdate(nothing, ROOMY_TAIL, { newLanes, anyway: true }),
      )
      // Made or not, by us or not: what counts is whether it is there.
      record =
        written.kind === 'unknown'
          ? await readRecord(engine, queue)
          : seen(engine, queue, written.item)
      current = true
    }
  }
  throw busy(queue)
}
