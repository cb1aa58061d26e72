import type { PushItem } from '../../../lambdas/engine/queues.ts'
import { isDeadLetterQueue, isQueueId } from '../../../lambdas/foundation/queue-id.ts'

// What must have come of everything, by the producers' own account. The code under test reads no message here.

/** What a producer sent: a push, or text that is none. */
export type Sent = {
  readonly queue: string
  readonly items: readonly PushItem[]
  readonly idempotencyKey?: string | undefined
  /** That it is no push: these are its dead letters. */
  readonly isNoPush?: true
  /** What its sender heard of it. */
  answer?: 'accepted' | 'refused' | 'unknown' | 'pushed'
}

/** What must have come of all messages, by their order in SQS. */
export type Expected = {
  /** By queue and priority, in order. */
  readonly pushed: ReadonlyMap<string, readonly string[]>
  /** The same of their dead letters. */
  readonly dead: ReadonlyMap<string, readonly string[]>
  /** Of no queue, or of a dead-letter queue that does not take them: their texts, joined. */
  readonly givenUp: readonly string[]
}

export const laneOf = (queue: string, priority = 0): string => `${queue}/${priority}`
export const textOf = ({ items }: Pick<Sent, 'items'>): string =>
  items.map(({ text }) => text).join(',')

/** The answer of a producer against what SQS has: 202 is a promise, and so is a refusal. */
export function brokenPromises(sent: readonly Sent[], accepted: readonly Sent[]): string[] {
  const isThere = new Set(accepted)
  return sent.flatMap((one) => {
    // A second copy under a key is the first message, within five minutes.
    const has = isThere.has(one) || accepted.some((other) => isSame(one, other))
    if (one.answer === 'accepted' && !has) return [`${textOf(one)} was accepted, and is nowhere`]
    if (one.answer === 'refused' && isThere.has(one))
      return [`${textOf(one)} was refused, and is there`]
    return []
  })
}

const isSame = (one: Sent, other: Sent): boolean =>
  one.idempotencyKey !== undefined &&
  one.idempotencyKey === other.idempotencyKey &&
  one.queue === other.queue &&
  textOf(one) === textOf(other)

/** @param capacities - of queues that have one: what is larger never fits. */
export function expectedOf(
  accepted: readonly Sent[],
  capacities: ReadonlyMap<string, number>,
): Expected {
  const pushed = new Map<string, string[]>()
  const dead = new Map<string, string[]>()
  const givenUp: string[] = []
  const firsts = new Map<string, string>()
  const add = (to: Map<string, string[]>, queue: string, items: readonly PushItem[]): void => {
    for (const { text, priority } of items) {
      const lane = laneOf(queue, priority)
      const texts = to.get(lane)
      if (texts === undefined) to.set(lane, [text])
      else texts.push(text)
    }
  }
  for (const one of accepted) {
    const { queue, items, idempotencyKey, isNoPush } = one
    const key = `${queue} ${idempotencyKey}`
    const first = idempotencyKey === undefined ? undefined : firsts.get(key)
    const neverFits = items.length > (capacities.get(queue) ?? Number.POSITIVE_INFINITY)
    if (!isQueueId(queue)) givenUp.push(textOf(one))
    else if (first === textOf(one)) continue
    else if (first === undefined && !neverFits && (!isNoPush || isDeadLetterQueue(queue))) {
      if (idempotencyKey !== undefined) firsts.set(key, textOf(one))
      add(pushed, queue, items)
    } else if (isDeadLetterQueue(queue)) givenUp.push(textOf(one))
    else add(dead, queue, items)
  }
  return { pushed, dead, givenUp }
}
