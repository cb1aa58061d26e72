// A pop that waits: it looks again and again, pops when a look shows something, and once more at the end. A waiting
// call keeps a whole environment of its function busy, and callers who wait come back at once: without a bound they
// would use up the account's concurrency, however short each wait is. So all processes together have a fixed number of
// seats, in one row, each taken and freed by a conditional write; if a process dies, its seat becomes free when it
// expires. Waiting is a favour: whatever goes wrong with a seat, the pop itself goes on.

import { QueueError } from '../../shared/errors.ts'
import { checkPop, type PopRequest } from '../core/check-requests.ts'
import { recordKey, seatsKey } from '../core/keys.ts'
import { hasSomethingFor, lookPauseMs, type PopCommand, type PopOutcome } from '../core/plan-pop.ts'
import { decodeRecord, type StoredRecord } from '../core/stored-record.ts'
import type { Engine } from '../driver/engine.ts'
import type { LimitedCall } from '../driver/queue-settings.ts'
import { commandFor, pop, popLimited } from './pop.ts'
import { afterAcknowledging, turnedAway } from './pop-take.ts'

export interface PoppingVerbs {
  pop(queue: string, request?: PopRequest): Promise<PopOutcome>
}

/** It sends the same pop each time, so its answer is true at that moment, and its limit counts it once. */
export async function popOrWait(
  engine: Engine,
  queue: string,
  request: PopRequest = {},
): Promise<PopOutcome> {
  const { waitSeconds } = request
  const startMs = engine.clock.nowMs()
  const limit = popLimited(request)
  const first = await pop(engine, queue, request, limit)
  if (waitSeconds === undefined || first.kind === 'items') return first
  // The lock that the caller named is not acknowledged yet: its items could come back while this call waits.
  if (first.kind === 'locked' && request.acknowledge !== undefined) return first
  const untilMs = startMs + waitSeconds * 1_000
  const seat = await takeSeat(engine, queue, untilMs)
  if (seat === undefined) return { ...first, waitedMs: 0 }
  const acknowledged = first.kind === 'empty' ? first.itemsAcknowledged : undefined
  const sinceMs = engine.clock.nowMs()
  try {
    const { acknowledge: _, ...again } = request
    const waiting = waitFor(engine, queue, again, limit, untilMs)
    const last = await (acknowledged === undefined
      ? waiting
      : waitAfterAcknowledging(waiting, acknowledged))
    // At least 1, however short the wait was: 0 says that it did not wait.
    return { ...last, waitedMs: Math.max(1, engine.clock.nowMs() - sinceMs) }
  } finally {
    await leaveSeat(engine, queue, seat)
  }
}

async function waitAfterAcknowledging(
  waiting: Promise<PopOutcome>,
  itemsAcknowledged: number,
): Promise<PopOutcome> {
  try {
    return afterAcknowledging(await waiting, itemsAcknowledged)
  } catch (error) {
    if (isTurnedAway(error)) return turnedAway(itemsAcknowledged)
    throw QueueError.partly(error)
  }
}

/** The queue refuses pops for the moment. If the store fails instead, we cannot tell whether there was an item. */
const isTurnedAway = (error: unknown): boolean =>
  error instanceof QueueError &&
  error.outcome !== 'unknown' &&
  (error.code === 'RATE_LIMITED' || error.code === 'BUSY')

async function waitFor(
  engine: Engine,
  queue: string,
  request: PopRequest,
  limit: LimitedCall,
  untilMs: number,
): Promise<PopOutcome> {
  const { clock, random } = engine
  const { signal, waitSeconds = 0, receivedMs } = request
  let pausesMs = 0
  // Keep the key, if the call has one: an earlier request of the same call may have got the items.
  const command = commandFor(engine, queue, request, checkPop(request))
  for (let looks = 0; ; looks += 1) {
    const pauseMs = lookPauseMs(looks, untilMs - clock.nowMs(), random())
    await clock.sleep(pauseMs, signal)
    pausesMs += pauseMs
    // A clock that was set back must not hold up its caller.
    const hasWaited = clock.nowMs() >= untilMs || pausesMs > 1_000 * waitSeconds
    const isOver = signal?.aborted || hasWaited
    if (!isOver && !(await looksFree(engine, queue, command))) continue
    // The queue may have got a limit meanwhile. It compares our clock with this time: our pauses are no difference.
    if (receivedMs !== undefined) limit.receivedMs = receivedMs + pausesMs
    const outcome = await pop(engine, queue, request, limit)
    if (isOver || outcome.kind === 'items') return outcome
  }
}

/** A failed look does not matter: another one follows, and the pop at the end reports what is wrong. */
async function looksFree(engine: Engine, queue: string, command: PopCommand): Promise<boolean> {
  try {
    // We do not remember this record: it may be older than the one this engine knows.
    const row = await engine.dynamo.get(recordKey(queue), false)
    const record = row && decodeRecord(row as StoredRecord)
    if (record === undefined) return false
    return hasSomethingFor(record, command, engine.clock.nowMs())
  } catch (error) {
    if (!(error instanceof QueueError)) throw error
    return false
  }
}

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
async function takeSeat(engine: Engine, queue: string, untilMs: number): Promise<Seat | undefined> {
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

async function leaveSeat(engine: Engine, queue: string, seat: Seat): Promise<void> {
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
