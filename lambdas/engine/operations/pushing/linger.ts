import { QueueError } from '../../../foundation/errors.ts'
import { checkQueueId } from '../../../foundation/queue-id.ts'
import type { Outcome } from '../../../foundation/shared/linger/deliver.ts'
import type { Batching } from '../../../foundation/shared/linger/line.ts'
import { Lingering } from '../../../foundation/shared/linger/lingering.ts'
import { checkIdempotencyKey } from '../../core/pop-request.ts'
import { checkPush, type PushRequest } from '../../core/push-request.ts'
import type { Queues } from '../../queues.ts'
import type { Pushed } from '../../verbs.ts'
import type { Engine } from '../attempts/engine.ts'
import { appendPushes } from './append-pushes.ts'
import type { PushOutcome } from './calls.ts'
import { push, pushedBy } from './push.ts'

/** The verb `push`: sends each call by itself, or those that linger together. */
export function pushVerbs(
  engine: Engine,
  batching: Batching | undefined,
): Pick<Queues, 'push' | 'flush'> {
  if (batching === undefined) {
    return { push: (queue, request) => push(engine, queue, request), flush: async () => {} }
  }
  const lingering = lingeringOf(engine, batching)
  return {
    async push(queue, request) {
      const { items, idempotencyKey } = request
      checkQueueId(queue)
      checkPush(items)
      if (idempotencyKey !== undefined) checkIdempotencyKey(idempotencyKey)
      const bytes = items.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
      return lingering.push(queue, request, { items: items.length, bytes })
    },
    flush: () => lingering.flush(),
  }
}

const lingeringOf = (engine: Engine, batching: Batching) =>
  new Lingering<PushRequest, Pushed>(batching, {
    nowMs: () => engine.clock.nowMs(),
    sleep: (ms) => engine.clock.sleep(ms),
    async send(queue, requests) {
      const receivedMs = requests.find((request) => request.receivedMs !== undefined)?.receivedMs
      const outcomes = await appendPushes(engine, queue, requests, { receivedMs })
      return outcomes.map(outcomeOf)
    },
    // Each push has its own outcome, so an error that is thrown belongs to no single push.
    blame: () => 'all',
    givenUp: ({ reason }) => reason,
    tooMany: (message) => new QueueError('BUSY', message),
  })

function outcomeOf(outcome: PushOutcome): Outcome<Pushed> {
  try {
    return { kind: 'answer', answer: pushedBy(outcome) }
  } catch (error) {
    return { kind: 'error', error }
  }
}
