import { QueueError } from '../../../foundation/errors.ts'
import {
  type Bounds,
  type Found,
  nothingFound,
  passableIn,
  passOver,
  sortOut,
  togetherIn,
  weightOf,
  without,
} from '../../core/expiry.ts'
import { ANSWER_BYTES_MAX, LOOK_FURTHER_ITEMS } from '../../core/limits.ts'
import { endExpired } from '../../core/locks.ts'
import { choose, type PopCommand, type PopTake } from '../../core/pop.ts'
import { itemsIn, type QueueRecord, type Stretch } from '../../core/record.ts'
import { answerBytes } from '../../store/items.ts'
import type { PopOutcome } from '../../verbs.ts'
import { again, asStored, type Decision, done, refuse, type View } from '../attempts/decision.ts'
import { changeOf, type Engine } from '../attempts/engine.ts'
import { acknowledged } from './popped.ts'
import { decideTake } from './take.ts'

// A pop under the fence in a queue whose items may expire: one write takes the items that have not expired, and
// passes over those that have.

/**
 * Writes of one call, landed or lost, that only pass over expired items, 500 each, before it answers that there are
 * more items behind.
 */
export const PASSES_MAX = 20
/** Reads before each of these writes: 100 items each, or as many as 4 MiB hold. */
const LOOKS_PER_PASS = 8
/**
 * Where reading takes longer than this, it writes sooner how far it has come: a process that is stopped after some ten
 * seconds would otherwise begin at the same item each time, and never get behind them.
 */
const LOOKS_FOR_MS = 2_000

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

/** The items read first may do. If some of them have expired, the pop looks further for others to replace them. */
export const takeLiving = (popping: Popping, entries: readonly string[]): Decision<PopOutcome> =>
  goOn(popping, nothingFound, popping.plan.picks, entries, 1)

function goOn(
  popping: Popping,
  before: Found,
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
  const next = without(all, found.looked)
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
function takeThose(popping: Popping, { entries }: Found): Decision<PopOutcome> {
  const { engine, record, plan, command, view, passing } = popping
  if (entries.length > 0) return decideTake(engine, record, plan, entries, command, view)
  return passing.hasPassed ? stopHere(popping, []) : refuse(tooManyDead(record))
}

/** One write removes the expired items and takes the others. If all have expired, the call goes on behind them. */
function passAndTake(popping: Popping, { over, kept, entries }: Found): Decision<PopOutcome> {
  const { engine, record, plan, command, view, passing } = popping
  if (kept.length > 0) {
    const draft = passOver(plan.draft, over)
    const inFlightFreed = plan.inFlightFreed - weightOf(plan.draft, over)
    const passed = { ...plan, draft, picks: kept, inFlightFreed }
    return counting(engine, over, decideTake(engine, record, passed, entries, command, view))
  }
  if (passing.passes === PASSES_MAX) return stopHere(popping, over)
  passing.passes += 1
  const { nowMs } = view
  // It does not yet acknowledge the caller's lock: if the call still fails, it has changed nothing.
  const draft = passOver(endExpired(record, nowMs), over)
  return counting(engine, over, {
    kind: 'write',
    change: changeOf(engine, record, draft, { nowMs, setsDry: engine.events }),
    isExtra: true,
    landed(after) {
      passing.hasPassed = true
      return again(asStored(after))
    },
  })
}

/** It has come far enough for one call: the next pop goes on from here. */
function stopHere(
  { engine, record, plan, view: { nowMs } }: Popping,
  over: readonly Stretch[],
): Decision<PopOutcome> {
  const { itemsAcknowledged } = plan
  const answer: PopOutcome = { kind: 'empty', more: true, ...acknowledged(itemsAcknowledged) }
  const draft = passOver(plan.draft, over)
  const change = changeOf(engine, record, draft, { nowMs, setsDry: engine.events })
  return counting(engine, over, { kind: 'write', change, landed: () => done(answer) })
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

const tooManyDead = ({ queue }: QueueRecord): QueueError =>
  new QueueError(
    'TOO_MANY_LOCKS',
    `Cannot pass over the expired items of queue "${queue}" because too many that are dead, or locked, are in its record; they wait to be moved to the dead letters`,
  )
