import { laneOf, type Sent, textOf } from './expect.ts'

// Keys under which a producer pushes beside the inbox: either may come first, but one body has its items in the
// queue, once, and every message with another goes to the dead letters.

type Lanes = ReadonlyMap<string, readonly string[]>

export const keyOf = ({ queue, idempotencyKey }: Sent): string | undefined =>
  idempotencyKey === undefined ? undefined : `${queue} ${idempotencyKey}`

/** What does not hold of the keys of these pushes. */
export function checkSharedKeys(
  plain: readonly Sent[],
  accepted: readonly Sent[],
  popped: Lanes,
  dead: Lanes,
): string[] {
  const keys = Map.groupBy([...plain, ...accepted], keyOf)
  const shared = new Set(plain.map(keyOf))
  return [...keys].flatMap(([key, all]) => {
    if (key === undefined || !shared.has(key)) return []
    const inQueue = new Set(all.filter((one) => countOf(one, popped) === 1).map(textOf))
    const wrong = all.filter((one) => countOf(one, popped) > 1).map(textOf)
    const isWinner = (one: Sent) => inQueue.has(textOf(one))
    const mayBeNone = all.every((one) => one.answer !== 'pushed' && !accepted.includes(one))
    return [
      ...wrong.map((text) => `${text} is in ${key} more than once`),
      ...(inQueue.size === 1 || mayBeNone ? [] : [`${key} has ${inQueue.size} effects`]),
      ...all
        .filter((one) => one.answer === 'pushed' && !isWinner(one))
        .map((one) => `${textOf(one)} was pushed to ${key}, and is not there`),
      ...accepted
        .filter((one) => keyOf(one) === key && !isWinner(one) && countOf(one, dead) === 0)
        .map((one) => `${textOf(one)} is neither in ${key} nor among its dead letters`),
    ]
  })
}

/** How often all its items are there; more than once if one of them is. */
function countOf({ queue, items }: Sent, lanes: Lanes): number {
  const counts = items.map(
    ({ text, priority }) =>
      (lanes.get(laneOf(queue, priority)) ?? []).filter((it) => it === text).length,
  )
  const most = Math.max(...counts)
  return most > 1 ? most : Math.min(...counts)
}

/** The rest, whose order is known. */
export function withoutTexts(lanes: Lanes, texts: ReadonlySet<string>): Map<string, string[]> {
  const kept = [...lanes].map(
    ([lane, all]) => [lane, all.filter((text) => !texts.has(text))] as const,
  )
  return new Map(kept.filter(([, all]) => all.length > 0))
}
