// Seats for pops that wait. A held call keeps a whole environment of its function busy, and callers who wait
// come back at once: without a bound they would take all that the account has, however short each wait is.
// So there are so many seats over all processes, in one row. Who dies on a seat leaves it when it expires.
// Waiting is a favour: whatever is wrong with a seat, the pop itself goes on.

import { seatsKey } from '../../core/keys.ts'
import type { Engine } from '../attempts/engine.ts'

type Seat = { readonly name?: string; readonly expiresMs: number }

/** Others may be faster to a seat that looked free. */
const TRIES_MAX = 3
/** Once more if it is not known whether it was left: it would stay taken until it expires. */
const LEAVES_MAX = 2
/** The last pop comes after the wait. */
const LATER_MS = 5_000
/** A seat is known by the time when it expires: two pops that come in the same moment must not get the same time. */
const APART_MS = 1_000
/**
 * For so long a process asks for no seat once all are taken. Each asking is a write, and one row takes 1,000
 * a second: as many processes as an account has, 1,000, ask 500 times.
 */
const ALL_TAKEN_FOR_MS = 2_000

/** Nothing where all are taken. Where seats are not bounded, one without a name. */
export async function takeSeat(
  engine: Engine,
  queue: string,
  untilMs: number,
): Promise<Seat | undefined> {
  const { waitingPopsMax: seatsMax, clock, random, seats } = engine
  if (seatsMax === undefined) return { expiresMs: untilMs + LATER_MS }
  const expiresMs = untilMs + LATER_MS + APART_MS * random()
  if (clock.nowMs() < seats.allTakenUntilMs) return undefined
  let free = Array.from({ length: seatsMax }, (_, n) => `s${n}`)
  for (let tries = 1; tries <= TRIES_MAX && free.length > 0; tries += 1) {
    const name = free[Math.floor(random() * free.length)] as string
    const nowMs = clock.nowMs()
    // Somebody else sits there.
    const isFree = 'attribute_not_exists(#seat) OR #seat < :now'
    const taken = await change(engine, name, isFree, { ':to': expiresMs, ':now': nowMs })
    if (taken.kind === 'done') return { name, expiresMs }
    if (taken.kind !== 'failed') {
      engine.onBackgroundError(taken.cause, { queue, step: 'take-seat' })
      // Perhaps it was taken all the same.
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
  // Once it has expired there is nothing to leave, and the caller waits for the answer.
  for (let sent = 1; sent <= LEAVES_MAX && engine.clock.nowMs() < expiresMs; sent += 1) {
    // It is still ours: it expired otherwise, and another may sit there.
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
