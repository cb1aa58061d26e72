import type { Random } from '../../../../testing/random.ts'

/** Probabilities by kind: most per request, staleness per read. */
export type FaultOdds = Readonly<Record<Fault, number>>

export const faults = [
  /** Refused by the rate limit, at random. */
  'throttled',
  /** Applied; the answer never comes. */
  'answer-lost',
  /** Never arrived; the sender cannot tell. */
  'request-lost',
  /** The sender gets a timeout; the request lands seconds or minutes later. */
  'lands-late',
  /** 5xx after it was applied. */
  'server-error-applied',
  'server-error',
  /** Definite: another transaction touches the item. */
  'conflict',
  /** The writer dies at this request; a new one with empty memory takes its place. */
  'crash',
  /** The writer freezes for seconds or minutes. */
  'pause',
  /** An answer that takes seconds. */
  'slow',
  /** An eventually consistent read sees the past. */
  'stale-read',
  /** 503 SlowDown from S3. */
  's3-unavailable',
  'event-missed',
  'event-repeated',
  'event-late',
] as const

export type Fault = (typeof faults)[number]

const none = Object.fromEntries(faults.map((fault) => [fault, 0])) as Record<Fault, number>

export const noFaults: FaultOdds = none

/** Reads may be stale and events late in the calmest world too: that is no fault of anything. */
const strong: Readonly<Record<Fault, readonly number[]>> = {
  throttled: [0, 0.01, 0.05, 0.2],
  'answer-lost': [0, 0.01, 0.03, 0.1],
  'request-lost': [0, 0.01, 0.05],
  'lands-late': [0, 0.01, 0.03, 0.1],
  'server-error-applied': [0, 0.01, 0.05],
  'server-error': [0, 0.01, 0.05],
  conflict: [0, 0.02, 0.1],
  crash: [0, 0.005, 0.02, 0.05],
  pause: [0, 0.005, 0.02, 0.05],
  slow: [0, 0.01, 0.1],
  'stale-read': [0, 0.2, 0.5, 0.9],
  's3-unavailable': [0, 0.05, 0.3],
  'event-missed': [0, 0.1, 0.5, 1],
  'event-repeated': [0, 0.1, 0.5],
  'event-late': [0, 0.1, 0.5],
}

export function drawFaults(random: Random, faultFree: boolean): FaultOdds {
  if (faultFree) return none
  const odds = { ...none }
  // Either every kind by chance, or two kinds alone and often: rare meetings of two are then common.
  const few = random.chance(0.4) ? [random.pick(faults), random.pick(faults)] : undefined
  for (const fault of faults) {
    const choices = strong[fault]
    if (few === undefined) odds[fault] = random.chance(0.5) ? random.pick(choices) : 0
    else if (few.includes(fault)) odds[fault] = choices.at(-1) as number
  }
  return odds
}
