import { createEngine } from '../../engine/create-engine.ts'
import { wake } from '../../engine/operations/sweeping/wake.ts'
import type { Queues } from '../../engine/queues.ts'
import { documentsFromEnvironment } from '../../runtime/dynamodb-client.ts'
import type { Environment } from '../../runtime/environment.ts'
import type { Log } from '../../runtime/log.ts'
import { objectsWhenNeeded } from '../../runtime/objects-when-needed.ts'
import { queuesOptions } from '../../runtime/queues-options.ts'

/**
 * Loads only the parts of the engine that end locks, run schedules and join items, so it starts sooner. It loads S3
 * when a join first needs it.
 */
export function createWake(environment: Environment, log: Log): Pick<Queues, 'wake'> {
  const options = queuesOptions(environment, log, documentsFromEnvironment(), objectsWhenNeeded())
  const engine = createEngine(options)
  return { wake: (request) => wake(engine, request) }
}
