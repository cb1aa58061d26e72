import { hasFree } from '../../core/flags.ts'
import { LANES_AHEAD_NAMED } from '../../core/limits.ts'
import { type PopCommand, type PopPlan, type PopTake, takeItems } from '../../core/pop.ts'
import type { QueueRecord } from '../../core/record.ts'
import type { PopOutcome } from '../../verbs.ts'
import { act, asStored, type Decision, done, lost, type View } from '../attempts/decision.ts'
import { changeOf, type Engine } from '../attempts/engine.ts'
import { leaveDry, leaveDryQuietly } from '../attempts/leave-dry.ts'
import { isMoreThere } from './join-first.ts'
import { acknowledged, itemsOf, lockOf } from './popped.ts'

// The two ends of a pop under the fence: it takes the items that it has read, or there is nothing to take.

/** From this lost race on, a pop asks claims to stand back, and keeps to one lane. */
export const STARVING_FROM = 4

/** Takes the items that were read. Because we read first, items that cannot be read stay (rule 4). */
export function decideTake(
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
  const change = changeOf(engine, record, draft, { nowMs, guards, setsDry: engine.events })
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
