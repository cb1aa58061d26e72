import { TICKET_GOOD_MS_MIN } from './bounds.ts'
import { type Epoch, epochText } from './epoch.ts'
import { overMs, turnMs } from './ruler.ts'

/** A promised place: which slots of which row, and the time that we told the caller. It never changes. */
export type Turn = {
  readonly key: string
  readonly shard: number
  /** The epoch's text. Together with the position, it identifies the slot for ever. */
  readonly epoch: string
  readonly position: number
  readonly cost: number
  /** How many turns of the row had been given up when we issued this one. */
  readonly giveUps: number
  readonly notBeforeMs: number
  /** The end of its window, or a little later if the window is too short for a polling client. */
  readonly goodUntilMs: number
}

export function turnOf(
  place: { readonly key: string; readonly shard: number },
  epoch: Epoch,
  position: number,
  cost: number,
  giveUps: number,
): Turn {
  const notBeforeMs = turnMs(epoch, position, cost)
  return {
    ...place,
    epoch: epochText(epoch),
    position,
    cost,
    giveUps,
    notBeforeMs,
    goodUntilMs: Math.max(overMs(epoch, position, cost), notBeforeMs + TICKET_GOOD_MS_MIN),
  }
}

/** The state of a turn, known without asking the store. */
type TurnState = 'waiting' | 'ready' | 'over'

export function stateOfTurn({ notBeforeMs, goodUntilMs }: Turn, nowMs: number): TurnState {
  if (nowMs < notBeforeMs) return 'waiting'
  return nowMs < goodUntilMs ? 'ready' : 'over'
}
