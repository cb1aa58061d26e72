import type { Queues } from '../../engine/queues.ts'
import { QueueError } from '../../foundation/errors.ts'
import { present } from '../../foundation/shared/present.ts'
import { ok } from '../answer.ts'
import { endpoint } from '../endpoint.ts'
import { isAny, tagFor } from '../if-match.ts'
import { deleteScheduleCall, putScheduleCall, scheduleActionCall } from '../schemas/schedules.ts'
import { changedAnswer, scheduleAnswer } from './schedule-answers.ts'

export const changeScheduleEndpoints = (queues: Queues) => {
  const matchOf = async (header: string | undefined, queue: string, name: string) => {
    // Unlike a configuration, a schedule may not exist, and then it does not match.
    if (header !== undefined && isAny(header)) return { ifMatch: '*' }
    return present({ ifMatch: await tagFor(header, () => tagIfThere(queues, queue, name)) })
  }

  return {
    putSchedule: endpoint(putScheduleCall, async ({ queue, schedule: name, body, header }) => {
      const input = present({
        cron: body.cron,
        timeZone: body.time_zone,
        everySeconds: body.every_seconds,
        text: body.item as string,
        priority: body.priority,
        startsAtMs: msOf(body.starts_at),
        endsAtMs: msOf(body.ends_at),
        missed: body.missed,
      })
      const match = await matchOf(header('if-match'), queue, name)
      return scheduleAnswer(await queues.putSchedule(queue, name, input, match))
    }),

    deleteSchedule: endpoint(deleteScheduleCall, async ({ queue, schedule: name, header }) => {
      const match = await matchOf(header('if-match'), queue, name)
      return ok({ success: true, deleted: await queues.deleteSchedule(queue, name, match) })
    }),

    runSchedule: endpoint(scheduleActionCall, async ({ queue, schedule: name, tally }) => {
      const { ids } = await queues.runSchedule(queue, name)
      tally.count('ItemsPushed', ids.length)
      return ok({ success: true, items_pushed: ids.length, ids })
    }),

    pauseSchedule: endpoint(scheduleActionCall, async ({ queue, schedule: name }) =>
      changedAnswer(await queues.pauseSchedule(queue, name)),
    ),

    resumeSchedule: endpoint(scheduleActionCall, async ({ queue, schedule: name }) =>
      changedAnswer(await queues.resumeSchedule(queue, name)),
    ),
  }
}

const tagIfThere = (queues: Queues, queue: string, name: string): Promise<string | undefined> =>
  queues.schedule(queue, name).then(
    ({ tag }) => tag,
    (error: unknown) => {
      if (error instanceof QueueError && error.code === 'SCHEDULE_NOT_FOUND') return undefined
      throw error
    },
  )

const msOf = (seconds: number | undefined): number | undefined =>
  seconds === undefined ? undefined : seconds * 1_000
