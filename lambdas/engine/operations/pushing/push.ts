import { checkQueueId } from '../../../foundation/queue-id.ts'
import { idsOf } from '../../core/item-ids.ts'
import {
  checkPush,
  checkTimesAhead,
  mayBeLater,
  type PushRequest,
} from '../../core/push-request.ts'
import type { Pushed } from '../../verbs.ts'
import type { Engine } from '../attempts/engine.ts'
import { passKnownLimit } from '../attempts/pass-limit.ts'
import { discardUnlessOpen, prepare } from '../lanes/entries.ts'
import { append } from './append.ts'
import { appendPushes } from './append-pushes.ts'
import type { PushOutcome } from './calls.ts'

export async function push(engine: Engine, queue: string, request: PushRequest): Promise<Pushed> {
  const { idempotencyKey, receivedMs } = request
  if (idempotencyKey !== undefined || request.items.some(mayBeLater))
    return pushOnce(engine, queue, request)
  checkQueueId(queue)
  checkPush(request.items)
  checkTimesAhead(request.items, engine.clock.nowMs())
  // Check this before storing any batch, so that a caller far above the limit costs nothing.
  const limit = await passKnownLimit(engine, queue, receivedMs)
  const { addition } = await prepare(engine, queue, request.items)
  const placed = await append(engine, queue, addition, limit).catch(async (error: unknown) => {
    await discardUnlessOpen(engine, queue, addition, error)
    throw error
  })
  return { ids: idsOf(request.items, placed) }
}

async function pushOnce(engine: Engine, queue: string, request: PushRequest): Promise<Pushed> {
  const [outcome] = await appendPushes(engine, queue, [request], request)
  return pushedBy(outcome)
}

/** The answer of one of several pushes; throws its error if it failed. */
export function pushedBy(outcome: PushOutcome | undefined): Pushed {
  switch (outcome?.kind) {
    case 'pushed':
      return { ids: outcome.ids }
    case 'repeated':
      return { ids: outcome.ids, repeated: true }
    case 'failed':
      throw outcome.error
    default:
      throw new Error('A push was neither made nor refused')
  }
}
