import { createEngine } from '../../engine/create-engine.ts'
import { wake } from '../../engine/operations/sweeping/wake.ts'
import type { Queues } from '../../engine/queues.ts'
import { documentsFromEnvironment } from '../../runtime/dynamodb-client.ts'
import type { Environment } from '../../runtime/environment.ts'
import type { Log } from '../../runtime/log.ts'
import { objectsWhenNeeded } from '../../runtime/objects-when-needed.ts'
import { queuesOptions } from '../../runtime/queues-options.ts'

<<<<<<< HEAD
/** Of the engine only what a visit takes: it starts the sooner. S3 is for what joins its lanes from there. */
=======
/**
 * Of the engine only what ends locks, runs schedules, and lets items join: it starts the sooner. S3 is loaded when
 * what joins first needs it.
 */
>>>>>>> join-later
export function createWake(environment: Environment, log: Log): Pick<Queues, 'wake'> {
  const options = queuesOptions(environment, log, documentsFromEnvironment(), objectsWhenNeeded())
  const engine = createEngine(options)
  return { wake: (request) => wake(engine, request) }
}
