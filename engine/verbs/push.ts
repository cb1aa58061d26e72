// Pushes: which of several go into one append, and what each is answered. A push without a key, and with nothing for
// later, is one append by itself. Any other is pending until it is pushed, repeated (an earlier push had its key),
// applied (the queue has gone past its number in the sequence) or failed. The races, and what settles them:
//
//   two pushes with one key at once   an append passes only while its keys are new by the record that we looked at; who
//                                     loses looks again, and answers what the first one was answered
//   a key that is used again late     its old note leaves the record first, because it blocks the new one
//   a lost answer                     notes and receipts say whether it landed; if they cannot, the error says so
//   one of many that does not fit     the group is halved until it fails alone, or with those that need as much room

import { checkQueueId, QueueError } from '../../shared/errors.ts'
import { type Batching, Lingering, type Outcome } from '../../shared/linger.ts'
import { randomText } from '../../shared/system.ts'
import { goesByRecord, idsOf, type Placed, withGuards } from '../core/append.ts'
import {
  checkIdempotencyKey,
  checkPush,
  checkTimesAhead,
  dueSecondOf,
  mayBeLater,
  type Pushed,
  type PushItem,
  type PushRequest,
} from '../core/check-requests.ts'
import type { LaterSeed } from '../core/later.ts'
import type { QueueRecord } from '../core/record.ts'
import {
  appliedAt,
  decodeNote,
  hasLostCount,
  isForgotten,
  NOTE_TAG_CHARACTERS,
  ttlOf,
} from '../core/repeated-pushes.ts'
import type { Engine } from '../driver/engine.ts'
import { firstConfiguration, type LimitedCall, passKnownLimit } from '../driver/queue-settings.ts'
import { makeEmpty } from '../storing/make-lanes.ts'
import { moveNotes } from '../storing/seal.ts'
import {
  bringing,
  discardBatches,
  type Prepared,
  prepare,
  prepareLater,
} from '../storing/write-entries.ts'
import {
  answerKnown,
  type Call,
  callsOf,
  groupOf,
  isSameAs,
  itemsNow,
  landedAs,
  notesOf,
  type PushOfMany,
  type PushOutcome,
  pending,
} from './push-calls.ts'
import { append, appendNew } from './send-append.ts'

export interface PushingVerbs {
  push(queue: string, request: PushRequest): Promise<Pushed>
  /** Sends the pushes that linger, and resolves when all of them have their answers; it never rejects. */
  flush(): Promise<void>
}

/** The verb `push`: sends each call by itself, or those that linger together. */
export function pushVerbs(engine: Engine, batching: Batching | undefined): PushingVerbs {
  if (batching === undefined) {
    return { push: (queue, request) => push(engine, queue, request), flush: async () => {} }
  }
  const lingering = lingeringOf(engine, batching)
  return {
    async push(queue, request) {
      const { items, idempotencyKey } = request
      checkQueueId(queue)
      checkPush(items)
      if (idempotencyKey !== undefined) checkIdempotencyKey(idempotencyKey)
      const bytes = items.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
      return lingering.push(queue, request, { items: items.length, bytes })
    },
    flush: () => lingering.flush(),
  }
}

const lingeringOf = (engine: Engine, batching: Batching) =>
  new Lingering<PushRequest, Pushed>(batching, {
    nowMs: () => engine.clock.nowMs(),
    sleep: (ms) => engine.clock.sleep(ms),
    async send(queue, requests) {
      const receivedMs = requests.find((request) => request.receivedMs !== undefined)?.receivedMs
      const outcomes = await appendPushes(engine, queue, requests, { receivedMs })
      return outcomes.map(outcomeOf)
    },
    // Each push has its own outcome, so an error that is thrown belongs to no single push.
    blame: () => 'all',
    givenUp: ({ reason }) => reason,
    tooMany: (message) => new QueueError('BUSY', message),
  })

function outcomeOf(outcome: PushOutcome): Outcome<Pushed> {
  try {
    return { kind: 'answer', answer: pushedBy(outcome) }
  } catch (error) {
    return { kind: 'error', error }
  }
}

async function push(engine: Engine, queue: string, request: PushRequest): Promise<Pushed> {
  const { idempotencyKey, receivedMs } = request
  if (idempotencyKey !== undefined || request.items.some(mayBeLater)) {
    const [outcome] = await appendPushes(engine, queue, [request], request)
    return pushedBy(outcome)
  }
  checkQueueId(queue)
  checkPush(request.items)
  checkTimesAhead(request.items, engine.clock.nowMs())
  // Check this before storing any batch, so that a caller far above the limit costs nothing.
  const limit = await passKnownLimit(engine, queue, receivedMs)
  const prepared = await prepare(engine, queue, request.items)
  const appending = append(engine, queue, prepared.addition, limit)
  const placed = await bringing(engine, queue, prepared.addition, appending)
  return { ids: idsOf(request.items, placed) }
}

/** What the caller of one of several pushes gets: its answer, or its error. */
function pushedBy(outcome: PushOutcome | undefined): Pushed {
  switch (outcome?.kind) {
    case 'pushed':
      return { ids: outcome.ids }
    case 'repeated':
      return { ids: outcome.ids, repeated: true }
    case 'failed':
      throw outcome.error
    default:
      throw new Error('A push was neither made nor refused')
  }
}

/** How often others may be first with the same keys, or move them while we look. */
const LOOKS_MAX = 24

/**
 * Pushes all of these, in this order, in as few appends as possible: one, as a rule. A failing push does not harm the
 * others. But with a `sequence`, none may overtake one that failed, so all behind it fail alike. A push limit counts
 * each append as one call.
 */
export async function appendPushes(
  engine: Engine,
  queue: string,
  pushes: readonly PushOfMany[],
  { receivedMs }: { readonly receivedMs?: number | undefined } = {},
): Promise<readonly PushOutcome[]> {
  checkQueueId(queue)
  const calls = callsOf(engine, queue, pushes)
  await failUntimely(engine, queue, calls)
  let most = calls.length
  for (let group = groupOf(calls, most); group.length > 0; group = groupOf(calls, most)) {
    try {
      const limit = await passKnownLimit(engine, queue, receivedMs)
      await appendGroup(engine, queue, group, limit)
    } catch (error) {
      // A push that is too large for the queue must not harm the others.
      const left = pending(group)
      if (left.length > 1 && isTooMuch(error)) most = Math.ceil(left.length / 2)
      else await fail(engine, queue, calls, left, error)
    }
  }
  const failed = calls.find(({ outcome }) => outcome?.kind === 'failed')
  return calls.map(({ outcome }) => outcome ?? (failed?.outcome as PushOutcome))
}

/** Appends the new pushes of the group, and answers the others from their notes or receipts. */
async function appendGroup(
  engine: Engine,
  queue: string,
  group: readonly Call[],
  limit: LimitedCall,
): Promise<void> {
  if (group.every(({ isGuarded }) => !isGuarded)) {
    const prepared = await prepareAll(engine, queue, group)
    const appending = append(engine, queue, prepared.addition, limit)
    return answer(queue, group, await bringing(engine, queue, prepared.addition, appending))
  }
  const remembered = engine.records.recall(queue)
  // By its remembered record, the append would be refused again, which costs more than a look.
  let record = remembered && engine.behind.has(remembered) ? undefined : remembered
  let isBehind = false
  for (let look = 1; look <= LOOKS_MAX; look += 1) {
    const newBy = record ?? (await recordOf(engine, queue))
    isBehind ||= remembered !== undefined && hasLostCount(remembered, newBy)
    if (isExpiredIn(engine, newBy, pending(group))) {
      await moveNotes(engine, newBy)
      record = undefined
      continue
    }
    await answerKnown(engine, queue, pending(group), newBy)
    const left = pending(group)
    if (left.length === 0) return
    const prepared = await prepareAll(engine, queue, left, newBy.scheduled.seals)
    const { addition } = prepared
    const appended = await bringing(
      engine,
      queue,
      addition,
      goesByRecord(addition)
        ? appendNew(engine, queue, addition, newBy, limit)
        : append(engine, queue, addition, limit).then((placed) => ({
            kind: 'placed' as const,
            placed,
          })),
    )
    if (appended.kind === 'placed') {
      const after = engine.records.recall(queue)
      if (isBehind && after !== undefined) engine.behind.add(after)
      return answer(queue, left, appended.placed)
    }
    if (appended.inDoubt) {
      const landed = await landedAs(engine, queue, addition, newBy, appended.record)
      if (landed !== undefined) return answer(queue, left, landed)
    }
    // Their references can never appear. But inbox messages without keys leave no note: in doubt, nobody can tell
    // whether the number in the record is theirs, so their references may be there.
    const mayHaveLanded = appended.inDoubt && (addition.notes?.size ?? 0) === 0
    if (!mayHaveLanded) await discardBatches(engine, queue, addition)
    record = appended.record
  }
  throw QueueError.busy(queue)
}

/** Whether a key's time is over, but its note still blocks the key's next push. */
const isExpiredIn = ({ clock }: Engine, { notes }: QueueRecord, calls: readonly Call[]): boolean =>
  calls.some(({ keyHash = '' }) => {
    const note = notes.get(keyHash)
    return note !== undefined && isForgotten(ttlOf(decodeNote(note)), clock.nowMs())
  })

/** Makes an empty queue first if there is none. A late copy of the append then finds another queue, or none. */
export async function recordOf(engine: Engine, queue: string): Promise<QueueRecord> {
  const record = await engine.records.read(queue)
  if (record !== undefined) return record
  const made = await makeEmpty(engine, queue, await firstConfiguration(engine, queue))
  if (made.kind !== 'again' || made.record === undefined) throw QueueError.busy(queue)
  return made.record
}

async function prepareAll(
  engine: Engine,
  queue: string,
  calls: readonly Call[],
  seals = 0,
): Promise<Prepared> {
  const pushedAtMs = engine.clock.nowMs()
  const tag = randomText(engine.random, NOTE_TAG_CHARACTERS)
  const isNow = (item: PushItem) => dueSecondOf(item, pushedAtMs) === undefined
  const now = calls.flatMap(({ push }) => push.items.filter(isNow))
  const atOnce = await prepare(engine, queue, now, pushedAtMs)
  const prepared = await withLater(engine, queue, calls, atOnce, { pushedAtMs, tag, seals })
  const notes = notesOf(engine, calls, prepared, tag)
  const sequences = calls.flatMap(({ push: { sequence } }) => sequence ?? [])
  const [first, last = first] = [sequences[0], sequences.at(-1)]
  const sequence =
    first === undefined || last === undefined
      ? undefined
      : { first, last: appliedAt(last, prepared.pushedAtMs) }
  return { ...prepared, addition: withGuards(prepared.addition, notes, sequence) }
}

/** Adds the items that these calls schedule, and gives the calls their ids. */
async function withLater(
  engine: Engine,
  queue: string,
  calls: readonly Call[],
  prepared: Prepared,
  seed: LaterSeed,
): Promise<Prepared> {
  if (calls.every(({ push }) => !push.items.some(mayBeLater))) return prepared
  const pushes = calls.map(({ push: { items }, keyHash }) => ({
    items,
    keyHash: keyHash ?? randomText(engine.random, 8),
  }))
  const preparing = prepareLater(engine, queue, pushes, seed)
  const { later, ids } = await bringing(engine, queue, prepared.addition, preparing)
  for (const [index, call] of calls.entries()) call.laterIds = ids[index] ?? new Map()
  if (later === undefined) return prepared
  return { ...prepared, addition: { ...prepared.addition, later, timed: true } }
}

/** Answers all calls of an append in order: in each lane, the first call has the first place. */
function answer(queue: string, calls: readonly Call[], placed: Placed): void {
  const next = new Map(placed)
  for (const call of calls) {
    const { items } = call.push
    const isThere = items.every(
      ({ priority = 0 }, index) => call.laterIds.has(index) || next.has(priority),
    )
    call.outcome = isThere
      ? { kind: 'pushed', ids: idsOf(items, next, call.laterIds) }
      : { kind: 'failed', error: QueueError.unknown(queue, new Error('Its items are gone')) }
    for (const [index, { priority = 0 }] of items.entries()) {
      const place = next.get(priority)
      if (place === undefined || call.laterIds.has(index)) continue
      next.set(priority, { ...place, start: place.start + 1 })
    }
  }
}

/**
 * Fails pushes whose times are not valid now, unless they are repetitions: those get their answers, however late they
 * come. We make nothing for them, and only a strong read can say that a key is new (rule 7).
 */
async function failUntimely(engine: Engine, queue: string, calls: readonly Call[]): Promise<void> {
  const untimely = pending(calls).filter((call) => call.untimely !== undefined)
  if (untimely.length === 0) return
  try {
    await answerKnown(engine, queue, untimely, await engine.records.read(queue))
    for (const call of untimely) call.outcome ??= { kind: 'failed', error: call.untimely }
  } catch (error) {
    for (const call of untimely) call.outcome ??= { kind: 'failed', error }
  }
}

/** Fails these pushes, and those behind them that would fail as well. */
async function fail(
  engine: Engine,
  queue: string,
  calls: readonly Call[],
  failed: readonly Call[],
  error: unknown,
): Promise<void> {
  const isLikeOne = (call: Call) => failed.some((one) => isSameAs(call, one))
  const same = pending(calls).filter(isLikeOne)
  for (const call of [...failed, ...same]) call.outcome = { kind: 'failed', error }
  if (!(error instanceof QueueError)) return
  if (isTooMuch(error)) {
    if (error.code === 'QUEUE_FULL') await failAlike(engine, queue, calls, failed, error)
    return
  }
  // The error belongs to no single push: the store is out of reach, say, and each group would run into that again.
  const behind: PushOutcome = { kind: 'failed', error: unsent(error) }
  for (const call of pending(calls)) call.outcome = behind
}

/** The pushes behind one with an unknown outcome have not been sent. */
const unsent = (error: QueueError): QueueError =>
  error.outcome === 'unknown'
    ? new QueueError(error.code, 'The store is busy or out of reach; try again in a moment', {
        cause: error,
      })
    : error

/**
 * If there is no room for this push, there is none for others that need as much, unless a key shows that they are in.
 * Those that need none are never alike: items for later take up room only once they are due.
 */
async function failAlike(
  engine: Engine,
  queue: string,
  calls: readonly Call[],
  [first]: readonly Call[],
  error: QueueError,
): Promise<void> {
  const nowMs = engine.clock.nowMs()
  const itemsMin = Math.max(1, first === undefined ? 0 : itemsNow(first, nowMs))
  const alike = () => pending(calls).filter((call) => itemsNow(call, nowMs) >= itemsMin)
  try {
    if (alike().some(({ keyHash }) => keyHash !== undefined)) {
      // Not from memory: the answer to an older read may have come since (rule 7).
      await answerKnown(engine, queue, alike(), await engine.records.read(queue))
    }
  } catch (cause) {
    for (const call of pending(calls)) call.outcome = { kind: 'failed', error: cause }
  }
  for (const call of alike()) call.outcome = { kind: 'failed', error }
}

/** The push is too large for the queue; a smaller one may still fit. */
const isTooMuch = (error: unknown): boolean =>
  error instanceof QueueError &&
  error.outcome !== 'unknown' &&
  (error.code === 'QUEUE_FULL' || error.code === 'TOO_MANY_PRIORITIES')
