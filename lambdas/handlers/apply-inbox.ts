import type { SQSEvent } from 'aws-lambda'
import { applyBatch } from '../inbox/apply.ts'
import { applyFrom } from '../inbox/sqs.ts'
import { backgroundHandler, logOf, required } from '../runtime/log.ts'
import { variables } from '../runtime/names.ts'
import { createServices } from '../runtime/services.ts'

const { env } = process
const log = logOf(env)
const queues = createServices(env, log)
const port = applyFrom(required(env, variables.inbox), required(env, variables.inboxFailures))

export const handler = backgroundHandler('ApplyInbox', log, (event: SQSEvent, run) =>
  applyBatch(queues, port, event, run),
)
