// A claim: one blind write that takes the next items of one lane into a lock, while others may take some as well.
// It writes first and reads then, which is safe because a lock keeps its items from being trimmed; a large claim reads
// first, to take no more than fits an answer. If it loses, it tries again with the record that refused it, and after a
// number of times leaves the pop to the fence. After a lost answer, its lock in the record says that it stands. It
// takes blindly, so where items may expire, a second write removes those that have before it answers.

import { QueueError } from '../../shared/errors.ts'
import { type FoundByPop, hasExpired, passOverLocked, sortAll } from '../core/expiry.ts'
import { ANSWER_BYTES_MAX } from '../core/limits.ts'
import { type Claim, type PopCommand, type PopOutcome, planClaim } from '../core/plan-pop.ts'
import { itemsIn, type QueueRecord, type Stretch } from '../core/record.ts'
import { attempts, leaveDryQuietly, readingCourse } from '../driver/attempts.ts'
import {
  act,
  again,
  answer,
  asStored,
  type Decision,
  done,
  doubt,
  type Outcome,
  refuse,
  type View,
} from '../driver/decision.ts'
import { type Engine, foldAfter } from '../driver/engine.ts'
import { claimUpdate } from '../requests/blind-updates.ts'
import { isMoreThere } from '../storing/join-first.ts'
import { acknowledged, itemsOf, lockOf, type Passing, STARVING_FROM } from './pop-take.ts'

/** After this many lost claims the pop goes under the fence, where one writer always wins. */
const CLAIMS_MAX = 12

type Call = { readonly passing: Passing; readonly underFence: () => Decision<PopOutcome> }

/** A claim, if one will do; otherwise the pop goes under the fence. */
export function decideClaim(
  engine: Engine,
  record: QueueRecord,
  command: PopCommand,
  view: View,
  { passing, underFence }: Call,
): Decision<PopOutcome> | undefined {
  if (view.attempt > CLAIMS_MAX || passing.metInClaim) return undefined
  const claim = planClaim(record, command, view.nowMs)
  // A remembered record must not lead to fewer items than the caller asked for.
  if (claim === undefined || (!view.isCurrent && claim.count < command.count)) return undefined
  const take = (count: number): Decision<PopOutcome> =>
    act(() => takeClaim(engine, { ...claim, count }, view, passing))
  if (!claim.exact) return take(claim.count)
  // A large claim reads first, to take no more than fits an answer.
  const from = record.lanes.get(claim.priority)?.frontier ?? 0
  const stretch = { priority: claim.priority, from, to: from + claim.count }
  return {
    kind: 'read',
    stretches: [stretch],
    bytesMax: ANSWER_BYTES_MAX,
    next: (entries) =>
      record.timed && entries.some((entry) => hasExpired(entry, record, view.nowMs))
        ? underFence()
        : take(entries.length),
  }
}

async function takeClaim(
  engine: Engine,
  claim: Claim,
  { pass, attempt, nowMs }: View,
  passing: Passing,
): Promise<Outcome<PopOutcome>> {
  const { queue } = claim.seen
  const written = await engine.records.update(queue, claimUpdate(claim, pass))
  if (written.kind === 'unknown') {
    return doubt(written.cause, async () => {
      const record = await engine.records.read(queue)
      if (!record?.locks.has(claim.lockId)) throw QueueError.unknown(queue, written.cause)
      return claimed(engine, record, claim, passing)
    })
  }
  const record = engine.records.seen(queue, written.row)
  if (written.kind === 'done') return claimed(engine, record as QueueRecord, claim, passing)
  const isHeld = (record?.holdUntilMs ?? 0) >= nowMs
  if (isHeld || attempt >= STARVING_FROM) await engine.records.pause(attempt * 4)
  return again(asStored(record))
}

/** The claim stands. If this fails, nobody learns the lock's id, and the items come back when the lock expires. */
async function claimed(
  engine: Engine,
  record: QueueRecord,
  claim: Claim,
  passing: Passing,
): Promise<Outcome<PopOutcome>> {
  const { outcome, left } = await claimedItems(engine, record, claim).catch((error: unknown) => {
    throw QueueError.partly(error)
  })
  if (outcome === undefined) {
    passing.metInClaim = true
    passing.itemsAcknowledged = acknowledgedBy(claim)
    return again(asStored(left))
  }
  await foldAfter(engine, left)
  const known = await leaveDryQuietly(engine, left)
  return done(known ? outcome : { ...outcome, more: true })
}

type Items = Extract<PopOutcome, { kind: 'items' }>
/** `outcome` is undefined if all items that it took had expired. */
type Claimed = { readonly outcome: Items | undefined; readonly left: QueueRecord }

function claimedItems(engine: Engine, record: QueueRecord, claim: Claim): Promise<Claimed> {
  const { queue } = record
  const { lockId } = claim
  // Only a queue whose items may expire needs this write, and it can lose a race.
  const racing = record.timed && { pausesFrom: 2, holdsFrom: STARVING_FROM }
  const course = { ...readingCourse(queue), ...racing, from: asStored(record) }
  return attempts<Claimed>(engine, queue, course, ({ record: now, nowMs }) => {
    const lock = now?.locks.get(lockId)
    if (now === undefined || lock === undefined) return refuse(QueueError.unreadable(queue))
    // A purge by ids may have taken some of its items.
    const { stretches } = lock
    return {
      kind: 'read',
      stretches,
      next(entries) {
        const found = now.timed ? sortAll(now, stretches, entries, nowMs) : undefined
        return found === undefined || found.over.length === 0
          ? answer({ outcome: outcomeOf(engine, now, claim, { stretches, entries }), left: now })
          : withoutExpired(engine, now, claim, found, nowMs)
      },
    }
  })
}

function withoutExpired(
  engine: Engine,
  now: QueueRecord,
  claim: Claim,
  found: FoundByPop,
  nowMs: number,
): Decision<Claimed> {
  const { over, kept, entries } = found
  const draft = passOverLocked(now, claim.lockId, found, nowMs)
  return {
    kind: 'write',
    // If the process dies after it has left the queue empty, no lock is left whose end would set the flag.
    change: engine.records.change(now, draft, {
      nowMs,
      setsDry: engine.events && kept.length === 0,
    }),
    landed(left) {
      engine.onItemsExpired(itemsIn(over))
      // Go by the record before the write: after a lost answer, the lock may have ended in the one that we read since.
      const outcome =
        kept.length > 0 ? outcomeOf(engine, now, claim, { stretches: kept, entries }) : undefined
      return done({ outcome, left })
    },
  }
}

function outcomeOf(
  engine: Engine,
  record: QueueRecord,
  claim: Claim,
  {
    stretches,
    entries,
  }: { readonly stretches: readonly Stretch[]; readonly entries: readonly string[] },
): Items {
  const { lockId, expiresAtMs, nowMs, wanted } = claim
  return {
    kind: 'items',
    items: itemsOf(record, stretches, entries),
    lock: lockOf({ id: lockId, ttlMs: expiresAtMs - nowMs }, expiresAtMs),
    more: itemsIn(stretches) < wanted && isMoreThere(engine, record),
    ...acknowledged(acknowledgedBy(claim)),
  }
}

function acknowledgedBy({ seen: before, acknowledge = '' }: Claim): number | undefined {
  const ended = before.locks.get(acknowledge)
  return ended && itemsIn(ended.stretches)
}
