import type { DynamoDBStreamEvent } from 'aws-lambda'
import { wakerIn } from '../background/call-wake.ts'
import { housekeepBatch } from '../background/housekeep.ts'
import { backgroundHandler, logOf } from '../runtime/log.ts'
import { createServices } from '../runtime/services.ts'

const log = logOf(process.env)
const queues = createServices(process.env, log)
const wake = wakerIn(process.env)

export const handler = backgroundHandler('Housekeep', log, (event: DynamoDBStreamEvent, run) =>
  housekeepBatch(queues, event, run, wake),
)
