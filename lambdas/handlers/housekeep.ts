import type { DynamoDBStreamEvent } from 'aws-lambda'
import { backgroundHandler } from '../background/background-handler.ts'
import { housekeepBatch } from '../background/housekeeping/housekeep-batch.ts'
import { wakerIn } from '../background/wake/waker.ts'
import { logOf } from '../runtime/environment.ts'
import { createServices } from '../runtime/services.ts'

const log = logOf(process.env)
const queues = createServices(process.env, log)
const wake = wakerIn(process.env)

export const handler = backgroundHandler('Housekeep', log, (event: DynamoDBStreamEvent, run) =>
  housekeepBatch(queues, event, run, wake),
)
