import { QueueError } from '../../../foundation/errors.ts'
import { checkQueueId } from '../../../foundation/queue-id.ts'
import { randomText } from '../../../foundation/random-text.ts'
import { type Append, obstacleTo } from '../../core/append.ts'
import { recordKey } from '../../core/keys.ts'
import type { Later } from '../../core/later.ts'
import {
  LANES_PER_APPEND,
  TOKENS_KEPT_MAX,
  TOKENS_KEPT_MIN,
  TOKENS_MAX,
  TOKENS_PER_UPDATE,
} from '../../core/limits.ts'
import { checkPush, checkTimesAhead, dueSecondOf, mayBeLater } from '../../core/push-request.ts'
import type { QueueRecord } from '../../core/record.ts'
import { asPrompt } from '../../core/timers.ts'
import { appendUpdate } from '../../store/append-update.ts'
import { forgetTokensUpdate, type OnceOnly } from '../../store/once-update.ts'
import type { PushItem, TransactItem } from '../../verbs.ts'
import { busy, type Engine, readRecord, remindAtMs, seen, tailLimits } from '../attempts/engine.ts'
import { type LimitedCall, passLimit } from '../attempts/pass-limit.ts'
import { prepare } from '../lanes/entries.ts'
import { checkLanesFit, ensureLane } from '../lanes/lanes.ts'
import { queueFull } from '../lanes/queue-full.ts'
import { sealQuietly } from '../lanes/seal.ts'
import { prepareLater } from '../later/prepare-later.ts'
import { sealLaterQuietly } from '../later/seal-later.ts'
import { makeRoom } from '../moving/make-room.ts'
import { recordOf } from './append-pushes.ts'

const TOKEN_CHARACTERS = 6
/** Enough for 4,800 tokens, or for as many races lost to others that forget some. */
const FORGETTING_UPDATES_MAX = 24

/**
 * One entry for the caller's own TransactWriteItems, so that an item is pushed exactly when the
 * caller's own row is written. We write a large item's batch beforehand; it stays as a stray if the
 * transaction never comes. An entry passes only once: sent again in another transaction, it would push the
 * same item twice, and a large item's batch as well. If its condition fails for another reason (the tail
 * filled up, the lane was dropped, many other entries were used meanwhile), nothing happened: ask for a
 * new entry and try again.
 */
export async function pushTransactItem(
  engine: Engine,
  queue: string,
  item: PushItem,
): Promise<TransactItem> {
  return (await makeEntry(engine, queue, [item], pushLimited())).entry
}

export type Entry = { readonly entry: TransactItem } & OnceOnly

export const pushLimited = (): LimitedCall => ({
  verb: 'push',
  pass: undefined,
  receivedMs: undefined,
})

/** The same for several items: a transaction may touch the record only once. `limit`: the call that asks for it. */
export async function makeEntry(
  engine: Engine,
  queue: string,
  items: readonly PushItem[],
  limit: LimitedCall,
): Promise<Entry> {
  checkQueueId(queue)
  checkPush(items)
  const nowMs = engine.clock.nowMs()
  checkTimesAhead(items, nowMs)
  // Items for later take up no room, and need no lane, until they are due.
  const now = items.filter((item) => dueSecondOf(item, nowMs) === undefined)
  const priorities = new Set(now.map(({ priority = 0 }) => priority))
  if (priorities.size > LANES_PER_APPEND) throw tooManyPriorities(priorities.size)
  // The remembered record may belong to a queue that was forgotten since.
  engine.memory.delete(queue)
  for (const priority of priorities) await ensureLane(engine, queue, priority)
  let record = await (now.length > 0 ? readRecord(engine, queue) : recordOf(engine, queue))
  if (record !== undefined && now.length > 0) record = await makeRoom(engine, record, now.length)
  if (record !== undefined) record = await forgetTokens(engine, record)
  // The queue was forgotten meanwhile, because it had been empty for long.
  if (record === undefined) throw busy(queue)
  checkLanesFit(record, priorities)
  if (now.length > 0 && record.room < now.length) throw queueFull(record, now.length)
  await passLimit(engine, limit, record)
  const { addition: atOnce } = await prepare(engine, queue, now, nowMs)
  const addition = await withLater(engine, record, atOnce, items, nowMs)
  const obstacle = obstacleTo(addition, record, tailLimits(engine))
  if (obstacle.kind === 'tail-full') await sealQuietly(engine, record)
  if (obstacle.kind === 'scheduled-full') await sealLaterQuietly(engine, record)
  const token = randomText(engine.random, TOKEN_CHARACTERS)
  const entry: TransactItem = {
    Update: {
      TableName: engine.dynamo.tableName,
      Key: recordKey(queue),
      ExpressionAttributeNames: {},
      ...appendUpdate(addition, tailLimits(engine), {
        pass: limit.pass,
        remindAtMs: remindAtMs(engine),
        once: { token, seen: record },
        seen: record,
        // When the caller sends it, the timer may have changed; the sweeper comes and corrects it.
        ...(addition.later && { timerAtMs: { atOnce: noLater(record, addition.later, nowMs) } }),
      }),
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    },
  }
  return { entry, token, seen: record }
}

/** A lock may have expired by now that nobody has ended: claims must not pass by its items. */
const noLater = (
  { checkAtMs = Number.POSITIVE_INFINITY }: QueueRecord,
  { dueMs }: Later,
  nowMs: number,
): number => asPrompt(Math.min(checkAtMs, dueMs, nowMs))

async function withLater(
  engine: Engine,
  { queue, scheduled: { seals } }: QueueRecord,
  addition: Append,
  items: readonly PushItem[],
  pushedAtMs: number,
): Promise<Append> {
  if (!items.some(mayBeLater)) return addition
  const keyHash = randomText(engine.random, 8)
  const seed = { pushedAtMs, tag: '', seals }
  const { later } = await prepareLater(engine, queue, [{ items, keyHash }], seed)
  return later === undefined ? addition : { ...addition, later, timed: true }
}

const tooManyPriorities = (count: number): QueueError =>
  new QueueError(
    'INVALID_PRIORITY',
    `Cannot push to ${count} priorities in one transaction because it takes ${LANES_PER_APPEND}`,
    { field: 'items' },
  )

/**
 * Forgets as many tokens as keep the record from growing; entries handed out lately stay good. An older
 * version let a record keep any number: if there are too many for one update, several forget them.
 */
async function forgetTokens(
  engine: Engine,
  seenFirst: QueueRecord,
): Promise<QueueRecord | undefined> {
  const { queue } = seenFirst
  let record: QueueRecord | undefined = seenFirst
  for (let update = 1; update <= FORGETTING_UPDATES_MAX && record !== undefined; update += 1) {
    const { kept } = record.tokens
    if (kept < TOKENS_KEPT_MAX) return record
    const tokens = Math.min(kept - TOKENS_KEPT_MIN, TOKENS_PER_UPDATE)
    const written = await engine.dynamo.update(recordKey(queue), forgetTokensUpdate(record, tokens))
    // Whether we have forgotten them, or another process, or nobody: go by the record as it is now.
    record =
      written.kind === 'unknown'
        ? await readRecord(engine, queue)
        : seen(engine, queue, written.row)
  }
  // DynamoDB would refuse the entry as soon as the caller sends it.
  if (record !== undefined && record.tokens.kept >= TOKENS_MAX) throw busy(queue)
  return record
}
