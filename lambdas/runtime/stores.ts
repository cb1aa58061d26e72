// The stores as the functions use them, and the engine's options from the environment. Each request counts for the
// invocation that sends it.

import { createRequestHandler } from '../../aws/connections.ts'
import type { DocumentPort } from '../../aws/dynamo.ts'
import { answerTimeoutsMs } from '../../aws/failures.ts'
import { createLeanDynamodb } from '../../aws/lean-client.ts'
import type { ObjectPort } from '../../aws/objects.ts'
import type { QueuesOptions } from '../../engine/create-engine.ts'
import type { Clock } from '../../shared/system.ts'
import {
  currentTally,
  describeError,
  type Environment,
  type Log,
  numberIn,
  required,
  type Tally,
} from './log.ts'
import { variables } from './names.ts'

/** DynamoDB as the functions use it: nothing of the SDK, which was most of a call and of a cold start. */
export const documentsFromEnvironment = (): DocumentPort => createLeanDynamodb()

type Capacity = { readonly CapacityUnits?: number }
type Answer = { readonly ConsumedCapacity?: Capacity | readonly Capacity[] }
type Input = { ReturnConsumedCapacity?: string; Key?: unknown }

/**
 * Counts the requests to DynamoDB. Each asks for its consumed capacity, which costs a few bytes of the
 * answer: TOTAL, because nobody acts on the share of an index. DynamoDB bills a refused condition but does not
 * report its units; those requests show as conflicts.
 */
export function meteredDocuments(inner: DocumentPort): DocumentPort {
  return {
    async send(command: never) {
      const tally = currentTally()
      if (tally === undefined) return inner.send(command)
      const { input } = command as { input: Input }
      // The engine makes a new command for each request, so we may change this one.
      input.ReturnConsumedCapacity = 'TOTAL'
      tally.dynamodbRequests += 1
      try {
        const answer = (await inner.send(command)) as Answer
        addUnits(tally, isRead(input), answer.ConsumedCapacity)
        return answer
      } catch (error) {
        if (lostRace(error)) tally.conflicts += 1
        throw error
      }
    },
  }
}

function meteredObjects(inner: ObjectPort): ObjectPort {
  return {
    send(command: never) {
      const tally = currentTally()
      if (tally !== undefined) tally.s3Requests += 1
      return inner.send(command)
    },
  }
}

/** Goes by the input, because class names do not survive bundling. Only reads can be consistent. */
const isRead = (input: object): boolean =>
  'ConsistentRead' in input || 'KeyConditionExpression' in input || isBatchGet(input)

function isBatchGet(input: object): boolean {
  const { RequestItems } = input as { RequestItems?: Record<string, unknown> }
  if (RequestItems === undefined) return false
  return Object.values(RequestItems).some((request) => !Array.isArray(request))
}

function addUnits(tally: Tally, read: boolean, consumed: Answer['ConsumedCapacity']): void {
  if (consumed === undefined) return
  const all = Array.isArray(consumed) ? (consumed as Capacity[]) : [consumed as Capacity]
  for (const { CapacityUnits = 0 } of all) {
    if (read) tally.readUnits += CapacityUnits
    else tally.writeUnits += CapacityUnits
  }
}

const conflicts = new Set([
  'ConditionalCheckFailedException',
  'TransactionCanceledException',
  'TransactionConflictException',
])

/** A condition failed or a transaction was in the way: another writer was first. */
const lostRace = (error: unknown): boolean => error instanceof Error && conflicts.has(error.name)

/** S3 as the functions use it: loaded by the first request that needs it. */
export function objectsWhenNeeded(): () => Promise<ObjectPort> {
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
