import type { FaultOdds } from './faults.ts'

/**
 * In one world of eight, a process that loses an answer is frozen before it hears of that. When it looks for what
 * it did, others have gone on: a note has become a receipt, a lock has ended, items have moved.
 */
export const hearsLate = (seed: number): boolean => seed % 8 === 3

export const lateMs = [6_000, 180_000] as const

/** Often enough to meet it. */
export const oddsOf = (seed: number, odds: FaultOdds): FaultOdds =>
  hearsLate(seed) ? { ...odds, 'answer-lost': Math.max(0.03, odds['answer-lost']) } : odds
