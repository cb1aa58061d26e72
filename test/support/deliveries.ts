// Rules that a queue's deliveries keep whatever the clock did to its locks. Where locks expire or processes
// die, no sequential model can say which answer was right, but these rules still hold.

import { sortedIndex } from '../../testing/simulated/dynamodb/table.ts'

export type PushEvent = {
  readonly items: readonly { readonly name: string; readonly priority: number }[]
  readonly calledAt: number
  /** Absent if no answer came. */
  readonly answeredAt?: number
}
export type PopEvent = {
  readonly items: readonly { readonly name: string; readonly deliveries: number }[]
  readonly calledAt: number
  readonly answeredAt: number
  /** Without it the items were settled as they were taken. */
  readonly lockId?: string
  /** The lock keeps everybody else out until then (Date.now()). */
  readonly exclusiveUntilMs?: number
  readonly answeredAtMs?: number
}
export type AcknowledgeEvent = {
  readonly names: readonly string[]
  readonly lockId: string
  readonly calledAt: number
  readonly answeredAt?: number
}
export type ReleaseEvent = { readonly lockId: string; readonly calledAt: number }

/** Of one queue. */
export type Deliveries = {
  readonly pushes: readonly PushEvent[]
  readonly pops: readonly PopEvent[]
  readonly acknowledgements: readonly AcknowledgeEvent[]
  /** Calls that end a lock without settling anything. */
  readonly releases?: readonly ReleaseEvent[]
  /** Calls that did not say which items they took for good: a purge, a pop whose answer was lost. */
  readonly unseen?: { readonly least: number; readonly most: number }
  /** Dead items may have come back to the queue: their deliveries count from one again, and they come last. */
  readonly redriven?: boolean
  /** Where else an item may be at the end, such as the dead-letter queue. */
  readonly elsewhere?: readonly string[]
}

export type Finding = {
  readonly kind:
    | 'lost'
    | 'delivered again'
    | 'invented'
    | 'out of order'
    | 'delivered twice at once'
    | 'locked twice'
    | 'in two places'
  readonly text: string
}

export function findFaults(deliveries: Deliveries): readonly Finding[] {
  return [
    ...findInvented(deliveries),
    ...findLost(deliveries),
    ...findDeliveredAgain(deliveries),
    ...(deliveries.redriven ? [] : [...findTwiceAtOnce(deliveries), ...findOutOfOrder(deliveries)]),
    ...findLockedTwice(deliveries),
    ...findInTwoPlaces(deliveries),
  ]
}

type Delivery = { readonly pop: PopEvent; readonly deliveries: number }

function deliveriesByName(pops: readonly PopEvent[]): Map<string, Delivery[]> {
  const byName = new Map<string, Delivery[]>()
  for (const pop of pops) {
    for (const { name, deliveries } of pop.items) {
      const known = byName.get(name)
      if (known === undefined) byName.set(name, [{ pop, deliveries }])
      else known.push({ pop, deliveries })
    }
  }
  return byName
}

function findInvented({ pushes, pops }: Deliveries): Finding[] {
  const calledAt = new Map<string, number>()
  for (const push of pushes) for (const { name } of push.items) calledAt.set(name, push.calledAt)
  const findings: Finding[] = []
  for (const pop of pops) {
    for (const { name } of pop.items) {
      const pushedAt = calledAt.get(name)
      if (pushedAt === undefined) {
        findings.push({ kind: 'invented', text: `${name} was delivered and never pushed` })
      } else if (pushedAt > pop.answeredAt) {
        findings.push({ kind: 'invented', text: `${name} was delivered before it was pushed` })
      }
    }
  }
  return findings
}

/** Every answered push was settled by an answer, or may have been by a call that got none. */
function findLost(deliveries: Deliveries): Finding[] {
  const { least, most } = deliveries.unseen ?? { least: 0, most: 0 }
  const settled = new Set(deliveries.elsewhere)
  for (const { names } of deliveries.acknowledgements) for (const name of names) settled.add(name)
  for (const { items, lockId } of deliveries.pops) {
    if (lockId === undefined) for (const { name } of items) settled.add(name)
  }
  const missing = deliveries.pushes
    .filter(({ answeredAt }) => answeredAt !== undefined)
    .flatMap(({ items }) => items.filter(({ name }) => !settled.has(name)))
  if (missing.length < least) {
    const text = `${least} items were purged, and all but ${missing.length} are elsewhere`
    return [{ kind: 'in two places', text }]
  }
  if (missing.length <= most) return []
  return missing.map(({ name }) => ({ kind: 'lost', text: `${name} was pushed and is nowhere` }))
}

function findDeliveredAgain(deliveries: Deliveries): Finding[] {
  const goneAt = goneByName(deliveries)
  return deliveries.pops.flatMap(({ items, calledAt }) =>
    items
      .filter(({ name }) => calledAt > (goneAt.get(name) ?? Number.POSITIVE_INFINITY))
      .map(({ name, deliveries }) => ({
        kind: 'delivered again' as const,
        text: `${name} was delivered (${deliveries}) after its acknowledgement was answered`,
      })),
  )
}

/** A dead item was not settled here, and is in the dead-letter queue once. */
function findInTwoPlaces(deliveries: Deliveries): Finding[] {
  const seen = new Set(goneByName(deliveries).keys())
  const findings: Finding[] = []
  for (const name of deliveries.elsewhere ?? []) {
    if (seen.has(name)) {
      const text = `${name} is in the dead-letter queue, and was settled or is there once more`
      findings.push({ kind: 'in two places', text })
    }
    seen.add(name)
  }
  return findings
}

/** When each item was gone for good at the latest. */
function goneByName({ pops, acknowledgements }: Deliveries): Map<string, number> {
  const goneAt = new Map<string, number>()
  const gone = (name: string, at: number) => {
    goneAt.set(name, Math.min(at, goneAt.get(name) ?? Number.POSITIVE_INFINITY))
  }
  for (const { names, answeredAt } of acknowledgements) {
    if (answeredAt !== undefined) for (const name of names) gone(name, answeredAt)
  }
  for (const { items, lockId, answeredAt } of pops) {
    if (lockId === undefined) for (const { name } of items) gone(name, answeredAt)
  }
  return goneAt
}

/**
 * Each delivery has a number of its own, and later ones a higher one; and a lock that was still
 * good for an acknowledgement was the only one its items were in.
 */
function findTwiceAtOnce({ pops, acknowledgements }: Deliveries): Finding[] {
  const findings: Finding[] = []
  const byName = deliveriesByName(pops)
  const popOfLock = new Map(pops.map((pop) => [pop.lockId, pop]))
  for (const [name, all] of byName) {
    const inOrder = all.toSorted((a, b) => a.deliveries - b.deliveries)
    for (const [index, { pop, deliveries }] of inOrder.entries()) {
      const before = inOrder[index - 1]
      if (before === undefined) continue
      if (before.deliveries === deliveries) {
        const text = `${name} was delivered twice as delivery ${deliveries}`
        findings.push({ kind: 'delivered twice at once', text })
      } else if (pop.answeredAt < before.pop.calledAt) {
        const text = `${name}: delivery ${deliveries} was over before ${before.deliveries} began`
        findings.push({ kind: 'delivered twice at once', text })
      }
    }
  }
  for (const { lockId, names, calledAt, answeredAt } of acknowledgements) {
    const own = popOfLock.get(lockId)
    if (own === undefined || answeredAt === undefined) continue
    for (const name of names) {
      const usurper = byName
        .get(name)
        ?.find(({ pop }) => own.answeredAt < pop.calledAt && pop.answeredAt < calledAt)
      if (usurper === undefined) continue
      const text = `${name} was acknowledged under a lock that another delivery had followed`
      findings.push({ kind: 'delivered twice at once', text })
    }
  }
  return findings
}

type Placed = {
  readonly name: string
  readonly priority: number
  readonly push: PushEvent
  readonly index: number
  /** By the pop that handed it out for the first time. */
  firstCalledAt: number
}

/**
 * An item that was pushed before a pop began, and handed out for the first time after that pop was
 * over, was there to be taken all the while: the pop may not have taken anything that comes behind.
 */
function findOutOfOrder({ pushes, pops }: Deliveries): Finding[] {
  const placed = new Map<string, Placed>()
  for (const push of pushes) {
    for (const [index, { name, priority }] of push.items.entries()) {
      placed.set(name, { name, priority, push, index, firstCalledAt: Number.NEGATIVE_INFINITY })
    }
  }
  for (const { items, calledAt } of pops) {
    for (const { name, deliveries } of items) {
      const item = placed.get(name)
      if (item !== undefined && deliveries === 1) item.firstCalledAt = calledAt
    }
  }
  const lanes = lanesOf([...placed.values()])
  const findings: Finding[] = []
  for (const pop of pops) {
    const taken = pop.items.map(({ name }) => placed.get(name)).filter((item) => item !== undefined)
    findings.push(...findOutOfOrderWithin(taken))
    for (const item of taken) {
      const left = findOvertaken(item, pop, lanes, placed)
      if (left === undefined) continue
      const text = `${item.name} was delivered before ${left.name}, which was ahead of it`
      findings.push({ kind: 'out of order', text })
    }
  }
  return findings
}

/** Items of one priority by the answers to their pushes; for each, the one up to it that waited longest. */
type LaneOrder = {
  readonly priority: number
  readonly items: readonly Placed[]
  readonly longestWaiting: readonly Placed[]
}

const answeredAtOf = ({ push }: Placed): number => push.answeredAt ?? Number.POSITIVE_INFINITY

function lanesOf(placed: readonly Placed[]): readonly LaneOrder[] {
  return [...Map.groupBy(placed, ({ priority }) => priority)].map(([priority, lane]) => {
    const items = lane.toSorted((a, b) => answeredAtOf(a) - answeredAtOf(b))
    let longest = items[0] as Placed
    const longestWaiting = items.map((item) => {
      if (item.firstCalledAt > longest.firstCalledAt) longest = item
      return longest
    })
    return { priority, items, longestWaiting }
  })
}

function findOvertaken(
  item: Placed,
  pop: PopEvent,
  lanes: readonly LaneOrder[],
  placed: ReadonlyMap<string, Placed>,
): Placed | undefined {
  const isLeft = (other: Placed | undefined): other is Placed =>
    other !== undefined && other.firstCalledAt > pop.answeredAt
  for (const { priority, items, longestWaiting } of lanes) {
    if (priority > item.priority) continue
    // Pushes that overlap may have come in either order.
    const until =
      priority < item.priority ? pop.calledAt : Math.min(pop.calledAt, item.push.calledAt)
    const ahead = sortedIndex(items, (other) => (answeredAtOf(other) < until ? -1 : 1))
    const left = longestWaiting[ahead - 1]
    if (isLeft(left)) return left
  }
  if (answeredAtOf(item) >= pop.calledAt) return undefined
  return item.push.items
    .slice(0, item.index)
    .map(({ name }) => placed.get(name))
    .filter(isLeft)
    .find(({ priority }) => priority === item.priority)
}

function findOutOfOrderWithin(taken: readonly Placed[]): Finding[] {
  const findings: Finding[] = []
  for (const [index, item] of taken.entries()) {
    const before = taken[index - 1]
    if (before === undefined || !isAhead(item, before)) continue
    const text = `${before.name} came before ${item.name} in one answer`
    findings.push({ kind: 'out of order', text })
  }
  return findings
}

/** Whether one is certainly ahead: pushes that overlap may have come in either order. */
function isAhead(a: Placed, b: Placed): boolean {
  if (a.priority !== b.priority) return a.priority < b.priority
  if (a.push === b.push) return a.index < b.index
  return (a.push.answeredAt ?? Number.POSITIVE_INFINITY) < b.push.calledAt
}

/** While an exclusive lock lives, no pop gets an item. */
function findLockedTwice({ pops, acknowledgements, releases = [] }: Deliveries): Finding[] {
  const endedAt = new Map<string, number>()
  for (const { lockId, calledAt } of [...acknowledgements, ...releases]) {
    endedAt.set(lockId, Math.min(calledAt, endedAt.get(lockId) ?? Number.POSITIVE_INFINITY))
  }
  const findings: Finding[] = []
  for (const holder of pops) {
    const { exclusiveUntilMs, lockId } = holder
    if (exclusiveUntilMs === undefined || lockId === undefined) continue
    const ended = endedAt.get(lockId) ?? Number.POSITIVE_INFINITY
    for (const other of pops) {
      if (other.calledAt < holder.answeredAt || other.answeredAtMs === undefined) continue
      if (other.answeredAtMs >= exclusiveUntilMs || other.answeredAt >= ended) continue
      const text = `${other.items[0]?.name} was delivered while lock ${lockId} was live`
      findings.push({ kind: 'locked twice', text })
    }
  }
  return findings
}
