import type { Row } from '../../../foundation/dynamo.ts'
import { QueueError } from '../../../foundation/errors.ts'
import type { Key } from '../../../foundation/table.ts'
import { idsOf, type Placed } from '../../core/append.ts'
import type { Receipt } from '../../core/receipt.ts'
import type { Pushed, PushItem } from '../../verbs.ts'
import { done, type Outcome } from '../attempts/decision.ts'
import { type Engine, outcomeUnknown } from '../attempts/engine.ts'
import { discardBatches, type Prepared } from '../lanes/entries.ts'
import { locate } from './locate.ts'

// The rows that remember what a push with a key was answered.

/** One push with a key. */
export type Once = Prepared & {
  readonly queue: string
  readonly items: readonly PushItem[]
  readonly key: Key
  readonly hash: string
}

export function receiptOf(engine: Engine, once: Once, placed: Placed | undefined): Receipt {
  return {
    ...once.key,
    hash: once.hash,
    ttl: Math.ceil(engine.clock.nowMs() / 1000) + engine.idempotencyTtlSeconds,
    ...(placed !== undefined && {
      places: [...placed].map(([priority, { epoch, start }]) => [priority, epoch, start] as const),
    }),
  }
}

export function receiptPut(engine: Engine, receipt: Receipt): Row {
  return {
    Put: {
      TableName: engine.dynamo.tableName,
      Item: receipt,
      // DynamoDB may delete a receipt days late: once past its time, it counts as gone.
      ConditionExpression: 'attribute_not_exists(pk) OR #ttl<=:now',
      ExpressionAttributeNames: { '#ttl': 'ttl' },
      ExpressionAttributeValues: { ':now': Math.floor(engine.clock.nowMs() / 1000) },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    },
  }
}

/** The first answer, if there was one and it is still remembered. */
export async function answerOf(
  engine: Engine,
  once: Once,
  inDoubt: boolean,
): Promise<Outcome<Pushed> | undefined> {
  const row = (await engine.dynamo.get(once.key, true)) as Receipt | undefined
  if (row === undefined || row.ttl <= engine.clock.nowMs() / 1000) return undefined
  return answerAgain(engine, once, row, inDoubt)
}

export async function answerAgain(
  engine: Engine,
  once: Once,
  receipt: Receipt,
  inDoubt: boolean,
): Promise<Outcome<Pushed>> {
  // The key is another push's: ours did not happen, and never will.
  if (receipt.hash !== once.hash) return { kind: 'refused', error: conflict() }
  const answer =
    receipt.places === undefined
      ? await located(engine, once, receipt)
      : answerOfPlaces(once, receipt.places)
  // The batches of this call belong to nobody: the first call had its own.
  if (!inDoubt) await discardBatches(engine, once.queue, once.addition)
  // Not if this call itself may have pushed them, with an answer that got lost.
  return done(inDoubt ? answer : { ...answer, repeated: true })
}

const conflict = (): QueueError =>
  new QueueError(
    'IDEMPOTENCY_CONFLICT',
    'Cannot push with this Idempotency-Key because it was used with another body',
    { field: 'Idempotency-Key' },
  )

/**
 * Finds where a blind append went, and completes its receipt. The call that completes it first decides
 * every answer: another call with this key may have looked earlier, and have seen more.
 */
export async function located(engine: Engine, once: Once, receipt: Receipt): Promise<Pushed> {
  const placed = await locate(engine, once.queue, receipt.search ?? [])
  // Popped and trimmed by now: it happened, and there is nothing left that an id could name.
  const found = [...(placed ?? [])].map(([p, { epoch, start }]) => [p, epoch, start] as const)
  const written = await engine.dynamo.update(once.key, {
    UpdateExpression: 'SET places=:p',
    ConditionExpression: '#h=:h AND attribute_not_exists(places)',
    ExpressionAttributeNames: { '#h': 'hash' },
    ExpressionAttributeValues: { ':p': found, ':h': once.hash },
  })
  if (written.kind === 'unknown' && placed === undefined) {
    throw outcomeUnknown(once.queue, written.cause)
  }
  const decided = written.kind === 'failed' ? (written.row as Receipt | undefined) : undefined
  return answerOfPlaces(once, decided?.places ?? found)
}

function answerOfPlaces(once: Once, places: NonNullable<Receipt['places']>): Pushed {
  if (places.length === 0) return { ids: [] }
  const placed = new Map(places.map(([priority, epoch, start]) => [priority, { epoch, start }]))
  return { ids: idsOf(once.items, placed) }
}
