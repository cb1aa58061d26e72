import type { SQSEvent } from 'aws-lambda'
import { backgroundHandler } from '../background/background-handler.ts'
import { applyBatch } from '../inbox/apply-batch.ts'
import { applyFrom } from '../inbox/sqs.ts'
import { logOf, required } from '../runtime/environment.ts'
import { createServices } from '../runtime/services.ts'
import { variables } from '../runtime/variables.ts'

const { env } = process
const log = logOf(env)
const queues = createServices(env, log)
const port = applyFrom(required(env, variables.inbox), required(env, variables.inboxFailures))

export const handler = backgroundHandler('ApplyInbox', log, (event: SQSEvent, run) =>
  applyBatch(queues, port, event, run),
)
