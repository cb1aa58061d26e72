// What callers and deployments do to a schedule: put, pause, resume, run, delete. Each change is one transaction, on
// condition that the schedule's row is as we saw it; the sweeper may move it on at any time, and then we decide again.
// After a lost answer the row tells: it has our tag; or the write can still land, and we send it again; or the row has
// moved on without it; or somebody has changed it since, and nobody can tell. A deployment's change also has its fence
// in the transaction, so a deployment that a newer one has replaced changes nothing.

import { checkQueueId, QueueError } from '../../shared/errors.ts'
import { idsOf } from '../core/append.ts'
import type { Pushed } from '../core/check-requests.ts'
import { SCHEDULES_MAX } from '../core/limits.ts'
import {
  checkScheduleInput,
  checkScheduleName,
  type DeployedResult,
  type DeployedSchedule,
  definitionOf,
  isDefinedAlike,
  isDue,
  isTimedAlike,
  neverDue,
  type Schedule,
  type ScheduleInput,
  type ScheduleItem,
  type ScheduleName,
  type Times,
} from '../core/schedule.ts'
import type { Engine } from '../driver/engine.ts'
import { deletion, type RowWrite, replacement } from '../requests/schedule-rows.ts'
import { bringing, prepare } from '../storing/write-entries.ts'
import {
  noSuchSchedule,
  pushDue,
  readSchedule,
  readScheduleItem,
  schedule,
  schedules,
  timesOf,
  type WholeSchedule,
} from './push-due.ts'
import { append } from './send-append.ts'

type IfMatch = { readonly ifMatch?: string | undefined }

export interface ChangingSchedulesVerbs {
  /** Makes it, or replaces it as a whole. If its times stay the same, they go on. */
  putSchedule(
    queue: string,
    name: string,
    input: ScheduleInput,
    /** The tag that the schedule must have. */
    request?: IfMatch,
  ): Promise<Schedule & { readonly text: string }>
  /** Returns whether there was one. The items that it pushed stay. */
  deleteSchedule(queue: string, name: string, request?: IfMatch): Promise<boolean>
  /** Pushes its item now, once, paused or not; its times stay as they are. */
  runSchedule(queue: string, name: string): Promise<Pushed>
  pauseSchedule(queue: string, name: string): Promise<Schedule>
  resumeSchedule(queue: string, name: string): Promise<Schedule>
}

/** A tag; or `*` for any schedule, as long as there is one. */
type Match = { readonly ifMatch?: string | undefined }

/**
 * Makes the schedule, or replaces everything that a caller can set. Putting the same again changes nothing, except
 * that a deployment's schedule becomes the caller's.
 */
export async function putSchedule(
  engine: Engine,
  queue: string,
  name: string,
  input: ScheduleInput,
  { ifMatch }: Match = {},
): Promise<WholeSchedule> {
  const decide = putting(engine, queue, name, input)
  const after = await changeSchedule(engine, queue, name, async (before) => {
    checkMatch(queue, name, before, ifMatch)
    return decide(before)
  })
  return { ...(after as Schedule), text: input.text }
}

/**
 * A deployment's put. We mark it as such, so that a later deployment may delete it. We put even a schedule that has
 * ended: the app's code still has it, and that is not an error.
 */
export async function deploySchedule(
  engine: Engine,
  { queue, name, ...input }: DeployedSchedule,
  fence: Fence,
): Promise<DeployedResult> {
  const decide = putting(engine, queue, name, input, { deployed: true })
  const last: { before: Schedule | undefined; put: Put } = {
    before: undefined,
    put: { kind: 'as-it-is' },
  }
  const changing = async (before: Schedule | undefined) => {
    last.before = before
    last.put = await decide(before)
    return last.put
  }
  await changeSchedule(engine, queue, name, changing, fence)
  const { before, put } = last
  if (put.kind === 'as-it-is') return { queue, name, result: 'as_it_was' }
  if (before === undefined || before.deployed || put.isAlike) {
    return { queue, name, result: 'put' }
  }
  return { queue, name, result: 'replaced', before }
}

/** What a deployment does with a name that it no longer has. Schedules that callers put or changed stay. */
export async function withdrawSchedule(
  engine: Engine,
  { queue, name }: ScheduleName,
  fence: Fence,
): Promise<DeployedResult> {
  let result: 'deleted' | 'kept' | 'gone' = 'gone'
  const changing = async (before: Schedule | undefined): Promise<Change> => {
    if (before === undefined) result = 'gone'
    else result = before.deployed ? 'deleted' : 'kept'
    if (before?.deployed) await pushOwed(engine, before)
    return result === 'deleted' ? { kind: 'change', after: undefined } : { kind: 'as-it-is' }
  }
  await changeSchedule(engine, queue, name, changing, fence)
  return { queue, name, result }
}

/** Returns whether there was one. */
export async function deleteSchedule(
  engine: Engine,
  queue: string,
  name: string,
  { ifMatch }: Match = {},
): Promise<boolean> {
  checkQueueId(queue)
  checkScheduleName(name)
  let wasThere = false
  await changeSchedule(engine, queue, name, async (before) => {
    checkMatch(queue, name, before, ifMatch)
    wasThere = before !== undefined
    return wasThere ? { kind: 'change', after: undefined } : { kind: 'as-it-is' }
  })
  return wasThere
}

/** The schedule pushes nothing until somebody resumes it. */
export const pauseSchedule = (engine: Engine, queue: string, name: string): Promise<Schedule> =>
  changeThere(engine, queue, name, async (before) =>
    before.paused ? undefined : { ...before, paused: true },
  )

/**
 * The schedule goes on. Its rule decides about the occurrences missed meanwhile, however short the pause was: `skip`
 * begins with the next occurrence from now on, and `one` pushes the last that was due, on behalf of all. An occurrence
 * that waited counts as missed.
 */
export const resumeSchedule = (engine: Engine, queue: string, name: string): Promise<Schedule> =>
  changeThere(engine, queue, name, async (before) => {
    if (!before.paused) return undefined
    const nextMs = await resumedAt(before, engine.clock.nowMs())
    return { ...before, paused: false, nextMs, retryAtMs: undefined, refused: undefined }
  })

async function resumedAt(before: Schedule, nowMs: number): Promise<number | undefined> {
  const { nextMs, missed } = before
  if (nextMs === undefined || nextMs > nowMs || missed === 'all') return nextMs
  const times = await timesOf(before)
  return missed === 'skip' ? times.from(nowMs + 1) : Math.max(nextMs, ...times.before(nowMs + 1, 1))
}

async function changeThere(
  engine: Engine,
  queue: string,
  name: string,
  next: (before: Schedule) => Promise<Schedule | undefined>,
): Promise<Schedule> {
  checkQueueId(queue)
  checkScheduleName(name)
  const tag = engine.records.newMark()
  const changed = await changeSchedule(engine, queue, name, async (before) => {
    if (before === undefined) throw noSuchSchedule(queue, name)
    const after = await next(before)
    if (after === undefined) return { kind: 'as-it-is' }
    return { kind: 'change', after: { ...after, tag, version: before.version + 1 } }
  })
  return changed as Schedule
}

/** Pushes the schedule's item now, once, paused or not; its times stay as they are. */
export async function runSchedule(engine: Engine, queue: string, name: string): Promise<Pushed> {
  const { text, priority } = await schedule(engine, queue, name)
  const items = [{ text, priority }]
  const { addition } = await prepare(engine, queue, items)
  // The push limit is for callers' own pushes.
  const limit = { verb: 'push', pass: 'free', receivedMs: undefined } as const
  const appending = append(engine, queue, addition, { ...limit })
  const placed = await bringing(engine, queue, addition, appending)
  return { ids: idsOf(items, placed) }
}

/** `isAlike`: nothing changes but the owner. */
type Put = Change & { readonly isAlike?: boolean }

function putting(
  engine: Engine,
  queue: string,
  name: string,
  input: ScheduleInput,
  { deployed }: Pick<Schedule, 'deployed'> = {},
): (before: Schedule | undefined) => Promise<Put> {
  checkQueueId(queue)
  checkScheduleName(name)
  checkScheduleInput(input)
  const { text, endsAtMs } = input
  const tag = engine.records.newMark()
  return async (before) => {
    const nowMs = engine.clock.nowMs()
    const definition = definitionOf(input, before, nowMs)
    const times = await timesOf(definition)
    if (before === undefined) await checkCount(engine, queue)
    const isAlike =
      before !== undefined &&
      isDefinedAlike(definition, before) &&
      (await hasItem(engine, before, text))
    // Even an equal put says who owns the schedule from now on: otherwise a deployment would delete a schedule that a
    // caller has put.
    if (isAlike && before.deployed === deployed) return { kind: 'as-it-is' }
    const goesOn = before !== undefined && isGoingOn(definition, before, times, nowMs)
    if (deployed && before !== undefined && !goesOn) await pushOwed(engine, before)
    // Another process, whose clock may be ahead, has found that the last one was due.
    const nextMs = goesOn ? before.nextMs : times.from(Math.max(nowMs, before?.lastMs ?? 0) + 1)
    const mayHaveEnded = goesOn || (deployed && endsAtMs !== undefined)
    if (nextMs === undefined && !mayHaveEnded) throw neverDue(input)
    const put: Schedule = {
      ...definition,
      queue,
      name,
      tag,
      itemMark: tag,
      version: (before?.version ?? 0) + 1,
      paused: before?.paused ?? false,
      ...(deployed && { deployed }),
      ...(nextMs !== undefined && { nextMs }),
      ...(before?.lastMs !== undefined && { lastMs: before.lastMs }),
      // The waiting occurrence may be able to go after this change.
      ...(goesOn && before.retryAtMs !== undefined && { retryAtMs: nowMs }),
    }
    return { kind: 'change', after: put, item: { mark: tag, text }, isAlike }
  }
}

async function hasItem(engine: Engine, schedule: Schedule, text: string): Promise<boolean> {
  const item = await readScheduleItem(engine, schedule)
  return item?.mark === schedule.itemMark && item.text === text
}

/** Whether the times stay, or only later ones change: both have the occurrence that is due and not yet pushed. */
const isGoingOn = (
  definition: Pick<Schedule, 'timing' | 'startsAtMs' | 'endsAtMs' | 'priority' | 'missed'>,
  before: Schedule,
  times: Times,
  nowMs: number,
): boolean =>
  isTimedAlike(definition, before) ||
  (before.nextMs !== undefined &&
    before.nextMs <= nowMs &&
    times.from(before.nextMs) === before.nextMs)

/**
 * Pushes a due occurrence first, because no deployment may drop it. That moves the schedule on, so the change finds
 * another version, and we decide it again.
 */
async function pushOwed(engine: Engine, before: Schedule): Promise<void> {
  if (!isDue(before, engine.clock.nowMs())) return
  await pushDue(engine, before, Number.POSITIVE_INFINITY)
}

/** Callers who make schedules at the same moment may exceed the bound together. */
async function checkCount(engine: Engine, queue: string): Promise<void> {
  if ((await schedules(engine, queue)).length < SCHEDULES_MAX) return
  throw new QueueError(
    'TOO_MANY_SCHEDULES',
    `Cannot make another schedule for queue "${queue}" because it has ${SCHEDULES_MAX}`,
  )
}

function checkMatch(
  queue: string,
  name: string,
  before: Schedule | undefined,
  ifMatch: string | undefined,
): void {
  if (ifMatch === undefined || ifMatch === before?.tag) return
  if (ifMatch === '*' && before !== undefined) return
  throw new QueueError(
    'VERSION_MISMATCH',
    before === undefined
      ? `Cannot change schedule "${name}" of queue "${queue}" because there is none`
      : `Cannot change schedule "${name}" of queue "${queue}" because its tag is ${before.tag}, not ${ifMatch}`,
    { field: 'If-Match' },
  )
}

type Change =
  | { readonly kind: 'as-it-is' }
  /** If `after` is undefined, the schedule is deleted. */
  | { readonly kind: 'change'; readonly after: Schedule | undefined; readonly item?: ScheduleItem }

/** Goes into the transaction of a change, which happens only if this can. */
export type Fence = { readonly write: RowWrite; readonly refused: () => QueueError }

type Sent = { readonly before: Schedule | undefined; readonly after: Schedule | undefined }

/** The sweeper may move a schedule on at any time, but rarely does. */
const ATTEMPTS_MAX = 12

/** Reads, decides and writes, until the row is as decided. */
async function changeSchedule(
  engine: Engine,
  queue: string,
  name: string,
  decide: (before: Schedule | undefined) => Promise<Change>,
  fence?: Fence,
): Promise<Schedule | undefined> {
  let open: (Sent & { readonly cause: unknown }) | undefined
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    try {
      const before = await readSchedule(engine, queue, name)
      if (open !== undefined) {
        const fate = fateOf(open, before)
        if (fate === 'landed') return before
        if (fate === 'unknown') break
        if (fate === 'never') open = undefined
      }
      const decided = await decide(before)
      if (decided.kind === 'as-it-is') return before
      const { after } = decided
      const rows = rowsOf(engine, queue, name, before, decided)
      const written = await send(engine, rows, fence)
      if (written.kind === 'done') return after
      if (
        written.kind === 'failed' &&
        fence !== undefined &&
        written.reasons[rows.length]?.failed
      ) {
        throw fence.refused()
      }
      if (written.kind === 'unknown') open = { before, after, cause: written.cause }
    } catch (error) {
      if (open !== undefined) break
      throw error
    }
    await engine.records.pause(attempt)
  }
  throw open === undefined ? QueueError.busy(queue) : inDoubt(queue, name, open.cause)
}

function rowsOf(
  { dynamo, clock }: Engine,
  queue: string,
  name: string,
  before: Schedule | undefined,
  { after, item }: Extract<Change, { kind: 'change' }>,
): readonly RowWrite[] {
  return after === undefined
    ? deletion(dynamo.tableName, queue, name, before)
    : replacement(dynamo.tableName, before, after, clock.nowMs(), item)
}

const send = ({ dynamo }: Engine, rows: readonly RowWrite[], fence: Fence | undefined) =>
  dynamo.transact({ TransactItems: [...rows, ...(fence ? [fence.write] : [])] as never })

/** What the row says about a write whose answer was lost. */
function fateOf(sent: Sent, now: Schedule | undefined): 'landed' | 'open' | 'never' | 'unknown' {
  if (now?.tag === sent.after?.tag) return 'landed'
  // The write may have made it, and somebody may have deleted it since: made again, it would outlive that deletion.
  if (now === undefined) return 'unknown'
  if (now?.tag !== sent.before?.tag) return 'unknown'
  // The sweeper has moved it: our write would find another version.
  return now?.version === sent.before?.version ? 'open' : 'never'
}

const inDoubt = (queue: string, name: string, cause: unknown): QueueError =>
  new QueueError(
    'STORE_UNAVAILABLE',
    `Cannot tell whether schedule "${name}" of queue "${queue}" was changed, because the store's answer was lost`,
    { outcome: 'unknown', cause },
  )
