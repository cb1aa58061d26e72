import { type Claim, planClaim } from '../../core/claim.ts'
import { hasFree } from '../../core/flags.ts'
import { recordKey } from '../../core/keys.ts'
import { ANSWER_BYTES_MAX } from '../../core/limits.ts'
import type { PopCommand } from '../../core/pop.ts'
import { itemsIn, type Lock, type QueueRecord } from '../../core/record.ts'
import { claimUpdate } from '../../store/lock-updates.ts'
import type { PopOutcome } from '../../verbs.ts'
import { attempts } from '../attempts/attempts.ts'
import {
  act,
  again,
  answer,
  type Decision,
  done,
  doubt,
  type Outcome,
  refuse,
  type View,
} from '../attempts/decision.ts'
import {
  changedAllTheSame,
  type Engine,
  outcomeUnknown,
  pause,
  readRecord,
  seen,
} from '../attempts/engine.ts'
import { foldAfter } from '../attempts/fold.ts'
import { leaveDryQuietly } from '../attempts/leave-dry.ts'
import { readingCourse, unreadable } from '../attempts/missing-items.ts'
import { acknowledged, itemsOf, lockOf } from './popped.ts'

/** After this many lost claims the pop goes under the fence, where someone always wins. */
const CLAIMS_MAX = 12

/** A claim, where one will do; the pop goes under the fence otherwise. */
export function decideClaim(
  engine: Engine,
  record: QueueRecord,
  command: PopCommand,
  view: View,
  starvingFrom: number,
): Decision<PopOutcome> | undefined {
  if (view.attempt > CLAIMS_MAX) return undefined
  const claim = planClaim(record, command, view.nowMs)
  // A remembered record must not lead to fewer items than the caller asked for.
  if (claim === undefined || (!view.isCurrent && claim.count < command.count)) return undefined
  const isStarving = view.attempt >= starvingFrom
  const take = (count: number): Decision<PopOutcome> =>
    act(() => takeClaim(engine, { ...claim, count }, view, isStarving))
  if (!claim.exact) return take(claim.count)
  // A large claim reads first, to take no more than fits an answer.
  const from = record.lanes.get(claim.priority)?.frontier ?? 0
  const stretch = { priority: claim.priority, from, to: from + claim.count }
  return {
    kind: 'read',
    stretches: [stretch],
    bytesMax: ANSWER_BYTES_MAX,
    next: (entries) => take(entries.length),
  }
}

/** Writes, then reads: safe, because a lock keeps its items from being trimmed. */
async function takeClaim(
  engine: Engine,
  claim: Claim,
  { admitted, attempt, nowMs }: View,
  isStarving: boolean,
): Promise<Outcome<PopOutcome>> {
  const { queue } = claim.seen
  const written = await engine.dynamo.update(recordKey(queue), claimUpdate(claim, admitted))
  if (written.kind === 'unknown') {
    return doubt(written.cause, async () => {
      const record = await readRecord(engine, queue)
      if (!record?.locks.has(claim.lockId)) throw outcomeUnknown(queue, written.cause)
      return done(await claimed(engine, record, claim))
    })
  }
  const record = seen(engine, queue, written.row)
  if (written.kind === 'done') return done(await claimed(engine, record as QueueRecord, claim))
  const isHeld = (record?.holdUntilMs ?? 0) >= nowMs
  if (isHeld || isStarving) await pause(engine, attempt * 4)
  return again(record)
}

/** The claim stands. If this fails, nobody learns its lock's id, and its items come back when it expires. */
async function claimed(engine: Engine, record: QueueRecord, claim: Claim): Promise<PopOutcome> {
  const outcome = await claimedItems(engine, record, claim).catch((error: unknown) => {
    throw changedAllTheSame(error)
  })
  await foldAfter(engine, record)
  const known = await leaveDryQuietly(engine, record)
  return known ? outcome : { ...outcome, more: true }
}

function claimedItems(engine: Engine, record: QueueRecord, claim: Claim) {
  const { queue } = record
  const { acknowledge = '', expiresAtMs, lockId, nowMs } = claim
  const { stretches } = record.locks.get(lockId) as Lock
  const ended = claim.seen.locks.get(acknowledge)
  const course = { ...readingCourse(queue), from: { record } }
  return attempts<Extract<PopOutcome, { kind: 'items' }>>(engine, queue, course, (view) => {
    const now = view.record
    if (!now?.locks.has(lockId)) return refuse(unreadable(queue))
    return {
      kind: 'read',
      stretches,
      next: (entries) =>
        answer({
          kind: 'items',
          items: itemsOf(now, stretches, entries),
          lock: lockOf({ id: lockId, ttlMs: expiresAtMs - nowMs }, expiresAtMs),
          more: itemsIn(stretches) < claim.wanted && hasFree(record),
          ...acknowledged(ended ? itemsIn(ended.stretches) : undefined),
        }),
    }
  })
}
