import { scheduleItemKey, scheduleKey } from '../core/keys.ts'
import type { Schedule, ScheduleItem } from '../core/schedule.ts'
import { encodeSchedule, encodeScheduleItem } from '../core/stored-schedule.ts'

/** An entry of a transaction. */
export type RowWrite =
  Readonly<Record<'Put' | 'Delete' | 'Update', object>> extends infer W ? Partial<W> : never

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

/** The tag is random, so a schedule that was deleted and made again has another; the version rises with each write. */
const asSeen = (seen: Schedule | undefined) =>
  seen === undefined
    ? { ConditionExpression: 'attribute_not_exists(pk)', ReturnValuesOnConditionCheckFailure }
    : {
        ConditionExpression: 'm=:m AND v=:v',
        ExpressionAttributeValues: { ':m': seen.tag, ':v': seen.version },
        ReturnValuesOnConditionCheckFailure,
      }
