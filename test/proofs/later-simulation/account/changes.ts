import type { Account } from './account.ts'
import type { Fate, When } from './fate.ts'

// What was cancelled and moved, by ids.

type Named = { readonly id: string }
type Place = { readonly queue: string; readonly dueMs?: number }

/** Whether a caller who asked for this time saw it ahead; undefined if the time came during the call. */
function isAhead(dueMs = 0, { call, clockMs }: When): boolean | undefined {
  const secondMs = 1_000 * Math.ceil(dueMs / 1_000)
  if (secondMs <= call.clockMs) return false
  return secondMs > clockMs ? true : undefined
}

export function cancelled(
  account: Account,
  queue: string,
  results: readonly (Named & { result: string })[],
  when: When,
): void {
  account.note(`cancel in ${queue}: ${results.map(({ id, result }) => `${id} ${result}`).join()}`)
  // An id that was named twice is answered twice.
  for (const { id, result } of new Map(results.map((one) => [one.id, one])).values()) {
    if (result !== 'cancelled') {
      refusedById(account, queue, id, result, when)
      continue
    }
    const fate = account.endId(id, 'cancelled', when)
    if (fate === undefined) continue
    if (fate.ended !== undefined && fate.ended.at < when.call.at) {
      account.violate(`${fate.item.text} was cancelled after it was ${fate.ended.how}`)
    }
    if (id.startsWith('t-') && !fate.isPutOff) neverSeen(account, fate, 'cancelled')
    account.end(fate, 'cancelled')
  }
}

function neverSeen(account: Account, { seen, item }: Fate, how: string): void {
  if (seen > 0) account.violate(`${item.text} came before it was ${how} while it was scheduled`)
}

function refusedById(
  account: Account,
  queue: string,
  id: string,
  result: string,
  { call, clockMs }: When,
): void {
  if (result === 'gone') {
    // In another queue than it was ever in it says nothing.
    if (!account.endedIds.has(id) && account.queueById.get(id) === queue) {
      account.endedIds.set(id, { how: 'gone', at: account.call(0).at, clockMs })
    }
    return
  }
  const ended = account.endedIds.get(id)
  if (id.startsWith('t-')) account.violate(`${id} is scheduled, and ${result}`)
  else if (ended !== undefined && ended.at < call.at) {
    account.violate(`${id} is ${result}, and was ${ended.how}`)
  }
}

/** Before a move is asked for: from now on its items may be there. */
export function moving(account: Account, ids: readonly string[], to: Place): void {
  account.note(`move to ${JSON.stringify(to)}: ${ids.join()}`)
  for (const id of ids) {
    const fate = account.byId.get(id)
    if (fate === undefined) continue
    fate.queues.add(to.queue)
    fate.moves += 1
    fate.openMoves += 1
    fate.notBeforeMs = 0
    if (to.dueMs === undefined) continue
    fate.earliestMs = Math.min(fate.earliestMs, to.dueMs)
    // A consumer may have had it before.
    fate.isPutOff ||= !id.startsWith('t-')
  }
}

/** `results`: nothing where nobody knows what came of it; none of them where it was refused. */
export function moved(
  account: Account,
  queue: string,
  ids: readonly string[],
  results: readonly (Named & { result: string; newId?: string })[] | undefined,
  to: Place,
  when: When,
): void {
  for (const id of ids) {
    const fate = account.byId.get(id)
    // A late copy may move it yet.
    if (fate !== undefined && results !== undefined) fate.openMoves -= 1
  }
  const said = results?.map(({ id, result, newId }) => `${id} ${result} ${newId}`)
  account.note(`moved: ${said?.join() ?? 'unknown'}`)
  for (const { id, result, newId } of new Map(results?.map((one) => [one.id, one])).values()) {
    if (result !== 'moved') refusedById(account, queue, id, result, when)
    else if (newId !== id) movedTo(account, id, newId, to, when)
  }
}

function movedTo(
  account: Account,
  id: string,
  newId: string | undefined,
  { queue, dueMs }: Place,
  when: When,
): void {
  const fate = account.endId(id, 'moved', when)
  if (fate === undefined) return
  if (fate.ended !== undefined && fate.ended.at < when.call.at) {
    account.violate(`${fate.item.text} was moved after it was ${fate.ended.how}`)
  }
  const [wasScheduled, isScheduled] = [id, newId].map((one) => one?.startsWith('t-') === true)
  const mustBe = wasScheduled || isAhead(dueMs, when)
  if (mustBe !== undefined && isScheduled !== mustBe) {
    account.violate(`${id} became ${newId}, due at ${dueMs}`)
  }
  if (newId === undefined) return
  account.learn(newId, fate.item.text, queue)
  account.dueById.set(newId, dueMs ?? account.dueById.get(id) ?? 0)
}
