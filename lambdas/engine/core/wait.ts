// How a pop waits: when it looks again, and whether the record it sees is worth a pop. Pure.

import { isSomethingJoinable, mayHaveRoom } from './joinable.ts'
import { type PopCommand, planPop } from './pop.ts'
import type { QueueRecord } from './record.ts'

/**
 * On average, an item waits half of this for a caller who waits for it. One look is half a read unit, so in a call
 * that waits 20 s, the looks cost some 3 % of what its function costs meanwhile.
 */
const LOOK_EVERY_MS = 300
const FIRST_LOOK_MS = 50

/** Varies by up to a quarter, so that many callers who wait for one queue do not all look at the same moment. */
export function lookPauseMs(looks: number, leftMs: number, random: number): number {
  const pauseMs = Math.min(LOOK_EVERY_MS, FIRST_LOOK_MS * 2 ** looks) * (0.75 + random / 2)
  return Math.max(0, Math.min(leftMs, pauseMs))
}

/** The record may be older than the last write, so this is a guess; the pop decides. */
export function hasSomethingFor(
  record: QueueRecord,
  command: PopCommand,
  nowMs: number,
  areRowsBlocked: boolean,
): boolean {
  if (mayHaveRoom(record) && isSomethingJoinable(record, nowMs, areRowsBlocked)) return true
  const { kind } = planPop(record, command, nowMs)
  return kind !== 'empty' && kind !== 'locked'
}
