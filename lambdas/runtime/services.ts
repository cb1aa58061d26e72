import { createQueues, type Queues } from '../engine/queues.ts'
import type { DocumentPort } from '../foundation/dynamo.ts'
import type { ObjectPort } from '../foundation/objects.ts'
import type { Clock } from '../foundation/system.ts'
import { documentsFromEnvironment } from './dynamodb-client.ts'
import type { Environment } from './environment.ts'
import type { Log } from './log.ts'
import { objectsWhenNeeded } from './objects-when-needed.ts'
import { queuesOptions } from './queues-options.ts'

/**
 * The engine as the functions use it, made once when an environment starts. Every cold start loads what is
 * imported here, which does not include S3.
 */
export function createServices(environment: Environment, log: Log, clock?: Clock): Queues {
  const documents = documentsFromEnvironment()
  return createQueuesOn(environment, log, documents, objectsWhenNeeded(), clock)
}

/** The same on any store: a test brings its own. */
export const createQueuesOn = (
  environment: Environment,
  log: Log,
  documents: DocumentPort,
  objects: () => Promise<ObjectPort>,
  clock?: Clock,
): Queues => createQueues(queuesOptions(environment, log, documents, objects, clock))
