// Pushes inside a caller's own transaction: an entry for it, and the loop that sends it. An entry passes once, because
// the record remembers the tokens of entries that passed: sent again after a lost answer, it says whether the first
// copy did. While a first copy may still land there is no second entry, which could push the same items twice. An entry
// that was refused because of the queue (the tail filled up, the lane was dropped, many other entries were used
// meanwhile) did nothing, and another takes its place. All other errors are the caller's own.

import type { Row } from '../../aws/dynamo.ts'
import {
  cancellationReasons,
  failureOf,
  isConflict,
  isPassing,
  type Passing,
  patienceFor,
} from '../../aws/failures.ts'
import { checkQueueId, QueueError } from '../../shared/errors.ts'
import { randomText } from '../../shared/system.ts'
import { type Append, obstacleTo } from '../core/append.ts'
import {
  checkPush,
  checkTimesAhead,
  dueSecondOf,
  mayBeLater,
  type PushItem,
} from '../core/check-requests.ts'
import { recordKey } from '../core/keys.ts'
import type { Later } from '../core/later.ts'
import { TOKENS_KEPT_MAX, TOKENS_KEPT_MIN, TOKENS_MAX } from '../core/limits.ts'
import { asPrompt, type QueueRecord } from '../core/record.ts'
import type { Engine } from '../driver/engine.ts'
import { type LimitedCall, passLimit } from '../driver/queue-settings.ts'
import { appendUpdate } from '../requests/append-update.ts'
import { forgetTokensUpdate, type OnceOnly } from '../requests/blind-updates.ts'
import { sealLaterQuietly } from '../storing/copy-later.ts'
import { checkLanesFit, ensureLane, queueFull } from '../storing/make-lanes.ts'
import { makeRoom } from '../storing/make-room.ts'
import { sealQuietly } from '../storing/seal.ts'
import { prepare, prepareLater } from '../storing/write-entries.ts'
import { recordOf } from './push.ts'

/** An entry of TransactWriteItems in document client form. */
export type TransactItem = {
  readonly Update: {
    readonly TableName: string
    readonly Key: Record<string, unknown>
    readonly UpdateExpression: string
    readonly ConditionExpression: string
    readonly ExpressionAttributeNames: Record<string, string>
    readonly ExpressionAttributeValues: Record<string, unknown>
    readonly ReturnValuesOnConditionCheckFailure: 'ALL_OLD'
  }
}

export interface TransactingVerbs {
  /** An entry for the caller's own TransactWriteItems (document client form): pushes with it, or not at all. */
  pushTransactItem(queue: string, item: PushItem): Promise<TransactItem>
  /**
   * The loop around `pushTransactItem`: pushes the items in a transaction that `send` sends with these
   * entries. It tries again if the queue is in the way, and throws the caller's own errors. It returns what
   * `send` returned, or undefined if the transaction passed and its answer was lost.
   */
  transact<T>(
    queue: string,
    items: readonly PushItem[],
    send: (entries: readonly TransactItem[]) => Promise<T>,
  ): Promise<T | undefined>
}

/**
 * One entry for the caller's own TransactWriteItems, so that an item is pushed exactly when the caller's own row is
 * written. We write a large item's batch beforehand; it stays as a stray if the transaction never comes.
 */
export async function pushTransactItem(
  engine: Engine,
  queue: string,
  item: PushItem,
): Promise<TransactItem> {
  return (await makeEntry(engine, queue, [item], pushLimited())).entry
}

/** How many new entries we make, one after each transaction that failed because of the queue. */
const ENTRIES_MAX = 8

type SendEntries<T> = (entries: readonly TransactItem[]) => Promise<T>

/**
 * Pushes the items in the caller's own transaction, which `send` sends with the entries it is given. Returns undefined
 * if the transaction's answer was lost and the record shows that it passed.
 */
export async function transact<T>(
  engine: Engine,
  queue: string,
  items: readonly PushItem[],
  send: SendEntries<T>,
): Promise<T | undefined> {
  const limit = pushLimited()
  const tries = new Tries(engine)
  for (let entries = 1; entries <= ENTRIES_MAX; entries += 1) {
    if (entries > 1) await engine.records.pause(entries)
    const made = await makeEntry(engine, queue, items, limit)
    const sent = await sendEntry(engine, queue, made, send, tries)
    if (sent.kind === 'passed') return sent.answer
  }
  throw QueueError.busy(queue)
}

type Sent<T> =
  | { readonly kind: 'passed'; readonly answer: T | undefined }
  | { readonly kind: 'in the way' }

/**
 * Sends one entry for as long as that may help. After a lost answer we send it again, because it passes only once:
 * then we know whether the first copy passed. Until then, the only honest answer is "unknown".
 */
async function sendEntry<T>(
  engine: Engine,
  queue: string,
  made: Entry,
  send: SendEntries<T>,
  tries: Tries,
): Promise<Sent<T>> {
  let doubt: { readonly cause: unknown } | undefined
  try {
    for (;;) {
      try {
        return { kind: 'passed', answer: await send([made.entry]) }
      } catch (error) {
        const fate = await fateOf(engine, queue, made, error)
        if (fate === 'carried out') return { kind: 'passed', answer: undefined }
        if (fate === 'not ours') throw error
        if (fate === 'unknown') doubt ??= { cause: error }
        // If a first copy may still land, another entry could push the same items twice.
        if (fate === 'in the way' && doubt === undefined) return { kind: 'in the way' }
        const passing = fate === 'in the way' ? 'unknown' : fate
        if (!(await tries.pause(passing))) throw QueueError.busy(queue)
      }
    }
  } catch (error) {
    throw doubt === undefined ? error : QueueError.unknown(queue, doubt.cause)
  }
}

/** Counts a call's refusals of each kind; it is as patient as with our own requests. */
class Tries {
  readonly #engine: Engine
  readonly #met = new Map<Passing, { times: number; pausesMs: number }>()

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** Waits before the next try; returns false if another try would not help. */
  async pause(failure: Passing): Promise<boolean> {
    const { clock, random } = this.#engine
    const met = this.#met.get(failure) ?? { times: 0, pausesMs: 0 }
    this.#met.set(failure, met)
    met.times += 1
    const { attemptsMax, lastsMs = Number.POSITIVE_INFINITY, pauseMs } = patienceFor(failure, false)
    if (met.times >= attemptsMax || met.pausesMs >= lastsMs) return false
    const ms = pauseMs(met.times, random)
    met.pausesMs += ms
    await clock.sleep(ms)
    return true
  }
}

type Fate =
  | 'carried out'
  /** Refused because of the queue: a new entry may pass. */
  | 'in the way'
  | 'not ours'
  /** The answer was lost, or DynamoDB refused it for now: the same entry may pass in a moment. */
  | Passing

async function fateOf(engine: Engine, queue: string, made: Entry, error: unknown): Promise<Fate> {
  // An error that the caller's own code throws did not come from a DynamoDB client.
  if (!(error instanceof Error) || !('$metadata' in error)) return 'not ours'
  const failure = failureOf(error)
  if (isPassing(failure)) return failure
  if (failure !== 'cancelled') return 'not ours'
  const refused = refusedRows(error)
  if (refused === undefined) return 'not ours'
  if (refused.length === 0) return isConflict(error) ? 'conflict' : 'throttled'
  const { pk, sk } = recordKey(queue)
  const ours = refused.find((row) => row?.pk === pk && row.sk === sk)
  if (ours !== undefined) return hasPassed(ours, made) ? 'carried out' : 'in the way'
  // DynamoDB cannot return a record that does not exist any more.
  const mayBeGone = refused.includes(undefined)
  return mayBeGone && (await engine.records.read(queue)) === undefined ? 'in the way' : 'not ours'
}

/** The rows whose conditions did not hold, as far as the caller asked for them; undefined for any other reason. */
function refusedRows(error: Error): (Row | undefined)[] | undefined {
  try {
    return cancellationReasons(error).flatMap(({ failed, row }) => (failed ? [row] : []))
  } catch {
    return undefined
  }
}

/** By what the record remembers of entries that passed. */
const hasPassed = (row: Row, { token }: Entry): boolean =>
  ((row as { readonly u?: readonly string[] }).u ?? []).includes(token)

type Entry = { readonly entry: TransactItem } & OnceOnly

const pushLimited = (): LimitedCall => ({
  verb: 'push',
  pass: undefined,
  receivedMs: undefined,
})

/** An entry for all the items: a transaction may touch the record only once. `limit`: the call that asks for it. */
async function makeEntry(
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
  // The remembered record may belong to a queue that was forgotten since.
  engine.records.forget(queue)
  for (const priority of priorities) await ensureLane(engine, queue, priority)
  let record = await (now.length > 0 ? engine.records.read(queue) : recordOf(engine, queue))
  if (record !== undefined && now.length > 0) record = await makeRoom(engine, record, now.length)
  if (record !== undefined) record = await forgetTokens(engine, record)
  // The queue was forgotten meanwhile, because it had been empty for long.
  if (record === undefined) throw QueueError.busy(queue)
  checkLanesFit(record, priorities)
  if (now.length > 0 && record.room < now.length) throw queueFull(record, now.length)
  await passLimit(engine, limit, record)
  const { addition: atOnce } = await prepare(engine, queue, now, nowMs)
  const addition = await withLater(engine, record, atOnce, items, nowMs)
  const obstacle = obstacleTo(addition, record, engine.records.tailLimits())
  if (obstacle.kind === 'tail-full') await sealQuietly(engine, record)
  if (obstacle.kind === 'scheduled-full') await sealLaterQuietly(engine, record)
  const token = randomText(engine.random, TOKEN_CHARACTERS)
  const entry: TransactItem = {
    Update: {
      TableName: engine.dynamo.tableName,
      Key: recordKey(queue),
      ExpressionAttributeNames: {},
      ...appendUpdate(addition, engine.records.tailLimits(), {
        pass: limit.pass,
        remindAtMs: engine.records.remindAtMs(),
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

const TOKEN_CHARACTERS = 6
/** Updates that forget tokens: as many races may be lost to others that forget some. */
const FORGETTING_UPDATES_MAX = 24

/** Forgets as many tokens as keep the record from growing; entries handed out lately stay good. */
async function forgetTokens(
  engine: Engine,
  seenFirst: QueueRecord,
): Promise<QueueRecord | undefined> {
  const { queue } = seenFirst
  let record: QueueRecord | undefined = seenFirst
  for (let update = 1; update <= FORGETTING_UPDATES_MAX && record !== undefined; update += 1) {
    const { kept } = record.tokens
    if (kept < TOKENS_KEPT_MAX) return record
    const forgotten = forgetTokensUpdate(record, kept - TOKENS_KEPT_MIN)
    const written = await engine.records.update(queue, forgotten)
    // Whether we have forgotten them, or another process, or nobody: go by the record as it is now.
    record =
      written.kind === 'unknown'
        ? await engine.records.read(queue)
        : engine.records.seen(queue, written.row)
  }
  // DynamoDB would refuse the entry as soon as the caller sends it.
  if (record !== undefined && record.tokens.kept >= TOKENS_MAX) throw QueueError.busy(queue)
  return record
}
