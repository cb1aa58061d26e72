// One queue as its contract (api.md) describes it, with nothing concurrent in it and no clock:
// the histories that are compared with it use locks that outlive them.
//
// What counts as the right answer of a pop: the items that come first, in order, and as many as
// were asked for and there. Fewer only with `more: true` (the answer was full, or others were
// taking items at the same moment), and then still the ones that come first, at least one.
//
// A purge takes every item that was there when it was called; items pushed while it runs may survive.

import { afterJoins, applyById } from './by-id-model.ts'
import type { Model } from './checker.ts'
import type {
  Ended,
  Ending,
  Lane,
  Lock,
  ModelItem,
  QueueAnswer,
  QueueOperation,
  QueueState,
} from './queue-state.ts'

export type QueueSettings = {
  readonly maxDeliveries?: number
  /** Not with dead items: they count until housekeeping moves them, and the model cannot see when. */
  readonly capacity?: number
}

/** Ended locks that a queue promises to remember; it may remember more. */
const REMEMBERED = 16

export function queueModel(
  settings: QueueSettings = {},
): Model<QueueState, QueueOperation, QueueAnswer> {
  return {
    initial: { lanes: [], scheduled: [], locks: [], ended: [], dead: [], keys: [] },
    apply: (state, operation, answer) =>
      afterJoins(state).flatMap((joined) => applyTo(joined, operation, answer, settings)),
    keyOf,
  }
}

function applyTo(
  state: QueueState,
  operation: QueueOperation,
  answer: Answer,
  settings: QueueSettings,
): States {
  switch (operation.kind) {
    case 'push':
      return push(state, operation, answer, settings)
    case 'pop':
      return pop(state, operation, answer)
    case 'settle':
      return settle(state, operation, answer, settings)
    case 'extend':
      return extend(state, operation, answer)
    case 'purge':
      return purge(state, operation, answer)
    case 'inspect':
      return answer === undefined || describes(state, answer) ? [state] : none
    case 'browse':
      return answer === undefined || isPageOf(state, operation, answer) ? [state] : none
    case 'dead-letters':
      return buried(state, answer)
    case 'cancel':
    case 'move':
      return applyById(state, operation, answer)
    default:
      return operation satisfies never
  }
}

type Operation<Kind extends QueueOperation['kind']> = Extract<QueueOperation, { kind: Kind }>
type Answer = QueueAnswer | undefined
type States = readonly QueueState[]

const none: States = []

function push(
  state: QueueState,
  operation: Operation<'push'>,
  answer: Answer,
  { capacity = Number.POSITIVE_INFINITY }: QueueSettings,
): States {
  const isRepeated = state.keys.some(({ key }) => key === operation.key)
  if (!isRepeated && countOf(state.lanes) + operation.items.length > capacity) {
    return answer?.kind === 'refused' && answer.code === 'QUEUE_FULL' ? [state] : none
  }
  if (answer !== undefined && answer.kind !== 'pushed') return none
  // Gone before a push with a key could look where its items went: it has no ids to tell.
  const isUntold = operation.key !== undefined && answer?.ids.length === 0
  const ids = isUntold ? undefined : answer?.ids
  if (ids !== undefined && ids.length !== operation.items.length) return none

  const known = state.keys.find(({ key }) => key === operation.key)
  if (known !== undefined) {
    return isUntold ? [state] : repeatPush(state, operation, known.ids, ids)
  }

  let lanes = state.lanes
  const scheduled = [...state.scheduled]
  for (const [index, { name, priority, later }] of operation.items.entries()) {
    const item = { name, id: ids?.[index], former: [], returned: 0, lockId: undefined }
    if (later !== undefined) {
      scheduled.push({ name, id: item.id, former: [], priority, isSoon: later === 'soon' })
      continue
    }
    const lane = lanes.find((it) => it.priority === priority)
    lanes = withLane(lanes, priority, [...(lane?.items ?? []), item])
  }
  const { key } = operation
  const keys = key === undefined ? state.keys : [...state.keys, { key, ids }]
  return [{ ...state, lanes, scheduled, keys }]
}

/** The first answer again, and no second effect. */
function repeatPush(
  state: QueueState,
  operation: Operation<'push'>,
  known: readonly string[] | undefined,
  ids: readonly string[] | undefined,
): States {
  if (ids === undefined) return none
  if (known !== undefined) return same(known, ids) ? [state] : none
  const idOf = new Map(operation.items.map(({ name }, index) => [name, ids[index]]))
  const lanes = eachItem(state.lanes, (item) => {
    const id = idOf.get(item.name)
    if (id === undefined || item.id === id) return item
    return item.id === undefined ? { ...item, id } : undefined
  })
  // An item that was popped under another id vanished here: the ids disagree.
  if (countOf(lanes) !== countOf(state.lanes)) return none
  const keys = state.keys.map((it) => (it.key === operation.key ? { ...it, ids } : it))
  return [{ ...state, lanes, keys }]
}

function pop(state: QueueState, operation: Operation<'pop'>, answer: Answer): States {
  const repeated = state.locks.find(({ key }) => key !== undefined && key === operation.key)
  if (repeated !== undefined) return repeatPop(state, repeated, answer)

  let before = state
  let itemsAcknowledged: number | undefined
  if (operation.acknowledge !== undefined) {
    const lockId = operation.acknowledge
    const request = { kind: 'settle', verb: 'acknowledge', lockId } as const
    const lock = state.locks.find(({ id }) => id === lockId)
    if (lock === undefined) {
      const ended = state.ended.find(({ id }) => id === lockId)
      if (ended?.ending !== 'acknowledge') {
        return answer?.kind === 'refused' ? settle(state, request, answer, {}) : none
      }
      // Acknowledged before, by a call whose answer was lost: the first answer again, and go on.
      itemsAcknowledged = ended.items
    } else {
      itemsAcknowledged = itemsOf(state, lockId).length
      const [settled] = settle(state, request, undefined, {})
      before = settled ?? state
    }
  }

  if (!operation.competing && before.locks.length > 0) {
    if (answer?.kind !== 'locked') return none
    return isExpiryOfSome(before, answer.expiresAtMs) ? [state] : none
  }
  const free = freeItems(before)
  if (answer === undefined) return popUnseen(state, before, operation, free)
  if (answer.kind !== 'items' && answer.kind !== 'empty') return none
  if ((answer.itemsAcknowledged !== undefined) !== (operation.acknowledge !== undefined))
    return none
  if (itemsAcknowledged !== undefined && answer.itemsAcknowledged !== itemsAcknowledged) return none
  if (answer.kind === 'empty') return free.length === 0 ? [before] : none

  const { items, lock } = answer
  const due = Math.min(operation.count, free.length)
  if (items.length === 0 || items.length > due) return none
  if (items.length < due && !answer.more) return none
  if (items.length === operation.count && answer.more) return none
  if ((lock !== undefined) !== operation.requireAck) return none
  for (const [index, item] of items.entries()) {
    const expected = free[index]!
    if (item.name !== expected.item.name || item.priority !== expected.priority) return none
    if (expected.item.id !== undefined && item.id !== expected.item.id) return none
    if (item.deliveries !== expected.item.returned + 1) return none
  }
  const taken = items.map(({ name }, index) => ({ name, id: items[index]!.id }))
  return [take(before, operation, taken, lock)]
}

/** The answer was lost: the pop may have taken any number of items, also fewer than it asked for. */
function popUnseen(
  state: QueueState,
  before: QueueState,
  operation: Operation<'pop'>,
  free: readonly { readonly item: ModelItem }[],
): States {
  if (free.length === 0) return before === state ? none : [before]
  const states: QueueState[] = []
  for (let n = Math.min(operation.count, free.length); n >= 1; n--) {
    const taken = free.slice(0, n).map(({ item }) => ({ name: item.name, id: item.id }))
    states.push(take(before, operation, taken, undefined))
  }
  return states
}

function take(
  state: QueueState,
  operation: Operation<'pop'>,
  taken: readonly { readonly name: string; readonly id: string | undefined }[],
  lock: { readonly id: string; readonly expiresAtMs: number } | undefined,
): QueueState {
  const ids = new Map(taken.map(({ name, id }) => [name, id]))
  if (!operation.requireAck) {
    const lanes = eachItem(state.lanes, (item) => (ids.has(item.name) ? undefined : item))
    return { ...state, lanes }
  }
  const lockId = lock?.id ?? `?${operation.attempt}`
  const lanes = eachItem(state.lanes, (item) =>
    ids.has(item.name) ? { ...item, id: ids.get(item.name), lockId } : item,
  )
  const made = { id: lockId, expiresAtMs: lock?.expiresAtMs, key: operation.key }
  return { ...state, lanes, locks: [...state.locks, made] }
}

/** The same key while its lock lives: the same items and the same lock. */
function repeatPop(state: QueueState, lock: Lock, answer: Answer): States {
  if (answer === undefined) return none
  if (answer.kind !== 'items' || answer.lock === undefined) return none
  const held = itemsOf(state, lock.id)
  if (held.length !== answer.items.length) return none
  for (const [index, { item, priority }] of held.entries()) {
    const answered = answer.items[index]!
    if (item.name !== answered.name || priority !== answered.priority) return none
    if (item.id !== undefined && item.id !== answered.id) return none
    if (item.returned + 1 !== answered.deliveries) return none
  }
  if (lock.expiresAtMs !== undefined && lock.expiresAtMs !== answer.lock.expiresAtMs) return none
  if (!lock.id.startsWith('?')) return lock.id === answer.lock.id ? [state] : none

  const told = { ...answer.lock, key: lock.key }
  const ids = new Map(answer.items.map(({ name, id }) => [name, id]))
  return [
    {
      ...state,
      lanes: eachItem(state.lanes, (item) =>
        item.lockId === lock.id ? { ...item, id: ids.get(item.name), lockId: told.id } : item,
      ),
      locks: state.locks.map((it) => (it === lock ? told : it)),
    },
  ]
}

function settle(
  state: QueueState,
  operation: Operation<'settle'>,
  answer: Answer,
  settings: QueueSettings,
): States {
  const { verb, lockId, names } = operation
  const lock = state.locks.find(({ id }) => id === lockId)
  if (lock === undefined) {
    return answer !== undefined && isAnswerOfDeadLock(state, operation, answer) ? [state] : none
  }
  const held = itemsOf(state, lockId)
  const part = held.filter(({ item }) => names === undefined || names.includes(item.name))
  // A purge took them from the lock. They count as acknowledged, and can neither come back nor be dead.
  const gone = (names?.length ?? part.length) - part.length
  if (gone > 0 && verb !== 'acknowledge') {
    const isRefused = answer?.kind === 'refused' && answer.code === 'INVALID_PARAMETER'
    return isRefused || answer === undefined ? [state] : none
  }
  if (answer !== undefined && (answer.kind !== 'settled' || answer.items !== part.length + gone)) {
    return none
  }
  if (part.length === 0) return [state]

  const settled = new Set(part.map(({ item }) => item.name))
  const dead = [...state.dead]
  const lanes = eachItem(state.lanes, (item) => {
    if (!settled.has(item.name)) return item
    if (verb === 'acknowledge') return undefined
    const returned = item.returned + 1
    if (verb === 'release' && returned < (settings.maxDeliveries ?? Number.POSITIVE_INFINITY)) {
      return { ...item, returned, lockId: undefined }
    }
    // Stored until housekeeping has moved it, but no pop and no count sees it.
    dead.push(item.name)
    return undefined
  })
  const after = { ...state, lanes, dead: dead.sort() }
  if (part.length < held.length) return [after]
  return [end(after, lockId, verb, names === undefined ? part.length : undefined)]
}

/** A lock that is over, or never was. */
function isAnswerOfDeadLock(
  state: QueueState,
  { verb, lockId }: Operation<'settle'>,
  answer: QueueAnswer,
): boolean {
  const age = state.ended.findIndex(({ id }) => id === lockId)
  const ended = state.ended[age]
  const unknown = state.locks.length > 0 ? 'INVALID_LOCK_ID' : 'LOCK_NOT_FOUND'
  const isUnknown = answer.kind === 'refused' && answer.code === unknown
  if (ended === undefined) return isUnknown
  if (isUnknown && state.ended.length - age > REMEMBERED) return true
  if (ended.ending === verb && answer.kind === 'settled') {
    return ended.items === undefined || ended.items === answer.items
  }
  // A repeated acknowledge is promised its answer; other repeats may be refused.
  return ended.ending !== 'acknowledge' || verb !== 'acknowledge'
    ? isRefusalOfEnded(ended, unknown, answer)
    : false
}

function isRefusalOfEnded(ended: Ended, unknown: string, answer: QueueAnswer): boolean {
  if (answer.kind !== 'refused') return false
  // Its items are back in the queue: the call comes too late.
  if (ended.ending === 'release') return answer.code === 'LOCK_EXPIRED'
  return answer.code === unknown || answer.code === 'LOCK_EXPIRED'
}

function extend(state: QueueState, operation: Operation<'extend'>, answer: Answer): States {
  const lock = state.locks.find(({ id }) => id === operation.lockId)
  if (lock === undefined) {
    if (answer === undefined) return none
    const ended = state.ended.find(({ id }) => id === operation.lockId)
    const unknown = state.locks.length > 0 ? 'INVALID_LOCK_ID' : 'LOCK_NOT_FOUND'
    if (answer.kind === 'refused' && answer.code === unknown) return [state]
    return ended !== undefined && isRefusalOfEnded(ended, unknown, answer) ? [state] : none
  }
  if (answer !== undefined && answer.kind !== 'extended') return none
  const extended = { ...lock, expiresAtMs: answer?.expiresAtMs }
  return [{ ...state, locks: state.locks.map((it) => (it === lock ? extended : it)) }]
}

function purge(
  state: QueueState,
  { priority, survivors = new Set() }: Operation<'purge'>,
  answer: Answer,
): States {
  if (answer !== undefined && answer.kind !== 'purged') return none
  const isConcerned = (lane: Lane) => priority === undefined || lane.priority === priority
  const most = countOf(state.lanes.filter(isConcerned))
  if (most === 0) return answer === undefined || answer.items === 0 ? [state] : none

  // For each lane, every number of last items that may have been appended after it looked.
  let outcomes: (readonly Lane[])[] = [[]]
  for (const lane of state.lanes) {
    const left = isConcerned(lane) ? suffixes(lane, survivors) : [lane]
    outcomes = outcomes.flatMap((lanes) =>
      left.map((rest) => (rest.items.length > 0 ? [...lanes, rest] : lanes)),
    )
  }
  const before = countOf(state.lanes)
  return outcomes
    .filter((lanes) => answer === undefined || before - countOf(lanes) === answer.items)
    .map((lanes) => {
      let after: QueueState = { ...state, lanes }
      for (const { id } of state.locks) {
        if (itemsOf(after, id).length === 0) after = end(after, id, 'purge', undefined)
      }
      return after
    })
}

function suffixes(lane: Lane, survivors: ReadonlySet<string>): Lane[] {
  const left: Lane[] = [{ ...lane, items: [] }]
  for (let from = lane.items.length - 1; from >= 0; from--) {
    const { name, lockId } = lane.items[from]!
    if (lockId !== undefined || !survivors.has(name)) break
    left.push({ ...lane, items: lane.items.slice(from) })
  }
  return left
}

function buried(state: QueueState, answer: Answer): States {
  if (answer === undefined) return [state]
  if (answer.kind !== 'dead' || !same([...answer.names].sort(), state.dead)) return none
  return [{ ...state, dead: [] }]
}

function end(state: QueueState, id: string, ending: Ending, items: number | undefined): QueueState {
  return {
    ...state,
    locks: state.locks.filter((lock) => lock.id !== id),
    ended: [...state.ended, { id, ending, items }],
  }
}

function describes(state: QueueState, answer: QueueAnswer): boolean {
  if (answer.kind !== 'state') return false
  const locked = state.lanes.flatMap(({ items }) => items).filter(({ lockId }) => lockId)
  const lanes = state.lanes.map(({ priority, items }) => `${priority}:${items.length}`)
  const expected = state.locks.map(({ id, expiresAtMs }) => ({
    expiresAtMs,
    count: itemsOf(state, id).length,
  }))
  const left = [...answer.locks]
  return (
    answer.count === countOf(state.lanes) &&
    answer.scheduledCount === state.scheduled.length &&
    answer.lockedCount === locked.length &&
    same(
      answer.lanes.map(({ priority, count }) => `${priority}:${count}`),
      lanes,
    ) &&
    answer.locks.length === expected.length &&
    // Known ones first: an unknown expiry fits whatever is left.
    expected
      .sort((a, b) => (b.expiresAtMs ?? 0) - (a.expiresAtMs ?? 0))
      .every(({ expiresAtMs, count }) => {
        const at = left.findIndex(
          (it) =>
            it.count === count && (expiresAtMs === undefined || it.expiresAtMs === expiresAtMs),
        )
        if (at >= 0) left.splice(at, 1)
        return at >= 0
      })
  )
}

function isPageOf(state: QueueState, { limit }: Operation<'browse'>, answer: QueueAnswer): boolean {
  if (answer.kind !== 'page') return false
  const all = state.lanes.flatMap(({ priority, items }) =>
    items.map((item) => ({ item, priority })),
  )
  if (answer.more !== all.length > limit) return false
  if (answer.items.length !== Math.min(limit, all.length)) return false
  return answer.items.every((answered, index) => {
    const { item, priority } = all[index]!
    const isLocked = item.lockId !== undefined
    return (
      answered.name === item.name &&
      answered.priority === priority &&
      (item.id === undefined || answered.id === item.id) &&
      answered.state === (isLocked ? 'locked' : 'ready') &&
      answered.deliveries === item.returned + (isLocked ? 1 : 0)
    )
  })
}

function isExpiryOfSome(state: QueueState, expiresAtMs: number): boolean {
  return state.locks.some(
    (lock) => lock.expiresAtMs === undefined || lock.expiresAtMs === expiresAtMs,
  )
}

const itemsOf = (state: QueueState, lockId: string) =>
  state.lanes.flatMap(({ priority, items }) =>
    items.filter((item) => item.lockId === lockId).map((item) => ({ item, priority })),
  )

const freeItems = (state: QueueState) =>
  state.lanes.flatMap(({ priority, items }) =>
    items.filter(({ lockId }) => lockId === undefined).map((item) => ({ item, priority })),
  )

const countOf = (lanes: readonly Lane[]) => lanes.reduce((sum, { items }) => sum + items.length, 0)

const same = (a: readonly string[], b: readonly string[]) =>
  a.length === b.length && a.every((value, index) => value === b[index])

function withLane(
  lanes: readonly Lane[],
  priority: number,
  items: readonly ModelItem[],
): readonly Lane[] {
  const others = lanes.filter((lane) => lane.priority !== priority)
  return [...others, { priority, items }].sort((a, b) => a.priority - b.priority)
}

/** `undefined` takes an item out; a lane without items goes. */
function eachItem(
  lanes: readonly Lane[],
  change: (item: ModelItem) => ModelItem | undefined,
): readonly Lane[] {
  return lanes
    .map(({ priority, items }) => ({
      priority,
      items: items.map(change).filter((item) => item !== undefined),
    }))
    .filter(({ items }) => items.length > 0)
}

function keyOf(state: QueueState): string {
  const lanes = state.lanes.map(
    ({ priority, items }) =>
      `${priority}:${items.map((it) => `${it.name}/${it.id ?? ''}/${it.former}/${it.returned}/${it.lockId ?? ''}`)}`,
  )
  const scheduled = state.scheduled
    .map((it) => `${it.name}/${it.id ?? ''}/${it.former}/${it.priority}`)
    .sort()
  // Locks and keys are looked up by name: their order says nothing.
  const locks = state.locks.map((it) => `${it.id}/${it.expiresAtMs ?? ''}/${it.key ?? ''}`).sort()
  const ended = state.ended.map((it) => `${it.id}/${it.ending}/${it.items ?? ''}`)
  // Their order matters only once some may be forgotten.
  if (ended.length <= REMEMBERED) ended.sort()
  const keys = state.keys.map((it) => `${it.key}/${it.ids ?? ''}`).sort()
  const others = [locks.join(), ended.join(), state.dead.join(), keys.join(';')]
  return [lanes.join(';'), scheduled.join(), ...others].join('|')
}
