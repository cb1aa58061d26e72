import type { Row } from '../../foundation/dynamo.ts'
import { QueueError } from '../../foundation/errors.ts'
import { randomText } from '../../foundation/random-text.ts'
import type { Key } from '../../foundation/table.ts'
import { type Append, crossesSealLine, obstacleTo } from '../core/append.ts'
import { receiptKey, recordKey } from '../core/keys.ts'
import { doneLocks } from '../core/locks.ts'
import { checkIdempotencyKey } from '../core/pop-request.ts'
import type { Receipt } from '../core/receipt.ts'
import { EPOCH_CHARACTERS, endOf, type QueueRecord } from '../core/record.ts'
import { appendUpdate, newRecord, wideAppendUpdate } from '../store/append-update.ts'
import type { Pushed, PushItem } from '../verbs.ts'
import {
  type Admittance,
  makeRoomForLanes,
  missingLanes,
  type Placed,
  queueFull,
  sealQuietly,
} from './append.ts'
import {
  busy,
  changedAllTheSame,
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
import { hashOf } from './hash.ts'
import { locate, searchesOf } from './locate.ts'
import { passKnownLimit, passLimit } from './pass-limit.ts'
import { discardUnlessOpen, idsOf, prepare } from './push.ts'

const ATTEMPTS_MAX = 40
/**
 * The answer tells ids, which tell positions, so the append compares the end of each lane. Beside a
 * storm of blind appends that would lose for ever: after so many losses it goes in blind as well,
 * and looks for its position afterwards.
 */
const EXACT_ATTEMPTS = 4
const FULL_WAIT_MS = 100

/**
 * A push with one effect for its key, whatever is lost on the way: the receipt that remembers its
 * answer and the append are one transaction. So it may be sent again without fear.
 */
export async function pushOnce(
  engine: Engine,
  queue: string,
  items: readonly PushItem[],
  idempotencyKey: string,
  receivedMs: number | undefined,
): Promise<Pushed> {
  checkIdempotencyKey(idempotencyKey)
  const hasSlot = await passKnownLimit(engine, queue, receivedMs)
  const once: Once = {
    queue,
    items,
    key: receiptKey(queue, hashOf(queue, idempotencyKey)),
    hash: hashOf(...items.flatMap(({ text, priority = 0 }) => [text, String(priority)])),
    ...(await prepare(engine, queue, items)),
    hasSlot,
    receivedMs,
    open: { lost: undefined, done: false },
  }
  try {
    return await attempts(engine, once)
  } catch (error) {
    const { lost, done } = once.open
    if (done) throw changedAllTheSame(error)
    if (
      lost !== undefined &&
      !(error instanceof QueueError && error.code === 'IDEMPOTENCY_CONFLICT')
    ) {
      throw outcomeUnknown(queue, error)
    }
    await discardUnlessOpen(engine, queue, once.addition, error)
    throw error
  }
}

type Once = Admittance & {
  readonly queue: string
  readonly items: readonly PushItem[]
  readonly key: Key
  readonly hash: string
  readonly addition: Append
  readonly heads: ReadonlyMap<number, string>
  /** The first lost answer: from then on only the receipt can say that it did not happen. */
  readonly open: {
    lost: unknown
    /** It is in the queue: whatever fails now takes nothing back. */
    done: boolean
  }
}

async function attempts(engine: Engine, once: Once): Promise<Pushed> {
  const { queue, addition } = once
  let record = engine.memory.get(queue)
  let current = record === undefined
  if (current) record = await readRecord(engine, queue)
  let admitted = once.hasSlot
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    if (!admitted && record !== undefined) {
      admitted = await passLimit(engine, 'push', record, once.receivedMs)
    }
    const obstacle = obstacleTo(addition, record, tailLimits(engine))
    const stops = obstacle.kind === 'full' || obstacle.kind === 'too-many-lanes'
    if (stops || obstacle.kind === 'tail-full') {
      if (!current) {
        record = await readRecord(engine, queue)
        current = true
        continue
      }
      // A repetition gets its first answer, even when the queue has filled up since.
      const known = await answerOf(engine, once)
      if (known !== undefined) return known
      if (obstacle.kind === 'full' && (record === undefined || doneLocks(record) === 0)) {
        throw queueFull(queue, record)
      }
      if (obstacle.kind === 'full' && record !== undefined) {
        record = await foldForRoom(engine, record)
        continue
      }
      if (obstacle.kind === 'too-many-lanes') {
        await makeRoomForLanes(engine, queue, record as QueueRecord)
      } else {
        await engine.clock.sleep(FULL_WAIT_MS * (1 + engine.random()))
        await sealQuietly(engine, record as QueueRecord)
      }
      record = await readRecord(engine, queue)
      continue
    }
    const exact = attempt <= EXACT_ATTEMPTS || record === undefined
    const { write, receipt, placed } = transactionFor(engine, once, record, exact, admitted)
    const transacted = await engine.dynamo.transact({
      TransactItems: [receiptPut(engine, receipt), write] as never,
    })
    engine.memory.delete(queue)
    if (transacted.kind === 'done') {
      once.open.done = true
      await sealAfterwards(engine, once, record)
      return placed !== undefined
        ? { ids: idsOf(once.items, placed) }
        : located(engine, once, receipt)
    }
    if (transacted.kind === 'unknown') {
      once.open.lost ??= transacted.cause
      const known = await answerOf(engine, once)
      if (known !== undefined) return known
    } else if (transacted.reasons[0]?.failed) {
      return answerAgain(engine, once, transacted.reasons[0].item as Receipt)
    } else {
      record = seen(engine, queue, transacted.reasons[1]?.item)
      current = true
      if (attempt > 1) await pause(engine, attempt)
      continue
    }
    record = await readRecord(engine, queue)
    current = true
    await pause(engine, attempt)
  }
  throw busy(queue)
}

function transactionFor(
  engine: Engine,
  once: Once,
  record: QueueRecord | undefined,
  exact: boolean,
  admitted: boolean,
): { write: Row; receipt: Receipt; placed: Placed | undefined } {
  const { addition, queue } = once
  const TableName = engine.dynamo.tableName
  const newLanes = missingLanes(engine, addition, record)
  const onFailure = { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }
  if (record === undefined) {
    const born = randomText(engine.random, EPOCH_CHARACTERS)
    const Item = newRecord(queue, born, newMark(engine), newLanes, addition, {
      checkAtMs: remindAtMs(engine),
    })
    const placed = placesIn(addition, record, newLanes)
    const write = {
      Put: { TableName, Item, ConditionExpression: 'attribute_not_exists(pk)', ...onFailure },
    }
    return { write, receipt: receiptOf(engine, once, placed), placed }
  }
  const limits = tailLimits(engine)
  const wide = obstacleTo(addition, record, limits).kind === 'too-wide'
  const expressions = wide
    ? wideAppendUpdate(addition, record, newLanes, remindAtMs(engine))
    : appendUpdate(addition, limits, {
        newLanes,
        admitted,
        remindAtMs: remindAtMs(engine),
        ...(exact && { exactly: record }),
      })
  const write = { Update: { TableName, Key: recordKey(queue), ...expressions, ...onFailure } }
  const placed = exact || wide ? placesIn(addition, record, newLanes) : undefined
  const receipt = receiptOf(engine, once, placed)
  if (placed !== undefined) return { write, receipt, placed }
  const search = searchesOf(addition, once.heads, record, newLanes)
  return { write, receipt: { ...receipt, search }, placed }
}

function placesIn(
  addition: Append,
  record: QueueRecord | undefined,
  newLanes: ReturnType<typeof missingLanes>,
): Placed {
  const places = new Map<number, { epoch: string; start: number }>()
  for (const priority of addition.lanes.keys()) {
    const lane = record?.lanes.get(priority)
    const made = newLanes.get(priority)
    if (lane !== undefined) places.set(priority, { epoch: lane.epoch, start: endOf(lane) })
    else if (made !== undefined) places.set(priority, { epoch: made.epoch, start: 0 })
  }
  return places
}

function receiptOf(engine: Engine, once: Once, placed: Placed | undefined): Receipt {
  return {
    ...once.key,
    hash: once.hash,
    ttl: Math.ceil(engine.clock.nowMs() / 1000) + engine.idempotencyTtlSeconds,
    ...(placed !== undefined && {
      places: [...placed].map(([priority, { epoch, start }]) => [priority, epoch, start] as const),
    }),
  }
}

function receiptPut(engine: Engine, receipt: Receipt): Row {
  return {
    Put: {
      TableName: engine.dynamo.tableName,
      Item: receipt,
      // DynamoDB deletes what is past its time days late: past it counts as gone.
      ConditionExpression: 'attribute_not_exists(pk) OR #ttl<=:now',
      ExpressionAttributeNames: { '#ttl': 'ttl' },
      ExpressionAttributeValues: { ':now': Math.floor(engine.clock.nowMs() / 1000) },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    },
  }
}

/** The first answer, if there was one and it is still remembered. */
async function answerOf(engine: Engine, once: Once): Promise<Pushed | undefined> {
  const row = (await engine.dynamo.get(once.key, true)) as Receipt | undefined
  if (row === undefined || row.ttl <= engine.clock.nowMs() / 1000) return undefined
  return answerAgain(engine, once, row)
}

async function answerAgain(engine: Engine, once: Once, receipt: Receipt): Promise<Pushed> {
  const answer = await answerFrom(engine, once, receipt)
  // The batches of this call are nobody's: the first call had its own.
  if (once.open.lost === undefined) {
    await discardUnlessOpen(engine, once.queue, once.addition, busy(once.queue))
  }
  return answer
}

async function answerFrom(engine: Engine, once: Once, receipt: Receipt): Promise<Pushed> {
  if (receipt.hash !== once.hash) {
    throw new QueueError(
      'IDEMPOTENCY_CONFLICT',
      'Cannot push with this Idempotency-Key because it was used with another body',
      { field: 'Idempotency-Key' },
    )
  }
  return receipt.places === undefined
    ? located(engine, once, receipt)
    : answerOfPlaces(once, receipt.places)
}

/**
 * Finds where a blind append went, and completes its receipt. Who completes it first decides what
 * everyone is told: another call with this key may have looked earlier, and have seen more.
 */
async function located(engine: Engine, once: Once, receipt: Receipt): Promise<Pushed> {
  const placed = await locate(engine, once.queue, receipt.search ?? [])
  // Popped and trimmed by now: it happened, and there is nothing left that an id could name.
  const found = [...(placed ?? [])].map(([p, { epoch, start }]) => [p, epoch, start] as const)
  const written = await engine.dynamo.update(once.key, {
    UpdateExpression: 'SET places=:p',
    ConditionExpression: '#h=:h AND attribute_not_exists(places)',
    ExpressionAttributeNames: { '#h': 'hash' },
    ExpressionAttributeValues: { ':p': found, ':h': once.hash },
  })
  if (written.kind === 'unknown' && placed === undefined) {
    throw outcomeUnknown(once.queue, written.cause)
  }
  const decided = written.kind === 'failed' ? (written.item as Receipt | undefined) : undefined
  return answerOfPlaces(once, decided?.places ?? found)
}

function answerOfPlaces(once: Once, places: NonNullable<Receipt['places']>): Pushed {
  if (places.length === 0) return { ids: [] }
  const placed = new Map(places.map(([priority, epoch, start]) => [priority, { epoch, start }]))
  return { ids: idsOf(once.items, placed) }
}

async function sealAfterwards(
  engine: Engine,
  { queue, addition }: Once,
  before: QueueRecord | undefined,
): Promise<void> {
  const bytes = (before?.tailBytes ?? 0) + addition.bytes
  if (!crossesSealLine(bytes, addition.bytes, tailLimits(engine))) return
  const record = await readRecord(engine, queue).catch((error: unknown) => {
    engine.onBackgroundError(error, { queue, step: 'seal' })
    return undefined
  })
  if (record !== undefined) await sealQuietly(engine, record)
}
