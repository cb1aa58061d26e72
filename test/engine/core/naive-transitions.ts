import { endOf, type Lane, type QueueRecord, type Stretch } from '../../../engine/core/record.ts'

/**
 * What happened between two records, found item by item: slow, and made without anything that
 * `transitionsOf` is made of. As sorted lines, such as `lock-expired 3`.
 */
export function naiveTransitions(before: QueueRecord | undefined, after: QueueRecord): string[] {
  const lines: string[] = []
  const nothingFree = before === undefined || before.dry || freeNumbers(before) === 0
  const isNews =
    nothingFree ||
    itemsBack(before, after) > 0 ||
    locksGivenUp(before, after) > 0 ||
    isCall(after, before)
  if (freeNumbers(after) > 0 && isNews) lines.push('items-available')
  if (before !== undefined && isDrained(after) && !isDrained(before)) lines.push('queue-drained')
  for (const [lockId, { expiresAtMs, stretches, signs = '' }] of before?.locks ?? []) {
    if (expiresAtMs === 0 || after.locks.has(lockId) || signs.includes('w')) continue
    const known = after.ended.find((ended) => ended.lockId === lockId)
    const expired = known ? known.ending === 'expired' : expiresAtMs <= after.lastEndedMs
    if (expired) lines.push(`lock-expired ${stretches.flatMap(numbers).length}`)
  }
  for (const [priority, lane] of after.lanes) {
    const was = before?.lanes.get(priority)
    const known = was?.epoch === lane.epoch ? was.dead.flatMap(numbers) : []
    const fresh = lane.dead.flatMap(({ reason, ...range }) =>
      numbers(range)
        .filter((n) => !known.includes(n))
        .map(() => reason),
    )
    for (const reason of new Set(fresh)) {
      const count = fresh.filter((one) => one === reason).length
      lines.push(`item-dead-lettered ${priority} ${reason} ${count}`)
    }
  }
  return lines.sort()
}

const numbers = ({ from, to }: { from: number; to: number }): number[] =>
  Array.from({ length: to - from }, (_, index) => from + index)

const isIn = (ranges: readonly { from: number; to: number }[], n: number): boolean =>
  ranges.some(({ from, to }) => from <= n && n < to)

function freeNumbers(record: QueueRecord): number {
  return countLive(record, () => true)
}

/** Items that are free and were in a lock. */
function itemsBack(before: QueueRecord, after: QueueRecord): number {
  let count = 0
  for (const [priority, lane] of before.lanes) {
    const is = after.lanes.get(priority)
    if (is?.epoch !== lane.epoch) continue
    const held = [...before.locks.values()]
      .filter(({ expiresAtMs }) => expiresAtMs !== 0)
      .flatMap(({ stretches }) => stretches.filter((stretch) => stretch.priority === priority))
    const still = [...after.locks.values()].flatMap(({ stretches }) =>
      stretches.filter((stretch) => stretch.priority === priority),
    )
    count += remaining(is).filter((n) => isIn(held, n) && !isIn(still, n)).length
  }
  return count
}

/** Locks that were in somebody's way, and whose holders did not say that the work is done. */
function locksGivenUp(before: QueueRecord, after: QueueRecord): number {
  const locks = [...after.locks.values()].map((lock) => ({ signs: '', ...lock }))
  const isHeld = locks.some(({ signs, expiresAtMs }) => !signs?.includes('w') && expiresAtMs !== 0)
  const waiting = locks.filter(({ signs }) => (isHeld ? signs?.includes('w') : signs === 'w'))
  const waitsFrom = (stretches: readonly Stretch[]): boolean =>
    waiting
      .flatMap(({ stretches }) => stretches)
      .some(({ priority, ...range }) =>
        numbers(range).some((n) =>
          stretches.some((it) => it.priority === priority && isIn([it], n)),
        ),
      )
  const acknowledged = after.ended.filter(({ ending }) => ending === 'acknowledged')
  return [...before.locks].filter(
    ([lockId, { expiresAtMs, stretches }]) =>
      expiresAtMs !== 0 &&
      !after.locks.has(lockId) &&
      !waitsFrom(stretches) &&
      !acknowledged.some((ended) => ended.lockId === lockId),
  ).length
}

const isCall = (after: QueueRecord, before: QueueRecord): boolean =>
  after.reminder !== undefined &&
  after.reminder.times >= 1 &&
  JSON.stringify(after.reminder) !== JSON.stringify(before.reminder)

function isDrained(record: QueueRecord): boolean {
  return record.dry && countLive(record, (expiresAtMs) => expiresAtMs === 0) === 0
}

/** Items that are neither settled nor dead nor in such a lock. */
function countLive(record: QueueRecord, takes: (expiresAtMs: number) => boolean): number {
  let count = 0
  for (const [priority, lane] of record.lanes) {
    const taken = [...record.locks.values()]
      .filter(({ expiresAtMs }) => takes(expiresAtMs))
      .flatMap(({ stretches }) => stretches.filter((stretch) => stretch.priority === priority))
    count += remaining(lane).filter((n) => !isIn(taken, n)).length
  }
  return count
}

const remaining = (lane: Lane): number[] =>
  numbers({ from: lane.head, to: endOf(lane) }).filter(
    (n) => !isIn(lane.holes, n) && !isIn(lane.dead, n),
  )
