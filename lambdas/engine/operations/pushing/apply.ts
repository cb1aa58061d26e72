import { QueueError } from '../../../foundation/errors.ts'
import { checkQueueId, isDeadLetterQueue } from '../../../foundation/queue-id.ts'
import { shortenedReason } from '../../../foundation/shared/reason.ts'
import { recordKey } from '../../core/keys.ts'
import { isScheduledId } from '../../core/scheduled.ts'
import { appliedAt, isApplied } from '../../core/sequence.ts'
import { passedUpdate } from '../../store/sequence-update.ts'
import type { Applied, ApplyingVerbs, InboxMessage } from '../../verbs.ts'
import { type Engine, outcomeUnknown, readRecord } from '../attempts/engine.ts'
import { buryMessage } from '../moving/bury-message.ts'
import { appendPushes, type PushOutcome } from './append-pushes.ts'

type ApplyRequest = NonNullable<Parameters<ApplyingVerbs['apply']>[2]>
type Counts = { -readonly [Name in keyof Omit<Applied, 'error'>]: number }

/**
 * Applies messages in their order: runs of pushes in as few appends as they fit into, and between them those
 * that cannot be pushed, to the dead letters. It ends at the first that has to wait: none behind it may
 * overtake it. The caller sends that one again with all behind it; what of them was applied meanwhile, by
 * whomever, the record tells.
 */
export async function apply(
  engine: Engine,
  queue: string,
  messages: readonly InboxMessage[],
  { deadlineMs, giveUp }: ApplyRequest = {},
): Promise<Applied> {
  checkQueueId(queue)
  const bounded =
    deadlineMs === undefined ? engine : { ...engine, dynamo: engine.dynamo.until(deadlineMs) }
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

/** Settles at least one message, or throws why the next one has to wait. */
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
  let passed: InboxMessage | undefined
  for (const [index, outcome] of outcomes.entries()) {
    const message = run[index] as InboxMessage
    if (outcome.kind === 'failed') {
      const reason = whyRefused(message, outcome.error, engine.clock.nowMs())
      if (reason === undefined) throw outcome.error
      if (!isDeadLetterQueue(queue)) return bury(engine, queue, message, counts, reason)
      if (giveUp === undefined) throw outcome.error
      await giveUp(message, reason)
      // Only then: once the record has passed a message, no run applies it any more.
      await notePassed(engine, queue, message)
      counts.settled += 1
      counts.refused += 1
      return
    }
    count(message, outcome, counts)
    passed = outcome.kind === 'repeated' ? message : undefined
  }
  // What was pushed says so by itself. After a repetition nothing does, and one that came again a day
  // later, when its key is forgotten, would be new.
  if (passed !== undefined) await notePassed(engine, queue, passed)
}

/** A dead-letter queue has none of its own: what is refused there is pushed as it came. */
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

/** What a message may wait for, as long as somebody may still make room. */
const waitsFor: ReadonlySet<string> = new Set(['QUEUE_FULL', 'RATE_LIMITED', 'TOO_MANY_PRIORITIES'])

/** What shows only when the message is applied: another push had its key, or a time of its items is too far away. */
const isWrong: ReadonlySet<string> = new Set(['IDEMPOTENCY_CONFLICT', 'INVALID_PARAMETER'])

/** Why a message that could not be pushed never will be; `undefined` if it has to come again. */
function whyRefused(
  { waitsUntilMs, items }: InboxMessage,
  error: unknown,
  nowMs: number,
): string | undefined {
  if (!(error instanceof QueueError) || error.outcome === 'unknown') return undefined
  if (waitsFor.has(error.code)) {
    // However empty the queue is: waiting would only hold up the messages behind it.
    if (!error.retryable) {
      return shortenedReason(`Its ${items.length} items never fit: ${error.message}`)
    }
    return nowMs < waitsUntilMs
      ? undefined
      : shortenedReason(`It waited too long in the inbox: ${error.message}`)
  }
  return isWrong.has(error.code) ? shortenedReason(error.message) : undefined
}

async function notePassed(
  engine: Engine,
  queue: string,
  { sequence }: InboxMessage,
): Promise<void> {
  const record = engine.memory.get(queue) ?? (await readRecord(engine, queue))
  if (record === undefined || isApplied(sequence, record)) return
  const update = passedUpdate(record, sequence, appliedAt(sequence, engine.clock.nowMs()))
  const written = await engine.dynamo.update(recordKey(queue), update)
  if (written.kind === 'unknown') throw outcomeUnknown(queue, written.cause)
}
