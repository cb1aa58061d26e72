import type { DocumentPort } from '../../aws/dynamo.ts'
import type { ObjectPort } from '../../aws/objects.ts'
import { createQueues, type Queues } from '../../engine/queues.ts'
import type { Clock } from '../../shared/system.ts'
import type { Environment, Log } from './log.ts'
import { documentsFromEnvironment, objectsWhenNeeded, queuesOptions } from './stores.ts'

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
