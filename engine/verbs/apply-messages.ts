// The inbox's messages of one queue, applied in their order, each once. The record knows the number of the last one
// that it has applied: a push notes its own number in the same write as its items, and a message that is refused notes
// it in the transaction that puts its items into the dead letters. So however often SQS delivers a message, and in
// however many processes at once, only one of these writes passes. None overtakes another: the first that has to wait
// (no room yet, the queue's limit, the store) ends the call, and its caller sends it again with all behind it.

import {
  deadLetterQueueOf,
  isDeadLetterQueue,
  PRIORITIES_PER_PUSH_MAX,
} from '../../shared/bounds.ts'
import { checkQueueId, QueueError } from '../../shared/errors.ts'
import { randomText } from '../../shared/system.ts'
import { shortenedReason } from '../../shared/wire.ts'
import { newItem, type PushItem } from '../core/check-requests.ts'
import type { FencedChange } from '../core/fence.ts'
import { encodeItem, lastingOf } from '../core/item.ts'
import { isScheduledId } from '../core/keys.ts'
import { nearestTo } from '../core/record.ts'
import { appliedAt, isApplied, type Sequence } from '../core/repeated-pushes.ts'
import { attempts } from '../driver/attempts.ts'
import { act, again, answer, asStored, done, look, lost } from '../driver/decision.ts'
import { boundedBy, type Engine } from '../driver/engine.ts'
import { firstConfiguration } from '../driver/queue-settings.ts'
import type { CommittedBeside } from '../driver/records.ts'
import { passedUpdate } from '../requests/blind-updates.ts'
import { makeEmpty } from '../storing/make-lanes.ts'
import { moveLanesBeside } from '../storing/move-across.ts'
import { appendPushes, recordOf } from './push.ts'
import { answerKnown, callsOf, type PushOutcome } from './push-calls.ts'

/** A message that the inbox brought for a queue. */
export type InboxMessage = {
  readonly sequence: Sequence
  readonly items: readonly PushItem[]
  /** If the queue's room or its limit has not let it in by then, it stops waiting. */
  readonly waitsUntilMs: number
} & (
  | { readonly kind: 'push'; readonly idempotencyKey?: string }
  /** It cannot be pushed: these are its dead letters. */
  | { readonly kind: 'refused'; readonly reason: string }
)

export type Applied = {
  /** How many messages, counted from the first, need not come again. */
  readonly settled: number
  /** How many of those it pushed now, how many it had pushed before, and how many it dead-lettered or gave up. */
  readonly pushed: number
  readonly repeated: number
  readonly refused: number
  readonly itemsPushed: number
  /** Those of them that are for later. */
  readonly itemsScheduled: number
  readonly itemsDeadLettered: number
  /** Why the next message, and every one behind it, has to come again. */
  readonly error?: unknown
}

export interface ApplyingVerbs {
  /**
   * Applies the messages of a queue in order, each once, however often SQS delivers them: the record says how
   * many it has applied.
   */
  apply(
    queue: string,
    messages: readonly InboxMessage[],
    request?: {
      readonly deadlineMs?: number
      /** Keeps a message that could not be pushed to a dead-letter queue, which has no dead letters of its own. */
      readonly giveUp?: (message: InboxMessage, reason: string) => Promise<void>
    },
  ): Promise<Applied>
}

type ApplyRequest = NonNullable<Parameters<ApplyingVerbs['apply']>[2]>
type Counts = { -readonly [Name in keyof Omit<Applied, 'error'>]: number }

/** Runs of pushes go in as few appends as possible; between them, messages that cannot be pushed go to the dead letters. */
export async function apply(
  engine: Engine,
  queue: string,
  messages: readonly InboxMessage[],
  { deadlineMs, giveUp }: ApplyRequest = {},
): Promise<Applied> {
  checkQueueId(queue)
  const bounded = deadlineMs === undefined ? engine : boundedBy(engine, deadlineMs)
  const counts: Counts = {
    settled: 0,
    pushed: 0,
    repeated: 0,
    refused: 0,
    itemsPushed: 0,
    itemsScheduled: 0,
    itemsDeadLettered: 0,
  }
  try {
    while (counts.settled < messages.length) {
      await applyRun(bounded, queue, messages.slice(counts.settled), counts, giveUp)
    }
    return counts
  } catch (error) {
    return { ...counts, error }
  }
}

/** Settles at least one message, or throws the reason why the next one has to wait. */
async function applyRun(
  engine: Engine,
  queue: string,
  messages: readonly InboxMessage[],
  counts: Counts,
  giveUp: ApplyRequest['giveUp'],
): Promise<void> {
  const [next] = messages
  if (next !== undefined && !isPush(queue, next)) {
    return bury(engine, queue, next, counts, next.kind === 'refused' ? next.reason : '')
  }
  const end = messages.findIndex((message) => !isPush(queue, message))
  const run = end === -1 ? messages : messages.slice(0, end)
  const outcomes = await appendPushes(engine, queue, run)
  const failedAt = outcomes.findIndex(({ kind }) => kind === 'failed')
  const passed = failedAt === -1 ? outcomes : outcomes.slice(0, failedAt)
  // A push notes its own number. A repetition does not, and if SQS delivered it again a day later, when its
  // key is forgotten, it would count as new.
  if (passed.at(-1)?.kind === 'repeated') {
    await notePassed(engine, queue, run[passed.length - 1] as InboxMessage)
  }
  for (const [index, outcome] of passed.entries()) {
    count(run[index] as InboxMessage, outcome, counts)
  }
  const failed = outcomes[failedAt]
  if (failed?.kind !== 'failed') return
  await refuse(engine, queue, run[failedAt] as InboxMessage, { counts, giveUp, ...failed })
}

/** A dead-letter queue has no dead letters of its own: we push a message that is refused there as it came. */
const isPush = (queue: string, { kind }: InboxMessage): boolean =>
  kind === 'push' || isDeadLetterQueue(queue)

function count({ items }: InboxMessage, outcome: PushOutcome, counts: Counts): void {
  counts.settled += 1
  if (outcome.kind !== 'pushed') {
    counts.repeated += 1
    return
  }
  counts.pushed += 1
  counts.itemsPushed += items.length
  counts.itemsScheduled += outcome.ids.filter(isScheduledId).length
}

/** Handles a message that could not be pushed: either it never can be, or it has to come again. */
async function refuse(
  engine: Engine,
  queue: string,
  message: InboxMessage,
  {
    error,
    counts,
    giveUp,
  }: {
    readonly error: unknown
    readonly counts: Counts
    readonly giveUp: ApplyRequest['giveUp']
  },
): Promise<void> {
  const reason = whyRefused(message, error, engine.clock.nowMs())
  if (reason === undefined) throw error
  if (isAtLimit(error) && (await isDone(engine, queue, message))) {
    await notePassed(engine, queue, message)
    counts.settled += 1
    counts.repeated += 1
    return
  }
  if (!isDeadLetterQueue(queue)) return bury(engine, queue, message, counts, reason)
  if (giveUp === undefined) throw error
  await giveUp(message, reason)
  // This must come last: once the record has passed a message, no run applies it any more.
  await notePassed(engine, queue, message)
  counts.settled += 1
  counts.refused += 1
}

const isAtLimit = (error: unknown): boolean =>
  error instanceof QueueError && error.code === 'RATE_LIMITED'

/**
 * A limit refuses a push before anybody looks whether it is new. So a message that was applied before, or whose key
 * was, would go to the dead letters although its items are in the queue.
 */
async function isDone(engine: Engine, queue: string, message: InboxMessage): Promise<boolean> {
  const calls = callsOf(engine, queue, [message])
  await answerKnown(engine, queue, calls, await engine.records.read(queue))
  return calls.every(({ outcome }) => outcome?.kind === 'applied' || outcome?.kind === 'repeated')
}

/** Errors that make a message wait, because somebody may still make room. */
const waitsFor: ReadonlySet<string> = new Set(['QUEUE_FULL', 'RATE_LIMITED', 'TOO_MANY_PRIORITIES'])

/** Errors that show only when we apply the message: another push had its key, or its times are not valid (any more). */
const isWrong: ReadonlySet<string> = new Set(['IDEMPOTENCY_CONFLICT', 'INVALID_PARAMETER'])

/** Why a message that could not be pushed never will be; `undefined` if it has to come again. */
function whyRefused(
  { waitsUntilMs, items }: InboxMessage,
  error: unknown,
  nowMs: number,
): string | undefined {
  if (!(error instanceof QueueError) || error.outcome === 'unknown') return undefined
  if (waitsFor.has(error.code)) {
    // They would not fit even into an empty queue, so waiting would only hold up the messages behind this one.
    if (!error.retryable) {
      return shortenedReason(`Its ${items.length} items never fit: ${error.message}`)
    }
    return nowMs < waitsUntilMs
      ? undefined
      : shortenedReason(`It waited too long in the inbox: ${error.message}`)
  }
  return isWrong.has(error.code) ? shortenedReason(error.message) : undefined
}

/** The second attempt goes by the current record; the queue may be forgotten just then. */
const NOTES_MAX = 4

async function notePassed(
  engine: Engine,
  queue: string,
  { sequence }: InboxMessage,
): Promise<void> {
  let record = engine.records.recall(queue)
  for (let attempt = 1; attempt <= NOTES_MAX; attempt += 1) {
    // A key outlives its queue, which may be gone by now, or made anew since we remembered it.
    record ??= await recordOf(engine, queue)
    if (isApplied(sequence, record)) return
    const update = passedUpdate(record, sequence, appliedAt(sequence, engine.clock.nowMs()))
    const written = await engine.records.update(queue, update)
    if (written.kind === 'unknown') throw QueueError.unknown(queue, written.cause)
    record = engine.records.seen(queue, written.row)
    if (written.kind === 'done') return
  }
  throw QueueError.busy(queue)
}

async function bury(
  engine: Engine,
  queue: string,
  { sequence, items }: InboxMessage,
  counts: Counts,
  reason: string,
): Promise<void> {
  await buryMessage(engine, queue, sequence, items, reason)
  counts.settled += 1
  counts.refused += 1
  counts.itemsDeadLettered += items.length
}

const ATTEMPTS_MAX = 24

/** Puts the message's items into the dead letters, whatever the queue's room, limit and settings. */
function buryMessage(
  engine: Engine,
  queue: string,
  sequence: Sequence,
  items: readonly PushItem[],
  reason: string,
): Promise<void> {
  const course = { from: 'memory-or-store', attemptsMax: ATTEMPTS_MAX, holdsFrom: 4 } as const
  return attempts<void>(engine, queue, course, ({ record, isCurrent, nowMs }) => {
    if (record === undefined) {
      if (!isCurrent) return look
      return act(async () => makeEmpty(engine, queue, await firstConfiguration(engine, queue)))
    }
    if (isApplied(sequence, record)) return answer(undefined)
    const draft = { ...record, sequence: appliedAt(sequence, nowMs) }
    const change = engine.records.change(record, draft, { nowMs })
    return act(async () => {
      const lanes = deadLanes(engine, items, reason, nowMs)
      const committed = await moveWhereverThereIsALane(engine, change, lanes)
      if (committed.kind === 'committed') return done(undefined)
      if (committed.kind === 'lost') return lost(asStored(committed.current))
      return again(asStored(await engine.records.read(queue)))
    })
  })
}

/** The dead-letter queue may have every lane in use. Then all items go to the lane nearest to their best priority. */
async function moveWhereverThereIsALane(
  engine: Engine,
  change: FencedChange,
  lanes: ReadonlyMap<number, readonly string[]>,
): Promise<CommittedBeside> {
  const dead = deadLetterQueueOf(change.before.queue)
  try {
    return await moveLanesBeside(engine, change, dead, lanes)
  } catch (error) {
    if (!(error instanceof QueueError) || error.code !== 'TOO_MANY_PRIORITIES') throw error
    const inUse = (await engine.records.read(dead))?.lanes
    if (inUse === undefined || inUse.size === 0) throw error
    const nearest = nearestTo(Math.min(...lanes.keys()), inUse.keys())
    return moveLanesBeside(engine, change, dead, new Map([[nearest, [...lanes.values()].flat()]]))
  }
}

/** One lane for each priority, or all in the best one if there are more than a push may name. */
function deadLanes(
  { random }: Engine,
  items: readonly PushItem[],
  reason: string,
  nowMs: number,
): Map<number, string[]> {
  const priorities = new Set(items.map(({ priority = 0 }) => priority))
  const only = priorities.size > PRIORITIES_PER_PUSH_MAX ? Math.min(...priorities) : undefined
  const death = { reason, deadLetteredAtMs: nowMs, priorDeliveries: 0 }
  const lanes = new Map<number, string[]>()
  for (const item of items) {
    const dead = { ...lastingOf(newItem(item, nowMs)), ...death }
    const entry = encodeItem(dead, randomText(random, 4))
    const lane = only ?? item.priority ?? 0
    const entries = lanes.get(lane)
    if (entries === undefined) lanes.set(lane, [entry])
    else entries.push(entry)
  }
  return lanes
}
