import type { PushItem } from '../../../lambdas/engine/queues.ts'
import { isQueueId } from '../../../lambdas/foundation/queue-id.ts'
import { readMessage } from '../../../lambdas/inbox/read-message.ts'
import { record } from '../../inbox/an-inbox.ts'
import type { Accepted } from './sqs.ts'

/** What must have come of all messages, by their order in SQS alone. */
export type Expected = {
  /** By queue and priority, in order. */
  readonly pushed: ReadonlyMap<string, readonly string[]>
  /** The same of their dead letters. */
  readonly dead: ReadonlyMap<string, readonly string[]>
  /** Of no queue. */
  readonly givenUp: readonly string[]
}

export const laneOf = (queue: string, priority = 0): string => `${queue}/${priority}`

export function expectedOf(accepted: readonly Accepted[]): Expected {
  const pushed = new Map<string, string[]>()
  const dead = new Map<string, string[]>()
  const givenUp: string[] = []
  const bodies = new Map<string, string>()
  const add = (to: Map<string, string[]>, key: string, text: string): void => {
    to.set(key, [...(to.get(key) ?? []), text])
  }
  for (const { queue, body, idempotencyKey } of accepted) {
    if (!isQueueId(queue)) {
      givenUp.push(body)
      continue
    }
    const { kind, items } = readMessage('', record(queue, 1, { body }), 0)
    const key = `${queue} ${idempotencyKey}`
    const first = idempotencyKey === undefined ? undefined : bodies.get(key)
    if (first === undefined) bodies.set(key, body)
    if (kind === 'refused' || (first !== undefined && first !== body)) {
      for (const { text, priority } of items) add(dead, laneOf(queue, priority), text)
      continue
    }
    if (first === undefined) pushAll(queue, items)
  }
  return { pushed, dead, givenUp }

  function pushAll(queue: string, items: readonly PushItem[]): void {
    for (const { text, priority } of items) add(pushed, laneOf(queue, priority), text)
  }
}
