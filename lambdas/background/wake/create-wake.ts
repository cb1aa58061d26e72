import { createEngine } from '../../engine/create-engine.ts'
import { wake } from '../../engine/operations/sweeping/wake.ts'
import type { Queues } from '../../engine/queues.ts'
import { documentsFromEnvironment } from '../../runtime/dynamodb-client.ts'
import type { Environment } from '../../runtime/environment.ts'
import type { Log } from '../../runtime/log.ts'
import { queuesOptions } from '../../runtime/queues-options.ts'

/**
 * Of the engine only what ends locks and runs schedules: it starts the sooner. It never asks S3: what is large goes
 * into rows then, and the sweep makes room where that takes more.
 */
export function createWake(environment: Environment, log: Log): Pick<Queues, 'wake'> {
  const options = queuesOptions(environment, log, documentsFromEnvironment(), noObjects)
  const engine = createEngine(options)
  return { wake: (request) => wake(engine, request) }
}

const noObjects = async (): Promise<never> => {
  throw new Error('Wake has no business with S3')
}
