import type { Claim } from '../core/claim.ts'
import { recordKey } from '../core/keys.ts'
import { ANSWER_BYTES_MAX } from '../core/limits.ts'
import { itemsIn, type Lock, type QueueRecord } from '../core/record.ts'
import { claimUpdate } from '../store/lock-updates.ts'
import type { PopOutcome } from '../verbs.ts'
import { changedAllTheSame, type Engine, outcomeUnknown, readRecord, seen } from './engine.ts'
import { foldAfter } from './fold.ts'
import { leaveDryQuietly } from './leave-dry.ts'
import {
  acknowledged,
  isMoreWaiting,
  itemsOf,
  MissingItems,
  READS_MAX,
  type Try,
  unreadable,
} from './popped.ts'

/** Writes, then reads: safe, because a lock keeps its items from being trimmed. */
export async function takeClaim(
  engine: Engine,
  queue: string,
  planned: Claim,
  admitted: boolean,
): Promise<Try> {
  const claim = planned.exact ? await fitted(engine, planned) : planned
  if (claim === undefined) return { kind: 'missing', record: planned.seen }
  const written = await engine.dynamo.update(recordKey(queue), claimUpdate(claim, admitted))
  let record: QueueRecord | undefined
  if (written.kind === 'unknown') {
    record = await readRecord(engine, queue).catch((error: unknown) => {
      throw outcomeUnknown(queue, error)
    })
    if (!record?.locks.has(claim.lockId)) throw outcomeUnknown(queue, written.cause)
  } else {
    record = seen(engine, queue, written.item)
    if (written.kind === 'failed') return { kind: 'lost', record }
  }
  const outcome = await claimedItems(engine, record as QueueRecord, claim).catch(
    (error: unknown) => {
      // The claim stands. Its lock's id was told to nobody, so the items come back in its time.
      throw changedAllTheSame(error)
    },
  )
  await foldAfter(engine, record as QueueRecord)
  const known = await leaveDryQuietly(engine, record)
  return { kind: 'popped', outcome: known ? outcome : askAgain(outcome) }
}

/** A large claim reads first, to take no more than fits an answer. */
async function fitted(engine: Engine, claim: Claim): Promise<Claim | undefined> {
  const from = claim.seen.lanes.get(claim.priority)?.frontier ?? 0
  const stretch = { priority: claim.priority, from, to: from + claim.count }
  const read = await engine.items.read(claim.seen, [stretch], ANSWER_BYTES_MAX)
  return read.kind === 'read' ? { ...claim, count: read.entries.length } : undefined
}

async function claimedItems(
  engine: Engine,
  claimed: QueueRecord,
  claim: Claim,
): Promise<PopOutcome> {
  let record: QueueRecord | undefined = claimed
  const lock = claimed.locks.get(claim.lockId) as Lock
  const missing = new MissingItems()
  for (let attempt = 1; record !== undefined && attempt <= READS_MAX; attempt += 1) {
    const read = await engine.items.read(record, lock.stretches)
    if (read.kind === 'read') {
      const { acknowledge = '' } = claim
      const ended = claim.seen.locks.get(acknowledge)
      return {
        kind: 'items',
        items: itemsOf(record, lock.stretches, read.entries),
        lock: { id: claim.lockId, expiresAtMs: claim.expiresAtMs, ttlSeconds: 0 },
        more: itemsIn(lock.stretches) < claim.wanted && isMoreWaiting(claimed, false),
        ...acknowledged(ended ? itemsIn(ended.stretches) : undefined),
      }
    }
    record = await missing.lookAgain(engine, claimed.queue, record)
    if (record !== undefined && !record.locks.has(claim.lockId)) break
  }
  throw unreadable(claimed.queue)
}

const askAgain = (outcome: PopOutcome): PopOutcome =>
  outcome.kind === 'items' ? { ...outcome, more: true } : outcome
