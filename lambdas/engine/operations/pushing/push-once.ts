import type { Row } from '../../../foundation/dynamo.ts'
import { randomText } from '../../../foundation/random-text.ts'
import { type Append, crossesSealLine, idsOf, obstacleTo, type Placed } from '../../core/append.ts'
import type { Configuration } from '../../core/configuration.ts'
import { hashOf } from '../../core/hash.ts'
import { receiptKey, recordKey } from '../../core/keys.ts'
import { doneLocks } from '../../core/locks.ts'
import { checkIdempotencyKey } from '../../core/pop-request.ts'
import type { Receipt } from '../../core/receipt.ts'
import { EPOCH_CHARACTERS, endOf, type QueueRecord } from '../../core/record.ts'
import { appendUpdate, newRecord, wideAppendUpdate } from '../../store/append-update.ts'
import type { Pushed, PushItem } from '../../verbs.ts'
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
  changedAllTheSame,
  type Engine,
  newMark,
  readRecord,
  remindAtMs,
  seen,
  tailLimits,
} from '../attempts/engine.ts'
import { foldForRoom } from '../attempts/fold.ts'
import { passKnownLimit } from '../attempts/pass-limit.ts'
import { firstConfiguration } from '../attempts/patterns.ts'
import { discardUnlessOpen, prepare } from '../lanes/entries.ts'
import { makeEmpty, makeRoomForLanes, mayBringItems, missingLanes } from '../lanes/lanes.ts'
import { sealQuietly } from '../lanes/seal.ts'
import { buryDead } from '../moving/move-dead.ts'
import { queueFull } from './append.ts'
import { searchesOf } from './locate.ts'
import { answerAgain, answerOf, located, type Once, receiptOf, receiptPut } from './receipts.ts'

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
  const limit = await passKnownLimit(engine, queue, receivedMs)
  const once: Once = {
    queue,
    items,
    key: receiptKey(queue, hashOf(queue, idempotencyKey)),
    hash: hashOf(...items.flatMap(({ text, priority = 0 }) => [text, String(priority)])),
    ...(await prepare(engine, queue, items)),
  }
  const course = {
    from: 'memory-or-store',
    attemptsMax: ATTEMPTS_MAX,
    pausesFrom: 2,
    limit,
  } as const
  return attempts<Pushed>(engine, queue, course, (view) => {
    const obstacle = obstacleTo(once.addition, view.record, tailLimits(engine)).kind
    if (obstacle !== 'full' && obstacle !== 'too-many-lanes' && obstacle !== 'tail-full') {
      return act(() => (view.record === undefined ? sendFirst : sendBoth)(engine, once, view))
    }
    return view.isCurrent ? act(() => clearTheWay(engine, once, view, obstacle)) : look
  }).catch(async (error: unknown) => {
    await discardUnlessOpen(engine, queue, once.addition, error)
    throw error
  })
}

/** Does what the next attempt needs; or refuses the push, unless it is a repetition. */
async function clearTheWay(
  engine: Engine,
  once: Once,
  { record, inDoubt }: View,
  obstacle: 'full' | 'too-many-lanes' | 'tail-full',
): Promise<Outcome<Pushed>> {
  const { queue } = once
  // A repetition gets its first answer, even when the queue has filled up since.
  const known = await answerOf(engine, once, inDoubt)
  if (known !== undefined) return known
  if (record === undefined) return again(record)
  if (obstacle === 'full') {
    if (doneLocks(record) === 0) throw queueFull(record)
    return again(await foldForRoom(engine, record))
  }
  if (obstacle === 'too-many-lanes') {
    await makeRoomForLanes(engine, record, buryDead)
  } else {
    await engine.clock.sleep(FULL_WAIT_MS * (1 + engine.random()))
    await sealQuietly(engine, record)
  }
  return again(await readRecord(engine, queue))
}

/** The same with the queue's first record, unless its pattern asks for more first. */
async function sendFirst(engine: Engine, once: Once, view: View): Promise<Outcome<Pushed>> {
  const { queue } = once
  const configuration = await firstConfiguration(engine, queue)
  return mayBringItems(configuration, once.addition)
    ? sendBoth(engine, once, view, configuration)
    : makeEmpty(engine, queue, configuration)
}

/** Sends the receipt and the append. */
async function sendBoth(
  engine: Engine,
  once: Once,
  view: View,
  first?: Configuration,
): Promise<Outcome<Pushed>> {
  const { queue } = once
  const { write, receipt, placed } = transactionFor(engine, once, view, first)
  const transacted = await engine.dynamo.transact({
    TransactItems: [receiptPut(engine, receipt), write] as never,
  })
  engine.memory.delete(queue)
  switch (transacted.kind) {
    case 'done':
      // The items are in the queue: no failure after this takes them back.
      return landed(engine, once, view.record, receipt, placed).then(done, (error: unknown) => {
        throw changedAllTheSame(error)
      })
    case 'failed': {
      const [first, own] = transacted.reasons
      if (!first?.failed) return lost(seen(engine, queue, own?.row))
      return answerAgain(engine, once, first.row as Receipt, view.inDoubt)
    }
    case 'unknown':
      // Only the receipt can say whether it happened.
      return doubt(
        transacted.cause,
        async () => (await answerOf(engine, once, true)) ?? lost(await readRecord(engine, queue)),
      )
    default:
      throw transacted satisfies never
  }
}

async function landed(
  engine: Engine,
  once: Once,
  before: QueueRecord | undefined,
  receipt: Receipt,
  placed: Placed | undefined,
): Promise<Pushed> {
  await sealAfterwards(engine, once, before)
  return placed !== undefined ? { ids: idsOf(once.items, placed) } : located(engine, once, receipt)
}

function transactionFor(
  engine: Engine,
  once: Once,
  { record, attempt, admitted }: View,
  first: Configuration | undefined,
): { write: Row; receipt: Receipt; placed: Placed | undefined } {
  const { addition, queue } = once
  const exact = attempt <= EXACT_ATTEMPTS || record === undefined
  const TableName = engine.dynamo.tableName
  const newLanes = missingLanes(engine, addition, record, first)
  const onFailure = { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }
  if (record === undefined) {
    const born = randomText(engine.random, EPOCH_CHARACTERS)
    const Item = newRecord(queue, born, newMark(engine), newLanes, addition, {
      checkAtMs: remindAtMs(engine),
      configuration: first,
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
        exactly: exact ? record : undefined,
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
