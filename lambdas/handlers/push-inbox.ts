import { pushEndpoints } from '../http/push.ts'
import { httpHandler } from '../http/stack.ts'
import { inboxOn } from '../inbox/send.ts'
import { sendTo } from '../inbox/sqs.ts'
import { logOf, required } from '../runtime/log.ts'
import { variables } from '../runtime/names.ts'
import { createServices } from '../runtime/services.ts'

const log = logOf(process.env)
const queues = createServices(process.env, log)
const inbox = inboxOn(sendTo(required(process.env, variables.inbox)))

export const handler = httpHandler('Push', log, pushEndpoints(queues, inbox))
