// Seats for pops that wait. A waiting call keeps a whole environment of its function busy, and callers who wait
// come back at once: without a bound they would use up the account's concurrency, however short each wait is.
// So all processes together have a fixed number of seats, in one row. If a process dies, its seat becomes free
// when it expires. Waiting is a favour: whatever goes wrong with a seat, the pop itself goes on.

import { seatsKey } from '../../core/keys.ts'
import type { Engine } from '../attempts/engine.ts'

type Seat = { readonly name?: string; readonly expiresMs: number }

/** Other processes may be faster to take a seat that looked free. */
const TRIES_MAX = 3
/** We try once more if we do not know whether the seat was freed: otherwise it stays taken until it expires. */
const LEAVES_MAX = 2
/** Time for the last pop, which comes after the wait. */
const LATER_MS = 5_000
/** The time at which it expires identifies a seat's holder: two pops that come at once must not get the same time. */
const APART_MS = 1_000
/**
 * Once all are taken, a process asks for no seat for this long. Asking is a write, and one row takes 1,000 writes a
 * second: an account's 1,000 processes ask 500 times a second.
 */
const ALL_TAKEN_FOR_MS = 2_000

/** Undefined if all are taken. If the number of seats is not bounded: a seat without a name. */
export async function takeSeat(
  engine: Engine,
  queue: string,
  untilMs: number,
): Promise<Seat | undefined> {
  const { waitingPopsMax: seatsMax, clock, random, seats } = engine
  if (seatsMax === undefined) return { expiresMs: untilMs + LATER_MS }
  const expiresMs = untilMs + LATER_MS + APART_MS * random()
  const leftMs = seats.allTakenUntilMs - clock.nowMs()
  // If it is longer, somebody has set the clock back since.
  if (0 < leftMs && leftMs <= ALL_TAKEN_FOR_MS) return undefined
  let free = Array.from({ length: seatsMax }, (_, n) => `s${n}`)
  for (let tries = 1; tries <= TRIES_MAX && free.length > 0; tries += 1) {
    const name = free[Math.floor(random() * free.length)] as string
    const nowMs = clock.nowMs()
    // Another process may have taken it.
    const isFree = 'attribute_not_exists(#seat) OR #seat < :now'
    const taken = await change(engine, name, isFree, { ':to': expiresMs, ':now': nowMs })
    if (taken.kind === 'done') return { name, expiresMs }
    if (taken.kind !== 'failed') {
      engine.onBackgroundError(taken.cause, { queue, step: 'take-seat' })
      // We may have taken it all the same.
      if (taken.kind === 'unknown') await leaveSeat(engine, queue, { name, expiresMs })
      break
    }
    const { row = {} } = taken
    free = free.filter((one) => !(Number(row[one] ?? 0) >= nowMs))
  }
  seats.allTakenUntilMs = clock.nowMs() + ALL_TAKEN_FOR_MS
  return undefined
}

export async function leaveSeat(engine: Engine, queue: string, seat: Seat): Promise<void> {
  const { name, expiresMs } = seat
  if (name === undefined) return
  // Once it has expired there is nothing to free, and the caller waits for the answer.
  for (let sent = 1; sent <= LEAVES_MAX && engine.clock.nowMs() < expiresMs; sent += 1) {
    // Only if it is still ours: if it has expired, another process may have it.
    const left = await change(engine, name, '#seat = :mine', { ':to': 0, ':mine': expiresMs })
    if (left.kind === 'done' || left.kind === 'failed') {
      engine.seats.allTakenUntilMs = 0
      return
    }
    if (sent === LEAVES_MAX) engine.onBackgroundError(left.cause, { queue, step: 'leave-seat' })
  }
}

const change = (
  { dynamo }: Engine,
  name: string,
  condition: string,
  values: Record<string, number>,
) =>
  dynamo.updateOnce(seatsKey, {
    UpdateExpression: 'SET #seat = :to',
    ConditionExpression: condition,
    ExpressionAttributeNames: { '#seat': name },
    ExpressionAttributeValues: values,
  })
