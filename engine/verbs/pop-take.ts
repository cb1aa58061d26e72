// The ends of a pop under the fence: it takes the items that it has read, or finds nothing to take. Because it reads
// first, items that cannot be read stay (rule 4). Where items may expire, one write takes those that have not and
// passes over those that have; if all that it met have, it writes how far it has come, goes on behind them, and ends
// after a number of such writes by saying that there may be more. An answer "empty" that acknowledges is one write as
// well, on condition that nothing has become visible meanwhile. Also what all pops share: how an answer shows items,
// locks and counts.

import { QueueError } from '../../shared/errors.ts'
import { present } from '../../shared/wire.ts'
import {
  type Bounds,
  expiryOf,
  type FoundByPop,
  nothingFound,
  passableIn,
  passableWaiting,
  passOver,
  passOverWaiting,
  sortOut,
  togetherIn,
  weightOf,
} from '../core/expiry.ts'
import { decodeItem, type PoppedItem, toldOf } from '../core/item.ts'
import { itemId } from '../core/keys.ts'
import { ANSWER_BYTES_MAX, LANES_AHEAD_NAMED, LOOK_FURTHER_ITEMS } from '../core/limits.ts'
import { endExpired, forOneWrite } from '../core/locks.ts'
import {
  choose,
  type PopCommand,
  type PopOutcome,
  type PopPlan,
  type PopTake,
  takeItems,
} from '../core/plan-pop.ts'
import { skip } from '../core/ranges.ts'
import {
  deliveriesOf,
  hasFree,
  isLive,
  itemsIn,
  type Lane,
  type Lock,
  type QueueRecord,
  type Stretch,
} from '../core/record.ts'
import { isOvertaken, isRetry } from '../core/settling.ts'
import { leaveDry, leaveDryQuietly } from '../driver/attempts.ts'
import {
  act,
  answer,
  asStored,
  type Decision,
  done,
  look,
  lost,
  refuse,
  type View,
  writeFirst,
} from '../driver/decision.ts'
import type { Engine } from '../driver/engine.ts'
import { answerBytes } from '../requests/item-reader.ts'
import { isMoreThere } from '../storing/join-first.ts'

export function itemsOf(
  record: QueueRecord,
  stretches: readonly Stretch[],
  entries: readonly string[],
): PoppedItem[] {
  const items: PoppedItem[] = []
  for (const { priority, from, to } of stretches) {
    const lane = record.lanes.get(priority) as Lane
    for (let sequence = from; sequence < to; sequence += 1) {
      const item = decodeItem(entries[items.length] as string)
      items.push({
        ...toldOf(item),
        id: itemId({ epoch: lane.epoch, priority, sequence }),
        priority,
        deliveries: deliveriesOf(lane, sequence) + 1,
        ...present({ expiresAtMs: expiryOf(item, record.configuration) }),
      })
    }
  }
  return items
}

export const lockOf = (
  { id, ttlMs }: { readonly id: string; readonly ttlMs: number },
  expiresAtMs: number,
) => ({ id, expiresAtMs, ttlSeconds: ttlMs / 1000 })

export const acknowledged = (items: number | undefined) =>
  items === undefined ? {} : { itemsAcknowledged: items }

export const afterAcknowledging = (outcome: PopOutcome, itemsAcknowledged: number): PopOutcome =>
  outcome.kind === 'locked' ? turnedAway(itemsAcknowledged) : { ...outcome, itemsAcknowledged }

/**
 * An earlier write of the call has settled the lock that it named. A refusal, or "locked", would say that the call
 * changed nothing. So it answers that it has come to no end, and what it acknowledged, which only this call knows; the
 * next pop gets the reason.
 */
export const turnedAway = (itemsAcknowledged: number): PopOutcome => ({
  kind: 'empty',
  more: true,
  itemsAcknowledged,
})

/** From this lost race on, a pop asks claims to stand back, and keeps to one lane. */
export const STARVING_FROM = 4

/** How far a call has come: through expired items, and with the lock that it acknowledges. */
export type Passing = {
  /** How many writes tried to pass over some. */
  passes: number
  /** One of them landed. */
  hasPassed: boolean
  /** The call's own claim met some, so the rest of the call needs the fence. */
  metInClaim: boolean
  /** An earlier write of this call has settled the lock that it named, with so many items. */
  itemsAcknowledged: number | undefined
}

export const startPassing = (): Passing => ({
  passes: 0,
  hasPassed: false,
  metInClaim: false,
  itemsAcknowledged: undefined,
})

type Popping = {
  readonly engine: Engine
  readonly record: QueueRecord
  readonly plan: PopTake
  readonly command: PopCommand
  readonly view: View
  readonly passing: Passing
}

/** Takes the items that were read. Where items may expire, some of them may have, and others take their place. */
export const decideTake = (popping: Popping, entries: readonly string[]): Decision<PopOutcome> =>
  popping.record.timed
    ? goOn(popping, nothingFound, popping.plan.picks, entries, 1)
    : takeAll(popping, entries)

function takeAll(popping: Popping, entries: readonly string[]): Decision<PopOutcome> {
  const { engine, record, plan, command, view } = popping
  const { nowMs, losses } = view
  const taken = takeItems(plan, entries.length, command, nowMs)
  const lapsed = record.checkAtMs !== undefined && record.checkAtMs <= nowMs
  const change = engine.records.change(record, taken.draft, {
    nowMs,
    // Items scheduled since may be due and come first. The record, even one just read, does not show them: the pop may
    // have paused, or taken a slot of a limit, before it looked at the clock.
    guards: { ...taken.guards, scheduledByMs: nowMs },
    // Claims need a `checkAt` in the future; some write has to move it on.
    refreshCheckAt: command.competing && command.lock !== undefined && lapsed,
    // If a pop without a lock dies before it has set the flag, nothing else sets it.
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
        // Go by the record that the pop left: items appended meanwhile are waiting as well.
        more: !known || (entries.length < command.count && isMoreThere(engine, after)),
        ...(command.lock !== undefined && { lock: lockOf(command.lock, taken.expiresAtMs) }),
        ...acknowledged(plan.itemsAcknowledged),
      })
    },
  }
}

export function decideEmpty(
  engine: Engine,
  record: QueueRecord,
  { draft, itemsAcknowledged }: Extract<PopPlan, { kind: 'empty' }>,
  command: PopCommand,
  { nowMs, isCurrent }: View,
): Decision<PopOutcome> {
  if (draft === undefined) {
    return act(async () => {
      const left = await leaveDry(engine, { record, isCurrent })
      return left === undefined || !hasFree(left) ? done({ kind: 'empty' }) : lost(asStored(left))
    })
  }
  const guards = nothingVisible(record, command)
  const change = engine.records.change(record, draft, { nowMs, guards, setsDry: engine.events })
  const answer: PopOutcome = { kind: 'empty', ...acknowledged(itemsAcknowledged) }
  return { kind: 'write', change, landed: () => done(answer) }
}

/** A pop that acknowledges and answers "empty" is one write: nothing may have become visible meanwhile. */
function nothingVisible(record: QueueRecord, command: PopCommand) {
  const lanes = [...record.lanes.keys()]
  return {
    claims: !command.competing,
    lanesMade: true,
    ...(lanes.length <= LANES_AHEAD_NAMED ? { lanesAhead: lanes } : { appends: true }),
  }
}

/**
 * Writes of one call, landed or lost, that only pass over expired items, 500 each, before it answers that there are
 * more items behind.
 */
const PASSES_MAX = 20
/** Reads before each of these writes: 100 items each, or as many as 4 MiB hold. */
const LOOKS_PER_PASS = 8
/**
 * Where reading takes longer than this, it writes sooner how far it has come: a process that is stopped after some ten
 * seconds would otherwise begin at the same item each time, and never get behind them.
 */
const LOOKS_FOR_MS = 2_000

/** The items read so far may do. If some of them have expired, the pop looks further for others to replace them. */
function goOn(
  popping: Popping,
  before: FoundByPop,
  stretches: readonly Stretch[],
  entries: readonly string[],
  looks: number,
): Decision<PopOutcome> {
  const { engine, plan, command, view } = popping
  const read = { stretches, entries }
  const found = sortOut(plan.draft, before, read, view.nowMs, boundsOf(popping))
  if (found.over.length === 0) return takeThose(popping, found)
  const isSlow = engine.clock.nowMs() - view.nowMs > LOOKS_FOR_MS
  if (found.isFull || isSlow || looks === LOOKS_PER_PASS) return passAndTake(popping, found)
  const all = choose(plan.draft, found.looked + LOOK_FURTHER_ITEMS, command.oneLane ?? false)
  const next = skip(all, found.looked)
  if (next.length === 0) return passAndTake(popping, found)
  return {
    kind: 'read',
    stretches: next,
    bytesMax: ANSWER_BYTES_MAX,
    next: (more) => goOn(popping, found, next, more, looks + 1),
  }
}

const boundsOf = ({ plan: { draft, picks }, command }: Popping): Bounds => ({
  wanted: itemsIn(picks),
  passable: passableIn(draft),
  together: command.lock && togetherIn(draft),
  bytesMax: ANSWER_BYTES_MAX,
  bytesOf: answerBytes,
})

/** There is nothing to pass over, or no room for it until dead items have moved. */
function takeThose(popping: Popping, { entries }: FoundByPop): Decision<PopOutcome> {
  const { record, passing } = popping
  if (entries.length > 0) return takeAll(popping, entries)
  return passing.hasPassed ? stopHere(popping, []) : refuse(tooManyDead(record))
}

const tooManyDead = ({ queue }: QueueRecord): QueueError =>
  new QueueError(
    'TOO_MANY_LOCKS',
    `Cannot pass over the expired items of queue "${queue}" because too many that are dead, or locked, are in its record; they wait to be moved to the dead letters`,
  )

/** One write removes the expired items and takes the others. If all have expired, the call goes on behind them. */
function passAndTake(popping: Popping, { over, kept, entries }: FoundByPop): Decision<PopOutcome> {
  const { engine, record, plan, view, passing } = popping
  if (kept.length > 0) {
    const draft = passOver(plan.draft, over)
    const inFlightFreed = plan.inFlightFreed - weightOf(plan.draft, over)
    const passed = { ...plan, draft, picks: kept, inFlightFreed }
    return counting(engine, over, takeAll({ ...popping, plan: passed }, entries))
  }
  if (passing.passes === PASSES_MAX) return stopHere(popping, over)
  passing.passes += 1
  const { nowMs } = view
  // It does not yet acknowledge the caller's lock: if the call still fails, it has changed nothing.
  const draft = passOver(endExpired(record, nowMs), over)
  const passed = engine.records.change(record, draft, { nowMs, setsDry: engine.events })
  const passFirst = writeFirst(passed, () => {
    passing.hasPassed = true
  })
  return counting(engine, over, passFirst)
}

function stopHere(
  { engine, record, plan, view: { nowMs } }: Popping,
  over: readonly Stretch[],
): Decision<PopOutcome> {
  const draft = passOver(plan.draft, over)
  return counting(engine, over, leaveTheRest(engine, record, { ...plan, draft }, nowMs))
}

/** The call has come far enough: the next pop goes on from here. `draft`: what it still writes. */
export function leaveTheRest(
  engine: Engine,
  record: QueueRecord,
  {
    draft,
    itemsAcknowledged,
  }: Pick<Extract<PopPlan, { kind: 'empty' }>, 'draft' | 'itemsAcknowledged'>,
  nowMs: number,
): Decision<PopOutcome> {
  const outcome: PopOutcome = { kind: 'empty', more: true, ...acknowledged(itemsAcknowledged) }
  if (draft === undefined) return answer(outcome)
  const change = engine.records.change(record, draft, { nowMs, setsDry: engine.events })
  return { kind: 'write', change, landed: () => done(outcome) }
}

function counting(
  engine: Engine,
  over: readonly Stretch[],
  decision: Decision<PopOutcome>,
): Decision<PopOutcome> {
  if (decision.kind !== 'write') return decision
  return {
    ...decision,
    landed(after) {
      engine.onItemsExpired(itemsIn(over))
      return decision.landed(after)
    },
  }
}

/**
 * In an exclusive queue, items that wait for their retry hold up all others. But one that has expired will never be
 * handed out again, so nothing should wait for it: only its entry tells, and only a queue whose items may expire pays
 * for the look.
 */
export function passRetries(
  { engine, record, view, passing }: Omit<Popping, 'plan' | 'command'>,
  held: Extract<PopOutcome, { kind: 'locked' }>,
): Decision<PopOutcome> {
  if (!view.isCurrent) return look
  const { nowMs } = view
  const stretches = firstWaiting(record, nowMs)
  return {
    kind: 'read',
    stretches,
    bytesMax: ANSWER_BYTES_MAX,
    // The queue is locked, whether or not we can read what locks it.
    orElse: answer(held),
    next(entries) {
      const { over } = sortOut(record, nothingFound, { stretches, entries }, nowMs, {
        wanted: 0,
        passable: passableWaiting(record),
        bytesMax: 0,
        bytesOf: () => 0,
      })
      if (over.length === 0 || passing.passes === PASSES_MAX) return answer(held)
      passing.passes += 1
      const change = engine.records.change(record, passOverWaiting(record, over, nowMs), { nowMs })
      return writeFirst(change, () => engine.onItemsExpired(itemsIn(over)))
    },
  }
}

/** The first items that wait, of as many locks as one write can change. */
function firstWaiting(record: QueueRecord, nowMs: number): Stretch[] {
  const blocks = (lock: Lock): boolean => isRetry(lock) && !isOvertaken(lock) && isLive(lock, nowMs)
  const stretches: Stretch[] = []
  let left = LOOK_FURTHER_ITEMS
  for (const lockId of forOneWrite(record, blocks)) {
    for (const { priority, from, to } of record.locks.get(lockId)?.stretches ?? []) {
      if (left === 0) return stretches
      const end = Math.min(to, from + left)
      stretches.push({ priority, from, to: end })
      left -= end - from
    }
  }
  return stretches
}
