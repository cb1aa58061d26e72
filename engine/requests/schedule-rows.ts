// The row of a schedule, and the row of the item that it pushes. A write names the tag and the version that it has
// seen. The tag is random, so a schedule that was deleted and made again has another; the version rises with each
// write. Of two processes that change a schedule or push its occurrence at once, only one passes.

import type { Row } from '../../aws/table.ts'
import { QueueError } from '../../shared/errors.ts'
import { present } from '../../shared/wire.ts'
import { queueOfSchedules, scheduleItemKey, scheduleKey, shardOf } from '../core/keys.ts'
import { isNear } from '../core/record.ts'
import { checkAtOf, type Missed, type Schedule, type ScheduleItem } from '../core/schedule.ts'

/** An entry of a transaction. */
export type RowWrite = Partial<Readonly<Record<'Put' | 'Delete' | 'Update', object>>>

/**
 * The schedule's row, on the condition that it is as we saw it: no caller has put, paused or deleted it since, and
 * no other sweeper has pushed its occurrence.
 */
export function replacement(
  TableName: string,
  before: Schedule | undefined,
  after: Schedule,
  nowMs: number,
  item?: ScheduleItem,
): readonly RowWrite[] {
  const own = { Put: { TableName, Item: encodeSchedule(after, nowMs), ...asSeen(before) } }
  if (item === undefined) return [own]
  return [own, { Put: { TableName, Item: encodeScheduleItem(after.queue, after.name, item) } }]
}

export const deletion = (
  TableName: string,
  queue: string,
  name: string,
  before: Schedule | undefined,
): readonly RowWrite[] => [
  { Delete: { TableName, Key: scheduleKey(queue, name), ...asSeen(before) } },
  { Delete: { TableName, Key: scheduleItemKey(queue, name) } },
]

const ReturnValuesOnConditionCheckFailure = 'ALL_OLD'

const asSeen = (seen: Schedule | undefined) =>
  seen === undefined
    ? { ConditionExpression: 'attribute_not_exists(pk)', ReturnValuesOnConditionCheckFailure }
    : {
        ConditionExpression: 'm=:m AND v=:v',
        ExpressionAttributeValues: { ':m': seen.tag, ':v': seen.version },
        ReturnValuesOnConditionCheckFailure,
      }

type Stored = {
  readonly pk: string
  readonly sk: string
  readonly shard: number
  /** The tag, the version, and the mark of the item. */
  readonly m: string
  readonly v: number
  readonly i: string
  /** [expression, time zone], or [seconds, base] */
  readonly t: readonly [string, string] | readonly [number, number]
  readonly p: number
  readonly w: Missed
  readonly from?: number
  readonly to?: number
  readonly off?: 'y'
  /** A deployment put it. */
  readonly dep?: 'y'
  readonly next?: number
  readonly last?: number
  readonly retry?: number
  readonly why?: string
  readonly checkAt?: number
  /** The stream must announce `checkAt`, because it is near. */
  readonly wk?: 'y'
  /** Reserved for a future format. */
  readonly fm?: number
}

/** Every write of a schedule's row uses this: nothing else sets its `checkAt`. */
function encodeSchedule(schedule: Schedule, nowMs: number): Row {
  const { queue, name, timing } = schedule
  const checkAt = checkAtOf(schedule)
  return present({
    ...scheduleKey(queue, name),
    shard: shardOf(queue),
    m: schedule.tag,
    v: schedule.version,
    i: schedule.itemMark,
    t: 'cron' in timing ? [timing.cron, timing.timeZone] : [timing.everySeconds, timing.baseMs],
    p: schedule.priority,
    w: schedule.missed,
    from: schedule.startsAtMs,
    to: schedule.endsAtMs,
    off: schedule.paused ? ('y' as const) : undefined,
    dep: schedule.deployed ? ('y' as const) : undefined,
    next: schedule.nextMs,
    last: schedule.lastMs,
    retry: schedule.retryAtMs,
    why: schedule.refused,
    checkAt,
    wk: isNear(checkAt, nowMs) ? ('y' as const) : undefined,
  } satisfies { [K in keyof Stored]: Stored[K] | undefined })
}

export function decodeSchedule(row: Row): Schedule {
  const stored = row as Stored
  const queue = queueOfSchedules(stored.pk) as string
  const name = stored.sk
  if (stored.fm !== undefined) throw unknownFormat(queue, name)
  const [first, second] = stored.t
  return {
    queue,
    name,
    tag: stored.m,
    version: stored.v,
    itemMark: stored.i,
    timing:
      typeof first === 'string'
        ? { cron: first, timeZone: second as string }
        : { everySeconds: first, baseMs: second as number },
    priority: stored.p,
    missed: stored.w,
    paused: stored.off !== undefined,
    ...present({
      deployed: stored.dep === undefined ? undefined : (true as const),
      startsAtMs: stored.from,
      endsAtMs: stored.to,
      nextMs: stored.next,
      lastMs: stored.last,
      retryAtMs: stored.retry,
      refused: stored.why,
    }),
  }
}

const unknownFormat = (queue: string, name: string): QueueError =>
  new QueueError(
    'FORMAT_UNKNOWN',
    `Cannot use schedule "${name}" of queue "${queue}" because a newer PushPop has written it: deploy the newer version here as well`,
  )

const encodeScheduleItem = (queue: string, name: string, { mark, text }: ScheduleItem): Row => ({
  ...scheduleItemKey(queue, name),
  m: mark,
  d: text,
})

export function decodeScheduleItem(row: Row | undefined): ScheduleItem | undefined {
  if (row === undefined) return undefined
  const { m, d } = row as { readonly m: string; readonly d: string }
  return { mark: m, text: d }
}
