import type { QueuesOptions } from '../engine/create-engine.ts'
import type { DocumentPort } from '../foundation/dynamo.ts'
import type { ObjectPort } from '../foundation/objects.ts'
import type { Clock } from '../foundation/system.ts'
import { type Environment, numberIn, required } from './environment.ts'
import { describeError, type Log } from './log.ts'
import { meteredDocuments, meteredObjects } from './metered-ports.ts'
import { currentTally } from './tally.ts'
import { variables } from './variables.ts'

/** How the functions use the engine, or a part of it. */
export function queuesOptions(
  environment: Environment,
  log: Log,
  documents: DocumentPort,
  objects: () => Promise<ObjectPort>,
  clock?: Clock,
): QueuesOptions {
  const idempotencyTtlSeconds = numberIn(environment, variables.idempotencyTtlSeconds)
  const remindAfterSeconds = numberIn(environment, variables.remindAfterSeconds)
  return {
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
  }
}

type Moved = Parameters<NonNullable<QueuesOptions['onSegmentMoved']>>[0]

function countSegment({ kind, ms, failed }: Moved): void {
  const tally = currentTally()
  if (kind === 'load' && !failed) tally?.most('SegmentLoadTime', ms)
  if (failed) tally?.count(kind === 'load' ? 'SegmentLoadFailures' : 'SegmentOffloadFailures', 1)
}

/** Half of what a new account can run at once; raise this in an account that can run more. */
const WAITING_POPS = 5

/** Zero is valid here: then no pop waits. */
const waitingPopsIn = (environment: Environment): number =>
  environment[variables.waitingPops] === '0'
    ? 0
    : (numberIn(environment, variables.waitingPops) ?? WAITING_POPS)
