import type { TicketState } from '../../../lambdas/rate/operations/tickets.ts'
import type { Admission } from '../../../lambdas/rate/rate-limits.ts'
import type { World } from '../world/harness/world.ts'
import type { Issue, RateModel, RowHistory } from './rate-model.ts'
import type { RateOperation } from './rate-operation.ts'
import { isFull, isIdle, type ReadRow } from './read-row.ts'

/** "Denied" is remembered for a minute at most, and clocks may be set by ten seconds meanwhile. */
const REMEMBERED_MAX_MS = 60_000 + 10_000
const REMEMBERED_MIN_MS = 1_000 + 10_000

/** Compares what a process answered with what its writes did. */
export function checkAdmission(
  world: World,
  model: RateModel,
  operation: RateOperation,
  answer: Admission,
  { shards, calm }: { readonly shards: number; readonly calm: boolean },
): void {
  const meant = operation.issues.filter((one) => isOf(one, answer))
  const issue = meant.findLast(({ late }) => !late) ?? meant.at(-1)
  if (issue !== undefined) model.settle(issue)
  const taken = operation.issues.filter(({ open }) => open === undefined)
  const must = (holds: boolean, rule: string): void => {
    if (holds) return
    const told = JSON.stringify(answer)
    world.violated(rule, `#${operation.id} ${told}, took ${issue?.position}, turn ${issue?.turnMs}`)
  }
  world.statistics.count(`answer ${answer.kind}`)
  // By a lost answer, or by one that came too late, if only by a clock that was set.
  const wasted = taken.length > 0 && !calm
  const granted = answer.kind === 'allowed' || answer.kind === 'promised'
  if (granted) must(issue?.late === false, 'nobody goes on a slot that is over')
  switch (answer.kind) {
    case 'allowed': {
      must(issue !== undefined, 'a slot for whoever goes')
      const latestMs = Math.max(operation.clockMaxMs, issue?.row.atMs ?? 0)
      must((issue?.turnMs ?? 0) <= latestMs, 'nobody goes before his turn')
      if (answer.waitedMs > 0) world.statistics.count('answer allowed after waiting')
      return
    }
    case 'promised': {
      const { turn } = answer
      must(issue?.turnMs === turn.notBeforeMs, 'a slot for whoever is promised one')
      must(answer.position >= 1, 'a place in line')
      return
    }
    case 'denied': {
      must(taken.length === 0 || wasted, 'whoever is denied has no slot')
      must(answer.retryAfterMs > 0, 'a time to come back')
      if (shards === 1) checkDenial(world, model, operation, answer)
      return
    }
    case 'override-refused':
      must(taken.length === 0 || wasted, 'whoever is refused has no slot')
      return
    default:
      answer satisfies never
  }
}

function checkDenial(
  world: World,
  model: RateModel,
  operation: RateOperation,
  answer: Extract<Admission, { kind: 'denied' }>,
): void {
  const { command } = operation
  if (command.verb !== 'admit') return
  const { cost = 1, canWait = false, overrides } = command.request
  // Of the shortest line that may have applied to it.
  const inLine = canWait ? Math.min(model.inLineMin, overrides?.maxRequestsInQueue ?? 1e9) : 0
  const history = model.historyOf(`r#${command.key}#0`)
  const asLong = Math.min(
    REMEMBERED_MAX_MS,
    Math.max(REMEMBERED_MIN_MS, answer.windowMillis / 10 + 10_000),
  )
  const justified = statesSince(history, operation.startedMs - asLong).some((row) => {
    // Under other rules the row would be handed over, and the model cannot know the answer.
    const asRuled =
      row.max === answer.limit &&
      row.windowMs === answer.windowMillis &&
      row.window === (answer.algorithm === 'window')
    return asRuled
      ? // Its burst may be another's; that there is one, the probe sees.
        isFull({ ...row, burst: 1 }, cost, inLine, operation.clockMinMs)
      : !isIdle(row, operation.clockMinMs)
  })
  if (justified) return
  const { row } = history.states.at(-1) ?? {}
  world.violated(
    'no denial while there is room',
    `#${operation.id} ${JSON.stringify(answer)}, clock ${operation.clockMinMs}, row ${JSON.stringify(row)}`,
  )
}

/** As it was at that time, and ever since. */
function statesSince({ states }: RowHistory, sinceMs: number): ReadRow[] {
  const first = states.findLastIndex(({ fromMs }) => fromMs <= sinceMs)
  return states
    .slice(Math.max(0, first))
    .map(({ row }) => row)
    .filter((row) => row !== undefined)
}

/** A promised turn never moves, whatever has happened to the limit since. */
export function checkVerified(world: World, operation: RateOperation, state: TicketState): void {
  const { command } = operation
  if (command.verb !== 'verify') return
  const { turn } = command
  const same = state.kind !== 'invalid' && state.turn.notBeforeMs === turn.notBeforeMs
  const early = state.kind !== 'waiting' && operation.clockMaxMs < turn.notBeforeMs
  const late = state.kind === 'waiting' && operation.clockMinMs >= turn.notBeforeMs
  if (same && !early && !late) return
  world.violated(
    'a promised turn never moves',
    `#${operation.id} ${JSON.stringify({ state, turn })}`,
  )
}

/** Whether the answer speaks of this slot: a process may have taken several, and wasted all but one. */
function isOf(issue: Issue, answer: Admission): boolean {
  if (answer.kind === 'allowed') return issue.turnMs === answer.window.startMs
  if (answer.kind !== 'promised') return false
  return issue.row.epoch === answer.turn.epoch && issue.position === answer.turn.position
}
