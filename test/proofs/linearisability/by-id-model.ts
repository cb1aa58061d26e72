// What the contract says of items that wait or are scheduled, named by their ids. When a scheduled item joins its
// lane is not in the model, which has no clock: it may at any moment, once.

import type {
  ModelItem,
  QueueAnswer,
  QueueOperation,
  QueueState,
  ScheduledName,
} from './queue-state.ts'

type ById = Extract<QueueOperation, { readonly kind: 'cancel' | 'move' }>

/** All states that joins may lead to, the state itself first. */
export function afterJoins(state: QueueState): readonly QueueState[] {
  const joining = state.scheduled.filter(({ isSoon }) => isSoon)
  return [state, ...joining.flatMap((one) => afterJoins(joined(state, one)))]
}

/** From then on it has another id, which nobody has been told. */
function joined(state: QueueState, one: ScheduledName): QueueState {
  const { name, id, priority } = one
  const former = id === undefined ? one.former : [...one.former, id]
  const item = { name, id: undefined, former, returned: 0, lockId: undefined }
  const scheduled = state.scheduled.filter((it) => it !== one)
  return appended({ ...state, scheduled }, item, priority)
}

function appended(state: QueueState, item: ModelItem, priority: number): QueueState {
  const lane = state.lanes.find((it) => it.priority === priority)
  const others = state.lanes.filter((it) => it !== lane)
  const lanes = [...others, { priority, items: [...(lane?.items ?? []), item] }]
  return { ...state, lanes: lanes.sort((a, b) => a.priority - b.priority) }
}

/** An id that nobody has been told may be this one, unless the item had it before. */
const isIts = (
  item: {
    readonly name: string
    readonly id: string | undefined
    readonly former: readonly string[]
  },
  { name, id }: ById,
): boolean =>
  item.name === name && (item.id === undefined ? !item.former.includes(id) : item.id === id)

export function applyById(
  state: QueueState,
  operation: ById,
  answer: QueueAnswer | undefined,
): readonly QueueState[] {
  const isScheduledId = operation.id.startsWith('t-')
  const scheduled = state.scheduled.find((it) => isScheduledId && isIts(it, operation))
  if (scheduled !== undefined) return applyToScheduled(state, operation, answer, scheduled)
  for (const { priority, items } of isScheduledId ? [] : state.lanes) {
    const item = items.find((it) => isIts(it, operation))
    if (item === undefined) continue
    if (item.lockId !== undefined) return says(answer, 'locked') ? [state] : []
    return applyToWaiting(state, operation, answer, { item, priority })
  }
  return says(answer, 'gone') ? [state] : []
}

function applyToScheduled(
  state: QueueState,
  operation: ById,
  answer: QueueAnswer | undefined,
  it: ScheduledName,
): readonly QueueState[] {
  const others = state.scheduled.filter((other) => other !== it)
  if (operation.kind === 'cancel') {
    return answer === undefined || says(answer, 'cancelled')
      ? [{ ...state, scheduled: others }]
      : []
  }
  const { priority, id } = operation
  if (answer !== undefined && answer.kind !== 'moved') return []
  if (priority === it.priority) return answer === undefined || answer.newId === id ? [state] : []
  if (answer !== undefined && (answer.newId ?? id) === id) return []
  const moved = { ...it, id: answer?.newId, former: [...it.former, id], priority }
  return [{ ...state, scheduled: [...others, moved] }]
}

function applyToWaiting(
  state: QueueState,
  operation: ById,
  answer: QueueAnswer | undefined,
  { item, priority }: { readonly item: ModelItem; readonly priority: number },
): readonly QueueState[] {
  const without = (): QueueState => ({
    ...state,
    lanes: state.lanes
      .map((lane) => ({ ...lane, items: lane.items.filter((it) => it !== item) }))
      .filter(({ items }) => items.length > 0),
  })
  if (operation.kind === 'cancel') {
    return answer === undefined || says(answer, 'cancelled') ? [without()] : []
  }
  const { id } = operation
  if (answer !== undefined && answer.kind !== 'moved') return []
  const isThere = priority === operation.priority
  if (isThere) return answer === undefined || answer.newId === id ? [state] : []
  if (answer?.newId === id) return []
  const former = [...item.former, id]
  const moved = { ...item, id: answer?.newId, former, returned: 0 }
  return [appended(without(), moved, operation.priority)]
}

const says = (answer: QueueAnswer | undefined, result: string): boolean =>
  answer === undefined || (answer.kind === 'by-id' && answer.result === result)
