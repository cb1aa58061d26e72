// Load, decide, commit, and start again if another writer was first: every verb works like this, and this file is the
// one that does it. A verb is a step: it sees the record and decides, and does nothing else. What follows from a
// decision is the same for all verbs, and happens here:
//
//   answer, refuse   what the record says. A record from memory may say neither (rule 7): this file
//                    reads the record and asks the step again.
//   look             the remembered record is not enough for a decision: read the current one.
//   read             the step needs items before it can go on (rule 4).
//   write            a fenced write. If another writer was first, there is another attempt, on the
//                    record that the winner left.
//   act              the verb's own requests: blind writes, waiting, help for others.
//
// Once an answer was lost, no error may claim that nothing has changed, until a step knows what became of that write.

import { QueueError } from '../../shared/errors.ts'
import { hasFree, type QueueRecord } from '../core/record.ts'
import { dryUpdate } from '../requests/blind-updates.ts'
import type { ItemsRead } from '../requests/item-reader.ts'
import {
  act,
  again,
  answer,
  asStored,
  type Decision,
  done,
  type Known,
  lost,
  type Outcome,
  refuse,
  type View,
} from './decision.ts'
import type { Engine } from './engine.ts'
import { type LimitedCall, passLimit } from './queue-settings.ts'

type Course<T> = {
  /**
   * What the first attempt sees. `memory-or-store`: the remembered record, or else the stored one; `memory`:
   * the remembered record, if any; `store`: the stored one; `nothing`: none; or what the caller knows already.
   */
  readonly from: 'memory-or-store' | 'memory' | 'store' | 'nothing' | Known
  readonly attemptsMax: number
  readonly extrasMax?: number
  /** Pauses begin with this lost race. Default: the first. */
  readonly pausesFrom?: number
  /** From this lost race on, it asks claims to stand back. */
  readonly holdsFrom?: number
  /** From this lost race on, it reads the record again after the pause, during which others have written too. */
  readonly looksFrom?: number
  /** From this time on, it sends nothing more between two attempts; the step may still answer. */
  readonly untilMs?: number
  /** The queue may have a limit for such calls. */
  readonly limit?: LimitedCall
  /** The answer when the attempts are used up. Default: the error "busy". */
  readonly exhausted?: (record: QueueRecord | undefined) => T
}

/** What a call knows between its attempts. */
type Run = {
  record: QueueRecord | undefined
  isCurrent: boolean
  losses: number
  extras: number
  /** The last decision carried out was only preparation for the verb's own work. */
  isExtra: boolean
  /** The first lost answer, while we do not know what became of it. */
  doubt: { readonly cause: unknown } | undefined
  /**
   * Reads that found items missing although the record, at the same version, says that they are there. If the version
   * has moved, housekeeping has moved the items, as it may at each segment of a long read: that does not count.
   */
  missing: number
}

/** Runs a verb, step by step, until one of its attempts succeeds. */
export async function attempts<T>(
  engine: Engine,
  queue: string,
  course: Course<T>,
  step: (view: View) => Decision<T>,
): Promise<T> {
  const { limit, attemptsMax, extrasMax = 0 } = course
  const run: Run = {
    ...(await firstView(engine, queue, course.from)),
    losses: 0,
    extras: 0,
    isExtra: false,
    doubt: undefined,
    missing: 0,
  }
  try {
    for (let attempt = 1; attempt <= attemptsMax; ) {
      if (limit !== undefined && run.record !== undefined) {
        await passLimit(engine, limit, run.record)
      }
      const decision = decide(step, viewOf(engine, run, limit, attempt))
      const outcome = await carryOut(engine, queue, run, decision)
      if (outcome.kind === 'done') return outcome.answer
      if (outcome.kind === 'refused') throw refusal(run, outcome.error)
      await prepareNext(engine, queue, run, course, outcome)
      if (!run.isExtra) attempt += 1
      else if (++run.extras > extrasMax) break
    }
    const lastView = viewOf(engine, run, limit, attemptsMax + 1)
    return lastWord(queue, course, run, decide(step, lastView))
  } catch (error) {
    if (run.doubt === undefined) throw error
    throw error instanceof QueueError && error.outcome === 'unknown'
      ? error
      : QueueError.unknown(queue, error)
  }
}

async function firstView(
  engine: Engine,
  queue: string,
  from: Course<unknown>['from'],
): Promise<Known> {
  if (typeof from !== 'string') return { record: from.record, isCurrent: from.isCurrent }
  const record = from === 'store' || from === 'nothing' ? undefined : engine.records.recall(queue)
  const isRead = from === 'store' || (from === 'memory-or-store' && record === undefined)
  return { record: isRead ? await engine.records.read(queue) : record, isCurrent: isRead }
}

const viewOf = (
  engine: Engine,
  run: Run,
  limit: LimitedCall | undefined,
  attempt: number,
): View => ({
  record: run.record,
  isCurrent: run.isCurrent,
  nowMs: engine.clock.nowMs(),
  attempt,
  losses: run.losses,
  pass: limit?.pass,
  inDoubt: run.doubt !== undefined,
})

/** An error that a step throws is a refusal, too, so that one made from a remembered record is not final. */
function decide<T>(step: (view: View) => Decision<T>, view: View): Decision<T> {
  try {
    return step(view)
  } catch (error) {
    if (error instanceof QueueError) return refuse(error)
    throw error
  }
}

async function carryOut<T>(
  engine: Engine,
  queue: string,
  run: Run,
  decision: Decision<T>,
): Promise<Outcome<T>> {
  // Rule 7: a remembered record may only lead to a write, which checks it.
  const isConclusion = decision.kind === 'answer' || decision.kind === 'refuse'
  run.isExtra = 'isExtra' in decision && decision.isExtra === true
  if (decision.kind === 'look' || (isConclusion && !run.isCurrent)) {
    return again(asStored(await engine.records.read(queue)))
  }
  switch (decision.kind) {
    case 'answer':
    case 'refuse':
      return done(conclude(run, decision))
    case 'read': {
      const { record } = run
      if (record === undefined) return { kind: 'missing', record }
      const read = await readFor(engine, record, decision)
      if (read?.kind === 'read') return carryOut(engine, queue, run, decision.next(read.entries))
      const { orElse } = decision
      return orElse ? carryOut(engine, queue, run, orElse) : { kind: 'missing', record }
    }
    case 'write': {
      const committed = await engine.records.commit(decision.change)
      if (committed.kind === 'lost') return lost(asStored(committed.current))
      // Only the verb's own write, not one that prepares for it, ends a series of lost races.
      if (!run.isExtra) run.losses = 0
      return decision.landed(committed.record)
    }
    case 'act': {
      const outcome = await decision.act()
      if (outcome.kind !== 'doubt') return outcome
      run.doubt ??= { cause: outcome.cause }
      return outcome.settle()
    }
    default:
      throw decision satisfies never
  }
}

/** The items that a step needs. If it can do without them, an error is reported, and the answer is undefined. */
async function readFor<T>(
  { items, onBackgroundError }: Engine,
  record: QueueRecord,
  { stretches, bytesMax, orElse }: Extract<Decision<T>, { kind: 'read' }>,
): Promise<ItemsRead | undefined> {
  try {
    return await items.read(record, stretches, bytesMax)
  } catch (error) {
    if (orElse === undefined || !(error instanceof QueueError)) throw error
    onBackgroundError(error, { queue: record.queue, step: 'read' })
    return undefined
  }
}

async function prepareNext<T>(
  engine: Engine,
  queue: string,
  run: Run,
  { pausesFrom = 1, holdsFrom, looksFrom, untilMs }: Course<T>,
  outcome: Exclude<Outcome<T>, { kind: 'done' | 'refused' }>,
): Promise<void> {
  if (outcome.kind === 'doubt') throw new Error('A doubt was left unsettled')
  const { kind } = outcome
  const known =
    kind === 'missing' ? asStored(await readAgain(engine, queue, run, outcome.record)) : outcome
  see(run, known)
  if (kind === 'again') return
  run.losses += 1
  if (run.losses >= pausesFrom) await engine.records.pause(run.losses)
  if (untilMs !== undefined && engine.clock.nowMs() >= untilMs) return
  if (looksFrom !== undefined && run.losses >= looksFrom) {
    see(run, asStored(await engine.records.read(queue)))
  }
  if (holdsFrom !== undefined && run.losses >= holdsFrom && run.record !== undefined) {
    see(run, asStored(await engine.records.hold(run.record)))
  }
}

function see(run: Run, { record, isCurrent }: Known): void {
  run.record = record
  run.isCurrent = isCurrent
}

const MISSING_MAX = 3

/** The record as it is now, after a read that did not find all items where this one says. */
async function readAgain(
  engine: Engine,
  queue: string,
  run: Run,
  record: QueueRecord | undefined,
): Promise<QueueRecord | undefined> {
  const current = await engine.records.read(queue)
  if (current?.born === record?.born && current?.version === record?.version) {
    run.missing += 1
    if (record !== undefined) engine.items.stillThere(record)
  }
  if (run.missing === MISSING_MAX) throw QueueError.unreadable(queue)
  return current
}

function conclude<T>(run: Run, decision: Extract<Decision<T>, { kind: 'answer' | 'refuse' }>): T {
  if (decision.kind === 'answer') return decision.answer
  throw decision.isFinal === true ? refusal(run, decision.error) : decision.error
}

/** Nothing is open any more, so we may tell the caller that nothing was changed. */
function refusal(run: Run, error: QueueError): QueueError {
  run.doubt = undefined
  return error
}

/** The step may still answer or refuse by the record that the last attempt left; we send nothing more. */
function lastWord<T>(queue: string, { exhausted }: Course<T>, run: Run, decision: Decision<T>): T {
  const isConclusion = decision.kind === 'answer' || decision.kind === 'refuse'
  if (isConclusion && run.isCurrent) return conclude(run, decision)
  if (exhausted !== undefined) return exhausted(run.record)
  throw QueueError.busy(queue)
}

/** Reads in all, while housekeeping moves the items from one place to another. */
const READS_MAX = 24

/** For verbs that only read: they can lose no race, so they never pause. */
export const readingCourse = (queue: string) => ({
  attemptsMax: READS_MAX,
  pausesFrom: Number.POSITIVE_INFINITY,
  exhausted(): never {
    throw QueueError.unreadable(queue)
  },
})

/** The store refuses the flag only if something came in between; mostly we still see it, and need not try again. */
const TRIES_MAX = 24

/**
 * Makes sure that a queue with nothing to pop says so in its record, because only then does the next
 * append make an event. The write that takes the last item mostly sets the flag; but a claim cannot know
 * that it took the last, and a pop that raced with appends did not set it. Returns a record that has
 * the flag, or something to pop.
 */
export async function leaveDry(engine: Engine, known: Known): Promise<QueueRecord | undefined> {
  const { record } = known
  if (!engine.events || record === undefined) return record
  return leaveDryFrom(engine, record.queue, known)
}

function leaveDryFrom(
  engine: Engine,
  queue: string,
  from: 'store' | Known,
): Promise<QueueRecord | undefined> {
  const course = { from, attemptsMax: TRIES_MAX, pausesFrom: 2 } as const
  return attempts<QueueRecord | undefined>(engine, queue, course, ({ record }) => {
    if (record === undefined || record.dry || hasFree(record)) {
      return answer(record)
    }
    return act(async () => {
      const written = await engine.records.update(queue, dryUpdate(record))
      // After a lost answer, the record shows whether the flag is set; setting it twice does no harm.
      const left = asStored(await engine.records.after(queue, written))
      return written.kind === 'done' ? again(left) : lost(left)
    })
  })
}

/**
 * The same once the answer is certain: we report a failure, and it changes nothing. Returns whether we know
 * in what state the queue is; if not, the answer makes the consumer ask again.
 */
export const leaveDryQuietly = (
  engine: Engine,
  record: QueueRecord | undefined,
): Promise<boolean> =>
  quietly(engine, record?.queue ?? '', () => leaveDry(engine, asStored(record)))

/**
 * The same after a transaction, which does not return the record it left: a claim may have taken the rest while the
 * transaction was on its way.
 */
export async function leaveDryUnseen(engine: Engine, queue: string): Promise<void> {
  if (engine.events) await quietly(engine, queue, () => leaveDryFrom(engine, queue, 'store'))
}

async function quietly(
  engine: Engine,
  queue: string,
  leave: () => Promise<unknown>,
): Promise<boolean> {
  try {
    await leave()
    return true
  } catch (error) {
    engine.onBackgroundError(error, { queue, step: 'leave-dry' })
    return false
  }
}
