import type { DynamoDBStreamEvent } from 'aws-lambda'
import { backgroundHandler } from '../background/background-handler.ts'
import { housekeepBatch } from '../background/housekeeping/housekeep-batch.ts'
import { logOf } from '../runtime/environment.ts'
import { createServices } from '../runtime/services.ts'

const log = logOf(process.env)
const queues = createServices(process.env, log)

export const handler = backgroundHandler('Housekeep', log, (event: DynamoDBStreamEvent, run) =>
  housekeepBatch(queues, event, run),
)
