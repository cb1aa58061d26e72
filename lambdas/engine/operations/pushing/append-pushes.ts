import { checkQueueId } from '../../../foundation/queue-id.ts'
import { randomText } from '../../../foundation/random-text.ts'
import { goesByRecord, type Placed, withGuards } from '../../core/append.ts'
import { idsOf } from '../../core/item-ids.ts'
import type { LaterSeed } from '../../core/later.ts'
import {
  decodeNote,
  hasLostCount,
  isOver,
  NOTE_TAG_CHARACTERS,
  type Place,
  ttlOf,
} from '../../core/notes.ts'
import { dueSecondOf, mayBeLater, type PushItem } from '../../core/push-request.ts'
import type { QueueRecord } from '../../core/record.ts'
import { appliedAt } from '../../core/sequence.ts'
import { busy, type Engine, outcomeUnknown, readRecord } from '../attempts/engine.ts'
import { type LimitedCall, passKnownLimit } from '../attempts/pass-limit.ts'
import { firstConfiguration } from '../attempts/patterns.ts'
import { discardBatches, discardUnlessOpen, type Prepared, prepare } from '../lanes/entries.ts'
import { makeEmpty } from '../lanes/lanes.ts'
import { moveNotes } from '../lanes/seal.ts'
import { prepareLater } from '../later/prepare-later.ts'
import { append, appendNew } from './append.ts'
import type { PushOfMany, PushOutcome } from './calls.ts'
import { type Call, callsOf, groupOf, notesOf, pending } from './calls.ts'
import { fail, failUntimely, isTooMuch } from './failing.ts'
import { answerKnown } from './first-answers.ts'
import { landedAs } from './landed.ts'

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
    const placed = await orDiscard(
      engine,
      queue,
      prepared,
      append(engine, queue, prepared.addition, limit),
    )
    return answer(queue, group, placed)
  }
  const remembered = engine.memory.get(queue)
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
    const appended = await orDiscard(
      engine,
      queue,
      prepared,
      goesByRecord(addition)
        ? appendNew(engine, queue, addition, { newBy, remembered }, limit)
        : append(engine, queue, addition, limit).then((placed) => ({
            kind: 'placed' as const,
            placed,
          })),
    )
    if (appended.kind === 'placed') {
      const after = engine.memory.get(queue)
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
  throw busy(queue)
}

/** Whether a key's time is over, but its note still blocks the key's next push. */
const isExpiredIn = ({ clock }: Engine, { notes }: QueueRecord, calls: readonly Call[]): boolean =>
  calls.some(({ keyHash = '' }) => {
    const note = notes.get(keyHash)
    return note !== undefined && isOver(ttlOf(decodeNote(note)), clock.nowMs())
  })

/** Makes an empty queue first if there is none. A late copy of the append then finds another queue, or none. */
export async function recordOf(engine: Engine, queue: string): Promise<QueueRecord> {
  const record = await readRecord(engine, queue)
  if (record !== undefined) return record
  const made = await makeEmpty(engine, queue, await firstConfiguration(engine, queue))
  if (made.kind !== 'again' || made.record === undefined) throw busy(queue)
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
  const { later, ids } = await orDiscard(engine, queue, prepared, preparing)
  for (const [index, call] of calls.entries()) call.laterIds = ids[index] ?? new Map()
  if (later === undefined) return prepared
  return { ...prepared, addition: { ...prepared.addition, later, timed: true } }
}

async function orDiscard<T>(
  engine: Engine,
  queue: string,
  { addition }: Prepared,
  appended: Promise<T>,
): Promise<T> {
  return appended.catch(async (error: unknown) => {
    await discardUnlessOpen(engine, queue, addition, error)
    throw error
  })
}

/** Answers all calls in order: in each lane, the first call has the first place. */
function answer(queue: string, calls: readonly Call[], placed: Placed): void {
  const next = new Map(placed)
  for (const call of calls) {
    const { items } = call.push
    const isThere = items.every(
      ({ priority = 0 }, index) => call.laterIds.has(index) || next.has(priority),
    )
    call.outcome = isThere
      ? { kind: 'pushed', ids: idsOf(items, next, call.laterIds) }
      : { kind: 'failed', error: outcomeUnknown(queue, new Error('Its items are gone')) }
    moveOn(
      next,
      items.filter((_, index) => !call.laterIds.has(index)),
    )
  }
}

function moveOn(next: Map<number, Place>, items: readonly PushItem[]): void {
  for (const { priority = 0 } of items) {
    const place = next.get(priority)
    if (place !== undefined) next.set(priority, { ...place, start: place.start + 1 })
  }
}
