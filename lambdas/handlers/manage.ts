import { manageEndpoints } from '../http/manage.ts'
import { scheduleEndpoints } from '../http/schedules.ts'
import { httpHandler } from '../http/stack.ts'
import { logOf } from '../runtime/log.ts'
import { createServices } from '../runtime/services.ts'

const log = logOf(process.env)
const queues = createServices(process.env, log)

export const handler = httpHandler('Manage', log, {
  ...manageEndpoints(queues),
  ...scheduleEndpoints(queues),
})
