// How a position of a row's cursor is a time: the ruler for each set of rules, the turns that follow from it, and the
// hand-over from one ruler to the next. A promised turn never moves: the next ruler begins at the last promise, so
// order of arrival is order of turn, across changes too.
//
// Under `window`, a position is a slot, and slot ÷ max is its window. Under `smooth`, it is a time in `max`-ths of a
// millisecond since the epoch's start, and a request is `windowMs` of these units long. Both are integers, so that a
// counter can hold them.

import { QueueError } from '../../shared/errors.ts'
import { type Algorithm, type Rules, sameRules } from './settings.ts'

/** Smooth cursors count from a multiple of this (some two years), so that they stay below 2^53. */
const SMOOTH_ERA_MS = 2 ** 36
/** Past this, a cursor starts counting anew. */
const CURSOR_MAX = 2 ** 52
/** A ticket is valid from its turn to the end of its window, and at least for this long, because clients poll. */
const TICKET_GOOD_MS_MIN = 10_000

/** Rules, and where they come from. */
export type Ruling = {
  readonly rules: Rules
  /** The revision of the configuration that they come from; a greater one is newer. 0: no configuration. */
  readonly revision: number
  /** The row holds them as its key's own settings, so it must stay. */
  readonly configured: boolean
}

/**
 * The ruler by which we read a row's cursor. Two epochs of one row never have the same text, so a write that
 * names its epoch can only land on the cursor for which it was meant.
 */
export type Epoch = Ruling & {
  /** Where slot 0 lies. */
  readonly startMs: number
  /** How often the ruler has changed since the row was made. */
  readonly generation: number
}

/**
 * A new row's epoch. It follows from rules and time alone, so that its text is known to a process that has
 * never seen the row, and to one that looks after the row was deleted.
 */
export function naturalEpoch({ rules, revision, configured }: Ruling, nowMs: number): Epoch {
  const startMs =
    rules.algorithm === 'window' ? 0 : Math.floor(nowMs / SMOOTH_ERA_MS) * SMOOTH_ERA_MS
  return { rules, revision, configured, startMs, generation: 0 }
}

/** `w100/1000~0@0+0`, `s60/60000x5~1790000000000k@1717986918400+2` */
export function epochText({ rules, revision, configured, startMs, generation }: Epoch): string {
  const { algorithm, maxRequests, windowMs, burst } = rules
  const form = algorithm === 'window' ? 'w' : 's'
  const extra = algorithm === 'window' ? '' : `x${burst}`
  const origin = configured ? `${revision}k` : String(revision)
  return `${form}${maxRequests}/${windowMs}${extra}~${origin}@${startMs}+${generation}`
}

const epochForm = /^(w|s)(\d+)\/(\d+)(?:x(\d+))?~(\d+)(k?)@(\d+)\+(\d+)$/
const algorithms: Readonly<Record<string, Algorithm>> = { w: 'window', s: 'smooth' }

export function parseEpoch(text: string): Epoch {
  const match = epochForm.exec(text)
  // Its form is the row's format: a write names the epoch it is made for, and so refuses another.
  if (match === null) {
    throw new QueueError(
      'FORMAT_UNKNOWN',
      `Cannot use a rate limit because a newer PushPop has written it ("${text}"): deploy the newer version here as well`,
    )
  }
  const [, form = '', maxRequests, windowMs, burst = 1, revision, own, startMs, generation] = match
  return {
    rules: {
      algorithm: algorithms[form] as Algorithm,
      maxRequests: Number(maxRequests),
      windowMs: Number(windowMs),
      burst: Number(burst),
    },
    revision: Number(revision),
    configured: own === 'k',
    startMs: Number(startMs),
    generation: Number(generation),
  }
}

/** Whether a row under this epoch already has this ruling. */
export const isRuledBy = (epoch: Epoch, ruling: Ruling): boolean =>
  epoch.revision === ruling.revision &&
  epoch.configured === ruling.configured &&
  sameRules(epoch.rules, ruling.rules)

const isWindow = ({ rules }: Epoch): boolean => rules.algorithm === 'window'

/** How far a request of this cost moves the cursor. */
export const widthOf = (epoch: Epoch, cost: number): number =>
  isWindow(epoch) ? cost : cost * epoch.rules.windowMs

/** The number of the epoch's current window; negative before the first one. */
const windowAt = ({ rules, startMs }: Epoch, nowMs: number): number =>
  Math.floor((nowMs - startMs) / rules.windowMs)

export const windowStartMs = ({ rules, startMs }: Epoch, nowMs: number): number =>
  startMs + Math.floor((nowMs - startMs) / rules.windowMs) * rules.windowMs

/** The first position that is not past. */
export function floorAt(epoch: Epoch, nowMs: number): number {
  const { rules, startMs } = epoch
  if (nowMs <= startMs) return 0
  return isWindow(epoch)
    ? windowAt(epoch, nowMs) * rules.maxRequests
    : (nowMs - startMs) * rules.maxRequests
}

/** The last position at which a request of this cost may go now; below 0 before the first window. */
export function lastOpenAt(epoch: Epoch, nowMs: number, cost: number): number {
  if (isWindow(epoch)) return (windowAt(epoch, nowMs) + 1) * epoch.rules.maxRequests - cost
  return nowMs < epoch.startMs ? -1 : openUnits(epoch, nowMs, cost)
}

/** The last position at which a request may wait: `inLine` slots behind those open now. */
export function lastInLineAt(epoch: Epoch, nowMs: number, cost: number, inLine: number): number {
  // Before the epoch's first window, promises of the previous epoch stand in this line too.
  return isWindow(epoch)
    ? lastOpenAt(epoch, nowMs, cost) + inLine
    : openUnits(epoch, nowMs, cost) + widthOf(epoch, inLine)
}

/** When a request at this position may go. */
export function turnMs(epoch: Epoch, position: number, cost: number): number {
  const { rules, startMs } = epoch
  return isWindow(epoch)
    ? startMs + Math.floor(position / rules.maxRequests) * rules.windowMs
    : startMs + Math.max(0, Math.ceil((position - spare(epoch, cost)) / rules.maxRequests))
}

/** When this position opens, for callers in a line of this length, or (0) for those that do not wait. */
export function opensMs(epoch: Epoch, position: number, cost: number, inLine: number): number {
  const { rules, startMs } = epoch
  if (isWindow(epoch)) {
    const window = Math.ceil((position + cost - inLine) / rules.maxRequests) - 1
    return startMs + window * rules.windowMs
  }
  const unit = position - spare(epoch, cost) - widthOf(epoch, inLine)
  const opens = startMs + Math.ceil(unit / rules.maxRequests)
  return inLine === 0 ? Math.max(startMs, opens) : opens
}

/** When the request's window is over; under `smooth`, one window's length after its turn. */
export const overMs = (epoch: Epoch, position: number, cost: number): number =>
  turnMs(epoch, position, cost) + epoch.rules.windowMs

/** Where a request of this cost can go at or after this position: whole within one window. */
export function fittingPosition(epoch: Epoch, position: number, cost: number): number {
  const { maxRequests } = epoch.rules
  if (!isWindow(epoch)) return position
  const used = position % maxRequests
  return used + cost <= maxRequests ? position : position - used + maxRequests
}

/** Requests of cost 1 that could go now, with the cursor here. */
export function remainingAt(epoch: Epoch, cursor: number, nowMs: number): number {
  const from = Math.max(cursor, floorAt(epoch, nowMs))
  const room = Math.floor((lastOpenAt(epoch, nowMs, 1) - from) / widthOf(epoch, 1)) + 1
  return Math.min(epoch.rules.maxRequests, Math.max(0, room))
}

/** How many slots lie between here and those open now; 1 is the first in line. */
export function placeInLine(epoch: Epoch, position: number, cost: number, nowMs: number): number {
  const open = isWindow(epoch) ? lastOpenAt(epoch, nowMs, 1) : openUnits(epoch, nowMs, cost)
  return Math.max(0, Math.ceil((position - open) / widthOf(epoch, 1)))
}

/** For `smooth`: the part of the burst that the request's own cost does not need. */
function spare({ rules }: Epoch, cost: number): number {
  return (rules.burst - Math.min(cost, rules.burst)) * rules.windowMs
}

const openUnits = (epoch: Epoch, nowMs: number, cost: number): number =>
  (nowMs - epoch.startMs) * epoch.rules.maxRequests + spare(epoch, cost)

/** The first millisecond after one at which it is not so, up to one at which it is, and stays so in between. */
export function firstMs(afterMs: number, byMs: number, isSo: (atMs: number) => boolean): number {
  let [notYetMs, firstMs] = [afterMs, byMs]
  while (firstMs - notYetMs > 1) {
    const betweenMs = Math.floor((notYetMs + firstMs) / 2)
    if (isSo(betweenMs)) firstMs = betweenMs
    else notYetMs = betweenMs
  }
  return firstMs
}

/** How far a row's slots have been issued, and by which ruler. */
export type Issued = {
  readonly epoch: Epoch
  readonly cursor: number
  /**
   * Requests of earlier epochs in this epoch's first window that the cursor cannot express, because they are more
   * than its rules allow. They count again if the rules change back within that window.
   */
  readonly overhang: number
}

/**
 * The row under other rules. Promises stay as callers got them, so the new ruler begins at the last promise: no new
 * turn comes before an old one. Requests that have used that window still count.
 */
export function handOver(row: Issued, ruling: Ruling, nowMs: number): Issued {
  const { rules, revision, configured } = ruling
  if (sameRules(row.epoch.rules, rules) && row.cursor < CURSOR_MAX) {
    return { ...row, epoch: { ...row.epoch, revision, configured } }
  }
  const { fromMs, used } =
    row.epoch.rules.algorithm === 'window' ? lastWindow(row, nowMs) : lastTurn(row, nowMs)
  // The window has begun: its slots may have been used just now, so they count in the current window.
  const passed = Math.max(0, Math.floor((nowMs - fromMs) / rules.windowMs))
  const counted = Math.min(used, rules.maxRequests)
  const epoch: Epoch = {
    rules,
    revision,
    configured,
    startMs: fromMs + passed * rules.windowMs,
    generation: row.epoch.generation + 1,
  }
  return { epoch, cursor: widthOf(epoch, counted), overhang: used - counted }
}

/** From then on, nothing that the row has issued counts under other rules. */
export function countsUntilMs({ epoch, cursor }: Issued): number {
  const { algorithm, maxRequests, windowMs } = epoch.rules
  const ahead = Math.ceil(cursor / maxRequests)
  return epoch.startMs + (algorithm === 'window' ? ahead * windowMs : ahead)
}

type Left = { readonly fromMs: number; readonly used: number }

/** The window of the last slot issued, or the current one, and how much of it is used. */
function lastWindow({ epoch, cursor, overhang }: Issued, nowMs: number): Left {
  const { rules, startMs } = epoch
  if (cursor <= floorAt(epoch, nowMs)) {
    return { fromMs: windowAt(epoch, nowMs) < 0 ? startMs : windowStartMs(epoch, nowMs), used: 0 }
  }
  const window = Math.floor((cursor - 1) / rules.maxRequests)
  return {
    fromMs: startMs + window * rules.windowMs,
    used: cursor - window * rules.maxRequests + (window === 0 ? overhang : 0),
  }
}

/** The latest turn that the last slot issued can have, or now, and what counts as used from there. */
function lastTurn({ epoch, cursor, overhang }: Issued, nowMs: number): Left {
  const { rules, startMs } = epoch
  // A single request for the whole burst moves the cursor farthest beyond its turn.
  const lastPosition = cursor - widthOf(epoch, rules.burst)
  const fromMs = Math.max(nowMs, turnMs(epoch, lastPosition, rules.burst))
  const ahead = cursor - (fromMs - startMs) * rules.maxRequests
  const used = Math.max(0, Math.ceil(ahead / rules.windowMs))
  return { fromMs, used: used + (fromMs === startMs ? overhang : 0) }
}

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
