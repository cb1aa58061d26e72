import type { Queues } from '../../engine/queues.ts'
import { ok } from '../answer.ts'
import { endpoint } from '../endpoint.ts'
import { scheduleCall, schedulesCall } from './inspect.ts'
import { scheduleAnswer, scheduleBody } from './schedule-answers.ts'

export const scheduleEndpoints = (queues: Queues) => ({
  schedules: endpoint(schedulesCall, async ({ queue }) => {
    const schedules = await queues.schedules(queue)
    return ok({ schedules: schedules.map(scheduleBody) })
  }),

  schedule: endpoint(scheduleCall, async ({ queue, schedule }) =>
    scheduleAnswer(await queues.schedule(queue, schedule)),
  ),
})
