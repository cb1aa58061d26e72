import type { PopOutcome } from '../engine/queues.ts'
import type { Tally } from './tally.ts'

/** What a pop took, for the metrics: over the API and in a consumer alike, because one alarm reads both. */
export function countPopped(tally: Tally, outcome: PopOutcome): void {
  if (outcome.kind !== 'items') return
  tally.count('ItemsPopped', outcome.items.length)
  // An item for later has waited since it was due.
  const oldestMs = Math.min(...outcome.items.map(({ pushedAtMs, dueMs = pushedAtMs }) => dueMs))
  tally.most('OldestItemAge', Math.max(0, Date.now() - oldestMs) / 1000)
}
