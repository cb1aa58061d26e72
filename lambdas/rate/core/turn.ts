import { TICKET_GOOD_MS_MIN } from './bounds.ts'
import { type Epoch, epochText } from './epoch.ts'
import { overMs, turnMs } from './ruler.ts'

/** A promised place: which slots of which row, and what was said of their time. It never changes. */
export type Turn = {
  readonly key: string
  readonly shard: number
  /** The epoch's text: with the position, the slot's name for ever. */
  readonly epoch: string
  readonly position: number
  readonly cost: number
  /** Give-ups of the row when it was issued. */
  readonly giveUps: number
  readonly notBeforeMs: number
  /** The end of its window, or a little later where the window is too short to be met by a poll. */
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

/** How a turn stands, told without asking the store. */
type TurnState = 'waiting' | 'ready' | 'over'

export function stateOfTurn({ notBeforeMs, goodUntilMs }: Turn, nowMs: number): TurnState {
  if (nowMs < notBeforeMs) return 'waiting'
  return nowMs < goodUntilMs ? 'ready' : 'over'
}
