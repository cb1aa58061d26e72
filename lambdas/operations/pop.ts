import type { Claim } from '../core/claim.ts'
import { planClaim } from '../core/claim.ts'
import { decodeItem } from '../core/entry.ts'
import { QueueError } from '../core/errors.ts'
import { fenced } from '../core/fence.ts'
import { checkQueueId, itemId, recordKey } from '../core/keys.ts'
import { ANSWER_BYTES_MAX, LANES_AHEAD_NAMED } from '../core/limits.ts'
import { choose, type PopCommand, type PopTake, planPop, takeItems } from '../core/pop.ts'
import { checkPop } from '../core/pop-request.ts'
import { randomLockId } from '../core/random-text.ts'
import {
  deliveriesOf,
  itemsIn,
  type Lane,
  type Lock,
  type QueueRecord,
  type Stretch,
} from '../core/record.ts'
import type { PopOutcome, PoppedItem, PopRequest } from '../queues.ts'
import { claimUpdate } from '../store/lock-updates.ts'
import {
  busy,
  changedAllTheSame,
  commit,
  type Engine,
  newMark,
  outcomeUnknown,
  pause,
  readRecord,
  seen,
} from './engine.ts'
import { foldAfter } from './fold.ts'
import { hashOf } from './hash.ts'
import { hold } from './hold.ts'

/** Lost races, each a round trip and a pause; far more than 64 contenders cost with the hold. */
const ATTEMPTS_MAX = 24
/** From here on claims are asked to stand back, and a pop keeps to one lane. */
const STARVING_AFTER = 4
/** Writes that end expired locks before there is room for the pop: each ends 40, or a large one. */
const ENDINGS_MAX = 100
/** After this many lost claims the pop goes under the fence, where someone always wins. */
const CLAIMS_MAX = 12
/** Reads that found items missing at the version that says they are there. */
const MISSING_MAX = 3

export async function pop(
  engine: Engine,
  queue: string,
  request: PopRequest = {},
): Promise<PopOutcome> {
  checkQueueId(queue)
  const { count, ttlMs } = checkPop(request)
  let missing = 0
  let endings = 0
  let losses = 0
  // A view from memory may lead to a write, which checks it; never to a refusal or an "empty".
  let record = engine.memory.get(queue)
  let current = false
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

    const claim = attempt <= CLAIMS_MAX ? planClaim(record, command, nowMs) : undefined
    if (claim !== undefined) {
      const claimed = await takeClaim(engine, queue, claim)
      if (claimed.kind === 'popped') return withTtl(claimed.outcome, ttlMs)
      record = claimed.record
      current = true
      if (claimed.kind === 'missing' && ++missing === MISSING_MAX) throw unreadable(queue)
      if (claimed.kind === 'missing') record = await readRecord(engine, queue)
      if ((record?.holdUntilMs ?? 0) >= nowMs || attempt >= STARVING_AFTER) {
        await pause(engine, attempt * 4)
      }
      continue
    }

    const plan = planPop(record, command, nowMs)
    const ends = plan.kind === 'locked' || plan.kind === 'refused' || plan.kind === 'repeat'
    if (!current && (ends || plan.kind === 'empty')) {
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
          const change = fenced(record, plan.draft, { nowMs, mark: newMark(engine) })
          const committed = await commit(engine, change)
          record = committed.kind === 'lost' ? committed.current : await readRecord(engine, queue)
          break
        }
        const outcome = await repeated(engine, record, plan.lockId, plan.lock)
        if (outcome !== undefined) {
          return { ...withTtl(outcome, ttlMs), ...acknowledged(plan.itemsAcknowledged) }
        }
        if (++missing === MISSING_MAX) throw unreadable(queue)
        record = await readRecord(engine, queue)
        continue
      }
      case 'empty': {
        if (plan.draft === undefined) return { kind: 'empty' }
        const change = fenced(record, plan.draft, {
          nowMs,
          mark: newMark(engine),
          guards: nothingVisible(record, command),
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
        const change = fenced(record, plan.draft, { nowMs, mark: newMark(engine) })
        const committed = await commit(engine, change)
        record = committed.kind === 'committed' ? committed.record : undefined
        if (committed.kind === 'lost') record = committed.current
        current = true
        continue
      }
      case 'take': {
        const taken = await take(engine, record, plan, command, nowMs)
        if (taken.kind === 'popped') return withTtl(taken.outcome, ttlMs)
        if (taken.kind === 'missing') {
          if (++missing === MISSING_MAX) throw unreadable(queue)
          record = await readRecord(engine, queue)
        } else {
          record = taken.record
        }
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

type Try =
  | { readonly kind: 'popped'; readonly outcome: PopOutcome }
  | { readonly kind: 'lost'; readonly record: QueueRecord | undefined }
  | { readonly kind: 'missing'; readonly record: QueueRecord | undefined }

/** Reads, then writes: what cannot be read is not taken (rule 4). */
async function take(
  engine: Engine,
  record: QueueRecord,
  plan: PopTake,
  command: PopCommand,
  nowMs: number,
): Promise<Try> {
  const read = await engine.items.read(record, plan.picks, ANSWER_BYTES_MAX)
  if (read.kind === 'missing') return { kind: 'missing', record }
  const taken = takeItems(plan, read.entries.length, command, nowMs)
  const lapsed = record.checkAtMs !== undefined && record.checkAtMs <= nowMs
  const change = fenced(record, taken.draft, {
    nowMs,
    mark: newMark(engine),
    guards: taken.guards,
    // Claims need a `checkAt` that is ahead of them; someone has to move it on.
    refreshCheckAt: command.competing && command.lock !== undefined && lapsed,
  })
  const committed = await commit(engine, change)
  if (committed.kind !== 'committed') {
    return { kind: 'lost', record: committed.kind === 'lost' ? committed.current : undefined }
  }
  const outcome = {
    kind: 'items' as const,
    items: itemsOf(plan.draft, taken.stretches, read.entries),
    // By the record as the pop left it: what was appended meanwhile is waiting as well.
    more: read.entries.length < command.count && isMoreWaiting(committed.record, plan.more),
    ...(command.lock !== undefined && {
      lock: { id: command.lock.id, expiresAtMs: taken.expiresAtMs, ttlSeconds: 0 },
    }),
    ...acknowledged(plan.itemsAcknowledged),
  }
  return { kind: 'popped', outcome }
}

/** Writes, then reads: safe, because a lock keeps its items from being trimmed. */
async function takeClaim(engine: Engine, queue: string, planned: Claim): Promise<Try> {
  const claim = planned.exact ? await fitted(engine, planned) : planned
  if (claim === undefined) return { kind: 'missing', record: planned.seen }
  const written = await engine.dynamo.update(recordKey(queue), claimUpdate(claim))
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
  return { kind: 'popped', outcome }
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
  for (let attempt = 1; record !== undefined && attempt <= MISSING_MAX; attempt += 1) {
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
    record = await readRecord(engine, claimed.queue)
    if (record !== undefined && !record.locks.has(claim.lockId)) break
  }
  throw unreadable(claimed.queue)
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

function itemsOf(
  record: QueueRecord,
  stretches: readonly Stretch[],
  entries: readonly string[],
): PoppedItem[] {
  const items: PoppedItem[] = []
  for (const { priority, from, to } of stretches) {
    const lane = record.lanes.get(priority) as Lane
    for (let sequence = from; sequence < to; sequence += 1) {
      const { text, pushedAtMs, moved } = decodeItem(entries[items.length] as string)
      items.push({
        text,
        id: itemId({ epoch: lane.epoch, priority, sequence }),
        priority,
        pushedAtMs,
        deliveries: deliveriesOf(lane, sequence) + 1,
        ...(moved !== undefined && { reason: moved.reason }),
      })
    }
  }
  return items
}

function withTtl(outcome: PopOutcome, ttlMs: number): PopOutcome {
  if (outcome.kind !== 'items' || outcome.lock === undefined) return outcome
  return { ...outcome, lock: { ...outcome.lock, ttlSeconds: ttlMs / 1000 } }
}

const acknowledged = (items: number | undefined) =>
  items === undefined ? {} : { itemsAcknowledged: items }

const emptied = (items: number | undefined): PopOutcome => ({
  kind: 'empty',
  ...acknowledged(items),
})

const isMoreWaiting = (record: QueueRecord | undefined, otherwise: boolean): boolean =>
  record === undefined ? otherwise : choose(record, 1, false).picks.length > 0

const notFound = (lockId: string): QueueError =>
  new QueueError(
    'LOCK_NOT_FOUND',
    `Cannot settle lock "${lockId}" because no lock is live on this queue`,
    { field: 'lock_id' },
  )

const unreadable = (queue: string): QueueError =>
  new QueueError(
    'SEGMENT_UNAVAILABLE',
    `Cannot read the next items of queue "${queue}" at the moment; nothing was passed over`,
  )
