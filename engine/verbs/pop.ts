// A pop, from its request to its answer: what is due joins first, then a claim if one will do, and otherwise a write
// under the fence, which takes, repeats, ends what has expired, or finds nothing. A claim names no version, so many
// consumers take at once; under the fence, one writer always wins. What a remembered record says is enough to take
// items, and never enough to say that there are fewer: pushes do not move the version, so we look first. A call that
// has acknowledged a lock and fails afterwards says that something has changed.

import { checkQueueId, QueueError } from '../../shared/errors.ts'
import { checkPop, type PopRequest } from '../core/check-requests.ts'
import { hashOf } from '../core/keys.ts'
import { ANSWER_BYTES_MAX } from '../core/limits.ts'
import { mayJoin } from '../core/plan-join.ts'
import { type PopCommand, type PopOutcome, type PopPlan, planPop } from '../core/plan-pop.ts'
import { itemsIn, type QueueRecord } from '../core/record.ts'
import { CONSUMERS, randomLockId } from '../core/settling.ts'
import { attempts, leaveDryQuietly } from '../driver/attempts.ts'
import {
  act,
  again,
  answer,
  asStored,
  type Decision,
  done,
  look,
  refuse,
  type View,
  writeFirst,
} from '../driver/decision.ts'
import type { Engine } from '../driver/engine.ts'
import type { LimitedCall } from '../driver/queue-settings.ts'
import { type Joining, startJoining } from '../storing/join-first.ts'
import { decideClaim } from './pop-claim.ts'
import {
  acknowledged,
  afterAcknowledging,
  decideEmpty,
  decideTake,
  itemsOf,
  leaveTheRest,
  lockOf,
  type Passing,
  passRetries,
  STARVING_FROM,
  startPassing,
} from './pop-take.ts'

/** Lost races, each a round trip and a pause; with the hold, 64 contenders lose far fewer. */
const ATTEMPTS_MAX = 24
/**
 * Writes that end expired locks before there is room for the pop, 40 each or a large one; those that pass over
 * expired items have their own bound, which is lower.
 */
const ENDINGS_MAX = 100

/** `limit`: the call that this pop belongs to, if it is not the call's first pop. */
export async function pop(
  engine: Engine,
  queue: string,
  request: PopRequest = {},
  limit: LimitedCall = popLimited(request),
): Promise<PopOutcome> {
  checkQueueId(queue)
  const checked = checkPop(request)
  const course = {
    from: 'memory-or-store',
    attemptsMax: ATTEMPTS_MAX,
    extrasMax: ENDINGS_MAX,
    pausesFrom: 2,
    holdsFrom: STARVING_FROM,
    limit,
  } as const
  const passing = startPassing()
  const joining = startJoining(engine)
  const outcome = await attempts<PopOutcome>(engine, queue, course, (view) => {
    const { record } = view
    const { itemsAcknowledged } = passing
    const asked = itemsAcknowledged === undefined ? request : { ...request, acknowledge: undefined }
    const command = commandFor(engine, queue, asked, checked, view.losses)
    // No record: nothing to pop, and no lock to acknowledge.
    if (record === undefined) {
      const { acknowledge } = command
      return acknowledge === undefined ? answer({ kind: 'empty' }) : refuse(notFound(acknowledge))
    }
    const underFence = () => decideFenced(engine, record, command, view, { passing, joining })
    return (
      joining.before(view) ??
      decideClaim(engine, record, command, view, { passing, underFence }) ??
      underFence()
    )
  }).catch((error: unknown) => {
    throw passing.itemsAcknowledged === undefined ? error : QueueError.partly(error)
  })
  const { itemsAcknowledged } = passing
  return itemsAcknowledged === undefined ? outcome : afterAcknowledging(outcome, itemsAcknowledged)
}

export const popLimited = ({ receivedMs }: PopRequest): LimitedCall => ({
  verb: 'pop',
  pass: undefined,
  receivedMs,
})

export function commandFor(
  engine: Engine,
  queue: string,
  request: PopRequest,
  { count, ttlMs }: { readonly count: number; readonly ttlMs: number },
  losses = 0,
): PopCommand {
  const { idempotencyKey } = request
  return {
    count,
    competing: request.competing ?? false,
    // A fresh id each time: a claim that lands late must not pass for this one.
    lock: request.requireAck
      ? {
          id: randomLockId(engine.random),
          signs: request.forConsumer ? CONSUMERS : undefined,
          ttlMs,
          keyHash: idempotencyKey && hashOf(queue, idempotencyKey).slice(0, 12),
        }
      : undefined,
    acknowledge: request.acknowledge,
    oneLane: losses > STARVING_FROM,
  }
}

const notFound = (lockId: string): QueueError =>
  new QueueError(
    'LOCK_NOT_FOUND',
    `Cannot settle lock "${lockId}" because no lock is live on this queue`,
    { field: 'acknowledge' },
  )

function decideFenced(
  engine: Engine,
  record: QueueRecord,
  command: PopCommand,
  view: View,
  { passing, joining }: { readonly passing: Passing; readonly joining: Joining },
): Decision<PopOutcome> {
  const { nowMs } = view
  const plan = planPop(record, command, nowMs)
  // Appends do not move the version: a remembered record would lack items pushed since.
  if (!view.isCurrent && takesLess(plan, command)) return look
  switch (plan.kind) {
    case 'locked': {
      const held = { kind: 'locked', expiresAtMs: plan.untilMs } as const
      if (!plan.forRetry) return answer(held)
      const waiting = { ...held, forRetry: true } as const
      return record.timed
        ? passRetries({ engine, record, view, passing }, waiting)
        : answer(waiting)
    }
    case 'refused':
      return refuse(plan.error)
    case 'end-expired': {
      // 2,000 items in flight take fewer rounds than the bound.
      const change = engine.records.change(record, plan.draft, { nowMs })
      return writeFirst(change)
    }
    case 'repeat':
      return decideRepeat(engine, record, plan, command, { nowMs, passing })
    case 'empty':
      // All that joined had expired, or went to others. The next pop goes on from here.
      if (view.isCurrent && joining.leavesMore(record, nowMs))
        return leaveTheRest(engine, record, plan, nowMs)
      return (
        joining.beforeEmpty(record, nowMs) ??
        acknowledgeForRoom(engine, record, plan, view, passing) ??
        decideEmpty(engine, record, plan, command, view)
      )
    case 'take':
      return {
        kind: 'read',
        stretches: plan.picks,
        bytesMax: ANSWER_BYTES_MAX,
        next: (entries) => decideTake({ engine, record, plan, command, view, passing }, entries),
      }
    default:
      throw plan satisfies never
  }
}

const takesLess = (plan: PopPlan, { count }: PopCommand): boolean =>
  plan.kind === 'repeat' ||
  plan.kind === 'empty' ||
  (plan.kind === 'take' && itemsIn(plan.picks) < count)

/**
 * Nothing is left to take, but what the call acknowledges makes room, or a lane, for items that are due. So it first
 * writes the acknowledgement, and then they join.
 */
function acknowledgeForRoom(
  engine: Engine,
  record: QueueRecord,
  { draft, itemsAcknowledged }: Extract<PopPlan, { kind: 'empty' }>,
  { nowMs }: View,
  passing: Passing,
): Decision<PopOutcome> | undefined {
  if (draft === undefined || !mayJoin(draft, nowMs)) return undefined
  return writeFirst(engine.records.change(record, draft, { nowMs, setsDry: engine.events }), () => {
    passing.itemsAcknowledged = itemsAcknowledged
  })
}

/** An earlier pop with this key still has its lock: return the same items. */
function decideRepeat(
  engine: Engine,
  record: QueueRecord,
  { draft, lockId, lock, itemsAcknowledged }: Extract<PopPlan, { kind: 'repeat' }>,
  command: PopCommand,
  { nowMs, passing }: { readonly nowMs: number; readonly passing: Passing },
): Decision<PopOutcome> {
  if (draft !== undefined) {
    const change = engine.records.change(record, draft, { nowMs })
    return {
      kind: 'write',
      change,
      landed(after) {
        passing.itemsAcknowledged = itemsAcknowledged
        return again(asStored(after))
      },
    }
  }
  const ttlMs = command.lock?.ttlMs ?? 0
  return {
    kind: 'read',
    stretches: lock.stretches,
    next: (entries) =>
      act(async () => {
        await leaveDryQuietly(engine, record)
        return done({
          kind: 'items',
          items: itemsOf(record, lock.stretches, entries),
          lock: lockOf({ id: lockId, ttlMs }, lock.expiresAtMs),
          more: false,
          ...acknowledged(itemsAcknowledged),
        })
      }),
  }
}
