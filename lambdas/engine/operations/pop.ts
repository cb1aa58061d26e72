import { QueueError } from '../../foundation/errors.ts'
import { checkQueueId } from '../../foundation/queue-id.ts'
import { randomLockId } from '../../foundation/random-text.ts'
import { planClaim } from '../core/claim.ts'
import { ANSWER_BYTES_MAX, LANES_AHEAD_NAMED } from '../core/limits.ts'
import { hasFree } from '../core/marks.ts'
import { type PopCommand, type PopTake, planPop, takeItems } from '../core/pop.ts'
import { checkPop } from '../core/pop-request.ts'
import { itemsIn, type Lock, type QueueRecord } from '../core/record.ts'
import type { PopOutcome, PopRequest } from '../verbs.ts'
import { takeClaim } from './claim.ts'
import { busy, changeOf, commit, type Engine, pause, readRecord } from './engine.ts'
import { hashOf } from './hash.ts'
import { hold } from './hold.ts'
import { leaveDry, leaveDryQuietly } from './leave-dry.ts'
import { passLimit } from './pass-limit.ts'
import { acknowledged, isMoreWaiting, itemsOf, MissingItems, type Try } from './popped.ts'

/** Lost races, each a round trip and a pause; far more than 64 contenders cost with the hold. */
const ATTEMPTS_MAX = 24
/** From here on claims are asked to stand back, and a pop keeps to one lane. */
const STARVING_AFTER = 4
/** Writes that end expired locks before there is room for the pop: each ends 40, or a large one. */
const ENDINGS_MAX = 100
/** After this many lost claims the pop goes under the fence, where someone always wins. */
const CLAIMS_MAX = 12

export async function pop(
  engine: Engine,
  queue: string,
  request: PopRequest = {},
): Promise<PopOutcome> {
  checkQueueId(queue)
  const { count, ttlMs } = checkPop(request)
  const missing = new MissingItems()
  let endings = 0
  let losses = 0
  // A view from memory may lead to a write, which checks it; never to a refusal, an "empty" or less
  // than was asked for.
  let record = engine.memory.get(queue)
  let current = false
  let admitted = false
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    if (record === undefined && !current) {
      record = await readRecord(engine, queue)
      current = true
    }
    const nowMs = engine.clock.nowMs()
    const command = commandFor(engine, queue, request, { count, ttlMs }, losses)
    if (record === undefined) {
      // No record: nothing to pop, and no lock to acknowledge.
      if (command.acknowledge === undefined) return { kind: 'empty' }
      throw notFound(command.acknowledge)
    }
    if (!admitted) admitted = await passLimit(engine, 'pop', record, request.receivedMs)

    const claim = attempt <= CLAIMS_MAX ? planClaim(record, command, nowMs) : undefined
    if (claim !== undefined && (current || claim.count === count)) {
      const claimed = await takeClaim(engine, queue, claim, admitted)
      if (claimed.kind === 'popped') return withTtl(claimed.outcome, ttlMs)
      record =
        claimed.kind === 'missing'
          ? await missing.lookAgain(engine, queue, claimed.record)
          : claimed.record
      current = true
      if ((record?.holdUntilMs ?? 0) >= nowMs || attempt >= STARVING_AFTER) {
        await pause(engine, attempt * 4)
      }
      continue
    }

    const plan = planPop(record, command, nowMs)
    const ends = plan.kind === 'locked' || plan.kind === 'refused' || plan.kind === 'repeat'
    // Appends do not move the version: what was pushed since would be left where it is.
    const isShort = plan.kind === 'empty' || (plan.kind === 'take' && itemsIn(plan.picks) < count)
    if (!current && (ends || isShort)) {
      record = undefined
      continue
    }
    switch (plan.kind) {
      case 'locked':
        return { kind: 'locked', expiresAtMs: plan.untilMs }
      case 'refused':
        throw plan.error
      case 'repeat': {
        if (plan.draft !== undefined) {
          const change = changeOf(engine, record, plan.draft, { nowMs })
          const committed = await commit(engine, change)
          record = committed.kind === 'lost' ? committed.current : await readRecord(engine, queue)
          break
        }
        const outcome = await repeated(engine, record, plan.lockId, plan.lock)
        if (outcome !== undefined) {
          await leaveDryQuietly(engine, record)
          return { ...withTtl(outcome, ttlMs), ...acknowledged(plan.itemsAcknowledged) }
        }
        record = await missing.lookAgain(engine, queue, record)
        continue
      }
      case 'empty': {
        if (plan.draft === undefined) {
          const left = await leaveDry(engine, record)
          if (left === undefined || !hasFree(left)) return { kind: 'empty' }
          record = left
          break
        }
        const change = changeOf(engine, record, plan.draft, {
          nowMs,
          guards: nothingVisible(record, command),
          marksDry: engine.events,
        })
        const committed = await commit(engine, change)
        if (committed.kind === 'committed') return emptied(plan.itemsAcknowledged)
        record = committed.kind === 'lost' ? committed.current : undefined
        break
      }
      case 'end-expired': {
        // Work of its own, not a lost race; 2,000 items in flight are ended in fewer rounds.
        if (++endings > ENDINGS_MAX) throw busy(queue)
        attempt -= 1
        const change = changeOf(engine, record, plan.draft, { nowMs })
        const committed = await commit(engine, change)
        record = committed.kind === 'committed' ? committed.record : undefined
        if (committed.kind === 'lost') record = committed.current
        current = true
        continue
      }
      case 'take': {
        const taken = await take(engine, record, plan, command, { nowMs, losses })
        if (taken.kind === 'popped') return withTtl(taken.outcome, ttlMs)
        record =
          taken.kind === 'missing'
            ? await missing.lookAgain(engine, queue, taken.record)
            : taken.record
        break
      }
      default:
        throw plan satisfies never
    }
    current = true
    losses += 1
    if (losses > 1) await pause(engine, losses)
    if (losses >= STARVING_AFTER && record !== undefined) record = await hold(engine, record)
  }
  throw busy(queue)
}

/** Reads, then writes: what cannot be read is not taken (rule 4). */
async function take(
  engine: Engine,
  record: QueueRecord,
  plan: PopTake,
  command: PopCommand,
  { nowMs, losses }: { readonly nowMs: number; readonly losses: number },
): Promise<Try> {
  const read = await engine.items.read(record, plan.picks, ANSWER_BYTES_MAX)
  if (read.kind === 'missing') return { kind: 'missing', record }
  const taken = takeItems(plan, read.entries.length, command, nowMs)
  const lapsed = record.checkAtMs !== undefined && record.checkAtMs <= nowMs
  const change = changeOf(engine, record, taken.draft, {
    nowMs,
    guards: taken.guards,
    // Claims need a `checkAt` that is ahead of them; someone has to move it on.
    refreshCheckAt: command.competing && command.lock !== undefined && lapsed,
    // Items that are not locked come back to nobody who dies before he has left the mark.
    marksDry: engine.events && losses < (command.lock === undefined ? STARVING_AFTER : 1),
  })
  const committed = await commit(engine, change)
  if (committed.kind !== 'committed') {
    return { kind: 'lost', record: committed.kind === 'lost' ? committed.current : undefined }
  }
  const known = await leaveDryQuietly(engine, committed.record)
  const outcome = {
    kind: 'items' as const,
    items: itemsOf(plan.draft, taken.stretches, read.entries),
    // By the record as the pop left it: what was appended meanwhile is waiting as well.
    more:
      !known || (read.entries.length < command.count && isMoreWaiting(committed.record, plan.more)),
    ...(command.lock !== undefined && {
      lock: { id: command.lock.id, expiresAtMs: taken.expiresAtMs, ttlSeconds: 0 },
    }),
    ...acknowledged(plan.itemsAcknowledged),
  }
  return { kind: 'popped', outcome }
}

async function repeated(
  engine: Engine,
  record: QueueRecord,
  lockId: string,
  lock: Lock,
): Promise<PopOutcome | undefined> {
  const read = await engine.items.read(record, lock.stretches)
  if (read.kind === 'missing') return undefined
  return {
    kind: 'items',
    items: itemsOf(record, lock.stretches, read.entries),
    lock: { id: lockId, expiresAtMs: lock.expiresAtMs, ttlSeconds: 0 },
    more: false,
  }
}

function commandFor(
  engine: Engine,
  queue: string,
  request: PopRequest,
  { count, ttlMs }: { count: number; ttlMs: number },
  losses: number,
): PopCommand {
  const { idempotencyKey } = request
  return {
    count,
    competing: request.competing ?? false,
    // A fresh id each time: a claim that lands late must not pass for this one.
    ...(request.requireAck && {
      lock: {
        id: randomLockId(engine.random),
        ttlMs,
        ...(idempotencyKey !== undefined && {
          keyHash: hashOf(queue, idempotencyKey).slice(0, 12),
        }),
      },
    }),
    ...(request.acknowledge !== undefined && { acknowledge: request.acknowledge }),
    oneLane: losses > STARVING_AFTER,
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

function withTtl(outcome: PopOutcome, ttlMs: number): PopOutcome {
  if (outcome.kind !== 'items' || outcome.lock === undefined) return outcome
  return { ...outcome, lock: { ...outcome.lock, ttlSeconds: ttlMs / 1000 } }
}

const emptied = (items: number | undefined): PopOutcome => ({
  kind: 'empty',
  ...acknowledged(items),
})

const notFound = (lockId: string): QueueError =>
  new QueueError(
    'LOCK_NOT_FOUND',
    `Cannot settle lock "${lockId}" because no lock is live on this queue`,
    { field: 'lock_id' },
  )
