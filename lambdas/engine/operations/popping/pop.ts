import { QueueError } from '../../../foundation/errors.ts'
import { checkQueueId } from '../../../foundation/queue-id.ts'
import { randomLockId } from '../../../foundation/random-text.ts'
import { hasFree } from '../../core/flags.ts'
import { hashOf } from '../../core/hash.ts'
import { ANSWER_BYTES_MAX, LANES_AHEAD_NAMED } from '../../core/limits.ts'
import { type PopCommand, type PopPlan, type PopTake, planPop, takeItems } from '../../core/pop.ts'
import { checkPop } from '../../core/pop-request.ts'
import { itemsIn, type QueueRecord } from '../../core/record.ts'
import type { PopOutcome, PopRequest } from '../../verbs.ts'
import { attempts } from '../attempts/attempts.ts'
import {
  act,
  again,
  answer,
  type Decision,
  done,
  look,
  lost,
  refuse,
  type View,
} from '../attempts/decision.ts'
import { changeOf, type Engine } from '../attempts/engine.ts'
import { leaveDry, leaveDryQuietly } from '../attempts/leave-dry.ts'
import type { LimitedCall } from '../attempts/pass-limit.ts'
import { decideClaim } from './claim.ts'
import { joiningBefore } from './join-first.ts'
import { acknowledged, itemsOf, lockOf } from './popped.ts'

/** Lost races, each a round trip and a pause; far more than 64 contenders cost with the hold. */
const ATTEMPTS_MAX = 24
/** From here on claims are asked to stand back, and a pop keeps to one lane. */
const STARVING_FROM = 4
/** Writes that end expired locks before there is room for the pop: each ends 40, or a large one. */
const ENDINGS_MAX = 100
export const popLimited = ({ receivedMs }: PopRequest): LimitedCall => ({
  verb: 'pop',
  hasSlot: false,
  receivedMs,
})

/** `limit`: the call that this pop is for, where it is not the first. */
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
  const joining = joiningBefore(engine)
  return attempts<PopOutcome>(engine, queue, course, (view) => {
    const { record } = view
    const command = commandFor(engine, queue, request, checked, view.losses)
    if (record === undefined) return decideNoQueue(command)
    return (
      joining(record, view.nowMs) ??
      decideClaim(engine, record, command, view, STARVING_FROM) ??
      decideFenced(engine, record, command, view)
    )
  })
}

/** No record: nothing to pop, and no lock to acknowledge. */
const decideNoQueue = ({ acknowledge }: PopCommand): Decision<PopOutcome> =>
  acknowledge === undefined ? answer({ kind: 'empty' }) : refuse(notFound(acknowledge))

function decideFenced(
  engine: Engine,
  record: QueueRecord,
  command: PopCommand,
  view: View,
): Decision<PopOutcome> {
  const { nowMs } = view
  const plan = planPop(record, command, nowMs)
  // Appends do not move the version: a remembered record would miss what was pushed since.
  if (!view.isCurrent && takesLess(plan, command)) return look
  switch (plan.kind) {
    case 'locked':
      return answer({ kind: 'locked', expiresAtMs: plan.untilMs })
    case 'refused':
      return refuse(plan.error)
    case 'end-expired': {
      // 2,000 items in flight take fewer rounds than the bound.
      const change = changeOf(engine, record, plan.draft, { nowMs })
      return { kind: 'write', change, landed: again, isExtra: true }
    }
    case 'repeat':
      return decideRepeat(engine, record, plan, command, nowMs)
    case 'empty':
      return decideEmpty(engine, record, plan, command, nowMs)
    case 'take':
      return {
        kind: 'read',
        stretches: plan.picks,
        bytesMax: ANSWER_BYTES_MAX,
        next: (entries) => decideTake(engine, record, plan, entries, command, view),
      }
    default:
      throw plan satisfies never
  }
}

const takesLess = (plan: PopPlan, { count }: PopCommand): boolean =>
  plan.kind === 'repeat' ||
  plan.kind === 'empty' ||
  (plan.kind === 'take' && itemsIn(plan.picks) < count)

/** What was read is taken: reads come first, so what cannot be read stays (rule 4). */
function decideTake(
  engine: Engine,
  record: QueueRecord,
  plan: PopTake,
  entries: readonly string[],
  command: PopCommand,
  { nowMs, losses }: View,
): Decision<PopOutcome> {
  const taken = takeItems(plan, entries.length, command, nowMs)
  const lapsed = record.checkAtMs !== undefined && record.checkAtMs <= nowMs
  const change = changeOf(engine, record, taken.draft, {
    nowMs,
    guards: taken.guards,
    // Claims need a `checkAt` that is ahead of them; someone has to move it on.
    refreshCheckAt: command.competing && command.lock !== undefined && lapsed,
    // If a pop without a lock dies before it has set the flag, nobody else sets it.
    setsDry: engine.events && losses < (command.lock === undefined ? STARVING_FROM : 1),
  })
  return {
    kind: 'write',
    change,
    async landed(after) {
      const known = await leaveDryQuietly(engine, after)
      return done({
        kind: 'items',
        items: itemsOf(plan.draft, taken.stretches, entries),
        // By the record as the pop left it: what was appended meanwhile is waiting as well.
        more: !known || (entries.length < command.count && hasFree(after)),
        ...(command.lock !== undefined && { lock: lockOf(command.lock, taken.expiresAtMs) }),
        ...acknowledged(plan.itemsAcknowledged),
      })
    },
  }
}

/** A pop with this key has its lock still: the same items again. */
function decideRepeat(
  engine: Engine,
  record: QueueRecord,
  { draft, lockId, lock, itemsAcknowledged }: Extract<PopPlan, { kind: 'repeat' }>,
  command: PopCommand,
  nowMs: number,
): Decision<PopOutcome> {
  if (draft !== undefined) {
    return { kind: 'write', change: changeOf(engine, record, draft, { nowMs }), landed: again }
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

function decideEmpty(
  engine: Engine,
  record: QueueRecord,
  { draft, itemsAcknowledged }: Extract<PopPlan, { kind: 'empty' }>,
  command: PopCommand,
  nowMs: number,
): Decision<PopOutcome> {
  if (draft === undefined) {
    return act(async () => {
      const left = await leaveDry(engine, record)
      return left === undefined || !hasFree(left) ? done({ kind: 'empty' }) : lost(left)
    })
  }
  const guards = nothingVisible(record, command)
  const change = changeOf(engine, record, draft, { nowMs, guards, setsDry: engine.events })
  const answer: PopOutcome = { kind: 'empty', ...acknowledged(itemsAcknowledged) }
  return { kind: 'write', change, landed: () => done(answer) }
}

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
          id: randomLockId(engine.random, request.forConsumer),
          ttlMs,
          keyHash: idempotencyKey && hashOf(queue, idempotencyKey).slice(0, 12),
        }
      : undefined,
    acknowledge: request.acknowledge,
    oneLane: losses > STARVING_FROM,
  }
}

/** An "empty" that acknowledges is one write: nothing may have become visible meanwhile. */
function nothingVisible(record: QueueRecord, command: PopCommand) {
  const lanes = [...record.lanes.keys()]
  return {
    claims: !command.competing,
    lanesMade: true,
    ...(lanes.length <= LANES_AHEAD_NAMED ? { lanesAhead: lanes } : { appends: true }),
  }
}

const notFound = (lockId: string): QueueError =>
  new QueueError(
    'LOCK_NOT_FOUND',
    `Cannot settle lock "${lockId}" because no lock is live on this queue`,
    { field: 'acknowledge' },
  )
