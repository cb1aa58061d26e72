// Which slots of a row one request takes, and which write takes them, from the row as last seen. The row may have
// moved on: the write's condition notices that, and a wrong guess costs a request, never a slot twice.
//
//   no row, or none of this window ──▶ set: begin the current window
//   room in the window, or in line ──▶ add: blind, so that it commutes with all others
//   the rest of a window too small ──▶ set: skip it
//   other rules                    ──▶ set: change them, on condition that the row is as seen
//   no room                        ──▶ denied, or a hand-over that puts the row under the newer settings that say so

import {
  countsUntilMs,
  type Epoch,
  epochText,
  firstMs,
  fittingPosition,
  floorAt,
  handOver,
  type Issued,
  isRuledBy,
  lastInLineAt,
  lastOpenAt,
  naturalEpoch,
  opensMs,
  type Ruling,
  widthOf,
  windowStartMs,
} from './epoch.ts'
import { type RateRow, ttlSeconds } from './row.ts'

/** One request for slots of one row. */
export type Ask = Ruling & {
  readonly cost: number
  readonly canWait: boolean
  /** How many slots we may promise beyond those of the current window. */
  readonly inLine: number
}

/**
 * One conditional write that takes a stretch of slots. `add` is blind: it takes the next ones, whatever they are, and
 * so commutes with all others. `set` skips slots that nobody may have any more.
 */
export type SlotWrite = {
  readonly epoch: Epoch
  readonly cursor: { readonly kind: 'add' | 'set'; readonly value: number }
  readonly width: number
  readonly atMs: number
  /** Absent if the row must stay. */
  readonly ttl: number | undefined
  readonly condition: SlotCondition
  /** If the write changes the rules: the requests that the cursor cannot express. */
  readonly overhang: number | undefined
}

export type SlotCondition = {
  readonly epochText: string
  readonly cursorMin: number
  readonly cursorMax: number
  /** The row may not exist: the write then makes it. */
  readonly orAbsent: boolean
  /** The item's time must be exactly this one, because the carry was computed for it. */
  readonly atMs: number | undefined
}

/** Final as long as the rules stay: a cursor goes back only if somebody gives up a turn. */
type Denial = {
  readonly kind: 'denied'
  readonly epoch: Epoch
  readonly nowMs: number
  readonly opensMs: number
}

type SlotPlan =
  | Denial
  | { readonly kind: 'write'; readonly write: SlotWrite }
  /** Takes nothing, because there is no room: it only puts the row under the newer settings that say so. */
  | { readonly kind: 'hand-over'; readonly write: SlotWrite }

/** Guesses about how the row has moved on; a wrong guess costs a request and nothing else. */
type Guess = {
  /** How far its cursor may have moved on. A write that changes the rules must know where it is. */
  readonly slack?: number
  /** Others use the row too: if we have not begun a window, one of them probably has. */
  readonly begun?: boolean
}

/**
 * Decides about a request from the row as last seen (`undefined`: never seen, or it does not exist). The row may have
 * moved on meanwhile; the write's condition notices that.
 */
export function planSlots(
  row: RateRow | undefined,
  ask: Ask,
  clockMs: number,
  { slack = 0, begun = false }: Guess = {},
): SlotPlan {
  if (row === undefined) return planUnseen(ask, clockMs)
  // The later of the item's time and the clock's: a slow clock never opens a window that is over.
  const nowMs = Math.max(clockMs, row.atMs)
  if (isRuledBy(row.epoch, ask)) return planRuled(row, ask, nowMs, begun)
  return planUnderOtherRules(row, ask, nowMs, slack)
}

function planUnseen(ask: Ask, nowMs: number): SlotPlan {
  const epoch = naturalEpoch(ask, nowMs)
  return { kind: 'write', write: begin(epoch, ask, nowMs, windowStartMs(epoch, nowMs)) }
}

/** The first slots of the current window, for a row that does not exist or has issued none of them. */
function begin(epoch: Epoch, ask: Ask, nowMs: number, atMs: number): SlotWrite {
  const floor = floorAt(epoch, nowMs)
  return {
    ...writeOf(epoch, ask, atMs, floor),
    cursor: { kind: 'set', value: floor + widthOf(epoch, ask.cost) },
    condition: {
      epochText: epochText(epoch),
      cursorMin: 0,
      cursorMax: floor - 1,
      orAbsent: !ask.configured,
      atMs: undefined,
    },
  }
}

function planRuled(seen: RateRow, ask: Ask, nowMs: number, begun: boolean): SlotPlan {
  const { epoch } = seen
  const floor = floorAt(epoch, nowMs)
  const atMs = Math.max(seen.atMs, windowStartMs(epoch, nowMs))
  const isOver = seen.cursor < floor
  // We guess that somebody else has begun it: a blind write either finds it open, or fails and shows that it is not.
  const isBegun = isOver && begun && epoch.rules.algorithm === 'window'
  if (isOver && !isBegun) return { kind: 'write', write: begin(epoch, ask, nowMs, atMs) }
  const row = isBegun ? { ...seen, cursor: floor } : seen
  const position = fittingPosition(epoch, row.cursor, ask.cost)
  const last = lastFor(epoch, ask, nowMs)
  if (position > last) return denied(epoch, ask, nowMs, position)
  const skips = position > row.cursor
  const width = widthOf(epoch, ask.cost)
  const condition: SlotCondition = {
    epochText: epochText(epoch),
    // A write that skips passes the rest of one window; a write that adds needs room in its window.
    cursorMin: skips ? position - ask.cost + 1 : Math.max(floor, windowFrom(row, ask)),
    cursorMax: skips ? position - 1 : Math.min(last, windowTo(row, ask)),
    orAbsent: false,
    atMs: undefined,
  }
  const cursor = skips
    ? ({ kind: 'set', value: position + width } as const)
    : ({ kind: 'add', value: width } as const)
  const ttlPosition = skips ? position : condition.cursorMax
  return { kind: 'write', write: { ...writeOf(epoch, ask, atMs, ttlPosition), cursor, condition } }
}

/** A request of more than one slot is whole in one window, which a blind write must be sure of. */
function windowFrom({ epoch, cursor }: RateRow, { cost }: Ask): number {
  if (cost === 1 || epoch.rules.algorithm === 'smooth') return 0
  return cursor - (cursor % epoch.rules.maxRequests)
}

function windowTo(row: RateRow, ask: Ask): number {
  const { algorithm, maxRequests } = row.epoch.rules
  if (ask.cost === 1 || algorithm === 'smooth') return Number.POSITIVE_INFINITY
  return windowFrom(row, ask) + maxRequests - ask.cost
}

/** One write changes the rules and serves the request that meets the new ones. */
function planUnderOtherRules(row: RateRow, ask: Ask, nowMs: number, slack: number): SlotPlan {
  // Assume that the slack is used up: this allows for requests that came meanwhile, and wastes some slots.
  const seen = { ...row, cursor: row.cursor + slack }
  const { next, position, hasRoom } = underAsked(seen, ask, nowMs)
  const { epoch } = next
  if (hasRoom) {
    const cursor = position + widthOf(epoch, ask.cost)
    return { kind: 'write', write: handingOver(seen, next, cursor, ask, nowMs) }
  }
  if (slack > 0) {
    // Slots that nobody has taken yet are no reason to deny.
    const exact = planUnderOtherRules(row, ask, nowMs, 0)
    if (exact.kind !== 'hand-over') return exact
  }
  // Newer settings rule the row from now on, whichever call brings them. Otherwise what was used would be forgotten with the
  // window of the old rules, and a denial's time would hold only until then.
  if (ask.revision > row.epoch.revision) {
    return { kind: 'hand-over', write: handingOver(seen, next, next.cursor, ask, nowMs) }
  }
  // One call's overrides do not: callers who disagree would shut each other out by calls that got nothing.
  const { opensMs: soonestMs } = denied(epoch, ask, nowMs, position)
  return { kind: 'denied', epoch, nowMs, opensMs: takesOverMs(row, ask, nowMs, soonestMs) }
}

/** The row under the rules that the request asks for, and whether these have room for it. */
function underAsked(row: RateRow, ask: Ask, nowMs: number) {
  const next = handOver(row, ask, nowMs)
  const { epoch } = next
  const floor = Math.max(next.cursor, floorAt(epoch, nowMs))
  const position = fittingPosition(epoch, floor, ask.cost)
  return { next, position, hasRoom: position <= lastFor(epoch, ask, nowMs) }
}

/**
 * The first millisecond at which the rules that the request asks for have room, if nobody else comes before: when these
 * say so, if the same hand-over is due then; or else when what the row has issued counts no longer.
 */
function takesOverMs(row: RateRow, ask: Ask, nowMs: number, soonestMs: number): number {
  const hasRoomAt = (atMs: number): boolean => underAsked(row, ask, atMs).hasRoom
  const latestMs = Math.max(nowMs, countsUntilMs(row)) + 1
  const isSooner = nowMs < soonestMs && soonestMs < latestMs && hasRoomAt(soonestMs)
  return firstMs(nowMs, isSooner ? soonestMs : latestMs, hasRoomAt)
}

/** Changes the rules of the row, on condition that it is as seen. */
function handingOver(
  seen: RateRow,
  { epoch, overhang }: Issued,
  cursor: number,
  ask: Ask,
  nowMs: number,
): SlotWrite {
  const atMs = Math.max(seen.atMs, windowStartMs(epoch, nowMs))
  return {
    ...writeOf(epoch, ask, atMs, cursor),
    cursor: { kind: 'set', value: cursor },
    condition: {
      epochText: epochText(seen.epoch),
      cursorMin: 0,
      cursorMax: seen.cursor,
      orAbsent: false,
      atMs: seen.atMs,
    },
    overhang,
  }
}

const lastFor = (epoch: Epoch, { canWait, cost, inLine }: Ask, nowMs: number): number =>
  canWait && inLine > 0 ? lastInLineAt(epoch, nowMs, cost, inLine) : lastOpenAt(epoch, nowMs, cost)

const denied = (
  epoch: Epoch,
  { canWait, cost, inLine }: Ask,
  nowMs: number,
  position: number,
): Denial => ({
  kind: 'denied',
  epoch,
  nowMs,
  opensMs: opensMs(epoch, position, cost, canWait ? inLine : 0),
})

function writeOf(epoch: Epoch, ask: Ask, atMs: number, lastPosition: number) {
  return {
    epoch,
    width: widthOf(epoch, ask.cost),
    atMs,
    ttl: ask.configured ? undefined : ttlSeconds(epoch, lastPosition),
    overhang: undefined,
  }
}

/** For how many such writes the row seems to have room; for a write that sets, one. */
export function roomFor({ cursor, condition, width }: SlotWrite, row: RateRow | undefined): number {
  if (cursor.kind === 'set') return 1
  const from = Math.max(condition.cursorMin, row?.cursor ?? 0)
  return Math.floor((condition.cursorMax - from) / width) + 1
}
