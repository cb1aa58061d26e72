import type { DynamoDBStreamEvent } from 'aws-lambda'
import { logOf } from '../setup/environment.ts'
import { createServices } from '../setup/services.ts'
import { housekeepBatch } from '../upkeep/housekeep-batch.ts'
import { upkeepHandler } from '../upkeep/upkeep-handler.ts'

const log = logOf(process.env)
const queues = createServices(process.env, log)

export const handler = upkeepHandler('Housekeep', log, (event: DynamoDBStreamEvent, run) =>
  housekeepBatch(queues, event, run),
)
