// The whole service in this process, on a store of the test's choice.

import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import type { Clock, DocumentPort } from '../../../aws/dynamo.ts'
import type { ObjectPort } from '../../../aws/objects.ts'
import type { Queues } from '../../../engine/queues.ts'
import { healthEndpoints } from '../../../lambdas/http/health.ts'
import { inspectEndpoints } from '../../../lambdas/http/inspect.ts'
import { manageEndpoints } from '../../../lambdas/http/manage.ts'
import { popEndpoints } from '../../../lambdas/http/pop.ts'
import { pushEndpoints } from '../../../lambdas/http/push.ts'
import { rateEndpoints } from '../../../lambdas/http/rate.ts'
import { scheduleEndpoints } from '../../../lambdas/http/schedules.ts'
import { settleEndpoints } from '../../../lambdas/http/settle.ts'
import { httpHandler } from '../../../lambdas/http/stack.ts'
import { createLog, type Log } from '../../../lambdas/runtime/log.ts'
import { createRateLimitsOn } from '../../../lambdas/runtime/rate-services.ts'
import { createQueuesOn } from '../../../lambdas/runtime/services.ts'
import type { RateLimits } from '../../../rate/rate-limits.ts'
import { startEmbedded } from '../../../testing/index.ts'
import { createSimulatedClient } from '../../../testing/simulated/network.ts'
import { SimulatedStore } from '../../../testing/simulated/store.ts'
import type { CaseTools } from './call.ts'
import { type Handlers, type HttpFunctionName, handlerCall } from './handler-call.ts'

export type Service = CaseTools & {
  readonly queues: Queues
  readonly handlers: Handlers
  /** What was logged, a line each. */
  readonly lines: string[]
  close(): Promise<void>
}

/** Names that no answer may tell. */
export const TABLE = 'secret-table-name'
export const BUCKET = 'secret-bucket-name'
const environment = { PUSHPOP_TABLE: TABLE, PUSHPOP_BUCKET: BUCKET }

/** By function. */
export const endpointsOn = (queues: Queues, limits: RateLimits) => ({
  Push: pushEndpoints(queues),
  Pop: popEndpoints(queues),
  Settle: settleEndpoints(queues),
  Inspect: inspectEndpoints(queues),
  Manage: { ...manageEndpoints(queues), ...scheduleEndpoints(queues) },
  Rate: rateEndpoints(limits),
  Health: healthEndpoints(),
})

export const handlersOn = (queues: Queues, log: Log, limits = {} as RateLimits): Handlers =>
  Object.fromEntries(
    Object.entries(endpointsOn(queues, limits)).map(([name, endpoints]) => [
      name,
      httpHandler(name as HttpFunctionName, log, endpoints),
    ]),
  ) as Handlers

function serviceOn(
  documents: DocumentPort,
  objects: ObjectPort,
  close: () => Promise<void> = async () => {},
  clock?: Clock,
): Service {
  const lines: string[] = []
  const log = createLog({
    level: 'info',
    service: 'PushPop',
    write: (line) => {
      lines.push(line)
    },
  })
  const queues = createQueuesOn(environment, log, documents, async () => objects)
  const limits = createRateLimitsOn(environment, documents, clock)
  const handlers = handlersOn(queues, log, limits)
  let made = 0
  return {
    queues,
    handlers,
    lines,
    close,
    call: handlerCall(handlers),
    queue() {
      made += 1
      return `queue-${made}`
    },
    pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    sweep: () => queues.returnExpiredLocks(),
    housekeep: (queue) => queues.housekeep(queue),
  }
}

export async function embeddedService(): Promise<Service> {
  // The cases look for these names in answers and logs, so it is always the embedded one.
  const embedded = await startEmbedded({ environment: {} })
  await Promise.all([embedded.createTable(TABLE), embedded.createBucket(BUCKET)])
  const documents = DynamoDBDocumentClient.from(embedded.dynamodb) as unknown as DocumentPort
  return serviceOn(documents, embedded.s3 as unknown as ObjectPort, () => embedded.stop())
}

/** In memory and on one thread: for a hundred thousand requests in less than a minute. */
export function simulatedService(): Service {
  const names = { tableName: TABLE, bucketName: BUCKET }
  const store = new SimulatedStore({ ...names, nowMs: () => Date.now() })
  const { dynamodb, s3 } = createSimulatedClient(store)
  // Nobody is held: a hundred thousand requests would wait for some of them.
  const clock = { nowMs: () => Date.now(), sleep: async () => {} }
  const documents = dynamodb as unknown as DocumentPort
  return serviceOn(documents, s3 as unknown as ObjectPort, undefined, clock)
}
