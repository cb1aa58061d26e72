import { QueueError } from '../../../foundation/errors.ts'
import { checkQueueId } from '../../../foundation/queue-id.ts'
import { scheduleItemKey, scheduleKey, schedulesPartition } from '../../core/keys.ts'
import { checkScheduleName, type Schedule, type ScheduleItem } from '../../core/schedule.ts'
import { decodeSchedule, decodeScheduleItem } from '../../core/stored-schedule.ts'
import { busy, type Engine } from '../attempts/engine.ts'

/** How often a put may come between the reads of the two rows: nobody changes a schedule that often. */
const READS_MAX = 5

export async function readSchedule(
  { dynamo }: Engine,
  queue: string,
  name: string,
): Promise<Schedule | undefined> {
  const row = await dynamo.get(scheduleKey(queue, name), true)
  return row && decodeSchedule(row)
}

export const readScheduleItem = async (
  { dynamo }: Engine,
  { queue, name }: Pick<Schedule, 'queue' | 'name'>,
): Promise<ScheduleItem | undefined> =>
  decodeScheduleItem(await dynamo.get(scheduleItemKey(queue, name), true))

export type WholeSchedule = Schedule & { readonly text: string }

/** The schedule with its item. */
export async function schedule(
  engine: Engine,
  queue: string,
  name: string,
): Promise<WholeSchedule> {
  checkQueueId(queue)
  checkScheduleName(name)
  for (let read = 1; read <= READS_MAX; read += 1) {
    const found = await readSchedule(engine, queue, name)
    if (found === undefined) throw noSuchSchedule(queue, name)
    const item = await readScheduleItem(engine, found)
    if (item?.mark === found.itemMark) return { ...found, text: item.text }
  }
  throw busy(queue)
}

/** All schedules of a queue, by name, without their items. */
export async function schedules(engine: Engine, queue: string): Promise<readonly Schedule[]> {
  checkQueueId(queue)
  const found: Schedule[] = []
  let from: Record<string, unknown> | undefined
  do {
    const { rows, next } = await engine.dynamo.query({
      KeyConditionExpression: 'pk=:pk',
      ExpressionAttributeValues: { ':pk': schedulesPartition(queue) },
      ConsistentRead: true,
      ...(from !== undefined && { ExclusiveStartKey: from }),
    })
    found.push(...rows.map(decodeSchedule))
    from = next
  } while (from !== undefined)
  return found
}

export const noSuchSchedule = (queue: string, name: string): QueueError =>
  new QueueError('SCHEDULE_NOT_FOUND', `Queue "${queue}" has no schedule "${name}"`, {
    field: 'name',
  })
