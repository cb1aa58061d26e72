import { QueueError } from '../../../foundation/errors.ts'
import type { Schedule, ScheduleItem } from '../../core/schedule.ts'
import { deletion, type RowWrite, replacement } from '../../store/schedule-rows.ts'
import { busy, type Engine, pause } from '../attempts/engine.ts'
import { readSchedule } from './read-schedule.ts'

/** The sweeper may move a schedule on at any time, but rarely does. */
const ATTEMPTS_MAX = 12

export type Change =
  | { readonly kind: 'as-it-is' }
  /** If `after` is undefined, the schedule is deleted. */
  | { readonly kind: 'change'; readonly after: Schedule | undefined; readonly item?: ScheduleItem }

/** Goes into the transaction of a change, which happens only if this can. */
export type Fence = { readonly write: RowWrite; readonly refused: () => QueueError }

type Sent = { readonly before: Schedule | undefined; readonly after: Schedule | undefined }

/**
 * Reads, decides and writes. After a lost answer, the row tells: it has our tag; or the write can still land, and we
 * send it again; or the row has moved on without it.
 */
export async function changeSchedule(
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
    await pause(engine, attempt)
  }
  throw open === undefined ? busy(queue) : inDoubt(queue, name, open.cause)
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
