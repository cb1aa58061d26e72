import type { DocumentPort } from '../foundation/dynamo.ts'
import type { ObjectPort } from '../foundation/objects.ts'
import { currentTally, type Tally } from './tally.ts'

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

export function meteredObjects(inner: ObjectPort): ObjectPort {
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
