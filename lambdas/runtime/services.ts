import { createQueues, type Queues } from '../engine/queues.ts'
import type { DocumentPort } from '../foundation/dynamo.ts'
import { answerTimeoutsMs } from '../foundation/network/answer-timeouts.ts'
import { createRequestHandler } from '../foundation/network/request-handler.ts'
import type { ObjectPort } from '../foundation/objects.ts'
import type { Clock } from '../foundation/system.ts'
import { documentsFromEnvironment } from './dynamodb-client.ts'
import { type Environment, numberIn, required } from './environment.ts'
import { describeError, type Log } from './log.ts'
import { meteredDocuments, meteredObjects } from './metered-ports.ts'
import { currentTally } from './tally.ts'
import { variables } from './variables.ts'

/**
 * The engine as the functions use it, made once when an environment starts. What is loaded here is
 * loaded at every cold start: S3 is not.
 */
export function createServices(environment: Environment, log: Log, clock?: Clock): Queues {
  const documents = documentsFromEnvironment()
  return createQueuesOn(environment, log, documents, objectsWhenNeeded(), clock)
}

/** The same on any store: a test brings its own. */
export function createQueuesOn(
  environment: Environment,
  log: Log,
  documents: DocumentPort,
  objects: () => Promise<ObjectPort>,
  clock?: Clock,
): Queues {
  const idempotencyTtlSeconds = numberIn(environment, variables.idempotencyTtlSeconds)
  const remindAfterSeconds = numberIn(environment, variables.remindAfterSeconds)
  return createQueues({
    tableName: required(environment, variables.table),
    bucketName: required(environment, variables.bucket),
    dynamodb: meteredDocuments(documents),
    s3: async () => meteredObjects(await objects()),
    ...(clock !== undefined && { clock }),
    ...(idempotencyTtlSeconds !== undefined && { idempotencyTtlSeconds }),
    events: environment[variables.events] !== 'off',
    waitingPopsMax: waitingPopsIn(environment),
    ...(remindAfterSeconds !== undefined && { remindAfterSeconds }),
    onSegmentMoved: countSegment,
    onItemsExpired: (items) => currentTally()?.count('ItemsExpired', items),
    onBackgroundError(error, { queue, step }) {
      const tally = currentTally()
      if (tally !== undefined) tally.backgroundFailures += 1
      log.write('warn', 'background work failed', { queue, step, error: describeError(error) })
    },
  })
}

type Moved = Parameters<NonNullable<Parameters<typeof createQueues>[0]['onSegmentMoved']>>[0]

function countSegment({ kind, ms, failed }: Moved): void {
  const tally = currentTally()
  if (kind === 'load' && !failed) tally?.most('SegmentLoadTime', ms)
  if (failed) tally?.count(kind === 'load' ? 'SegmentLoadFailures' : 'SegmentOffloadFailures', 1)
}

/** Half of what a new account can run at once: who has more says so. */
const WAITING_POPS = 5

/** Zero is a number here: no pop is held then. */
const waitingPopsIn = (environment: Environment): number =>
  environment[variables.waitingPops] === '0'
    ? 0
    : (numberIn(environment, variables.waitingPops) ?? WAITING_POPS)

function objectsWhenNeeded(): () => Promise<ObjectPort> {
  let made: Promise<ObjectPort> | undefined
  return () => {
    made ??= import('@aws-sdk/client-s3').then(({ S3Client }) => {
      const requestHandler = createRequestHandler({ answerTimeoutMs: answerTimeoutsMs.s3 })
      return new S3Client({ maxAttempts: 1, requestHandler }) as unknown as ObjectPort
    })
    // If the import failed, the next request that needs it tries again.
    made.catch(() => {
      made = undefined
    })
    return made
  }
}
