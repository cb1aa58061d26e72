import type { PoppedItem, PushItem, ScheduledItem } from '../../../lambdas/engine/queues.ts'
import { type Call, type Fate, newFate, type Push, type When } from './fate.ts'

// What must have come of everything, by the account of those who called. The engine's records are not looked at.

type Ended = { readonly how: string; readonly at: number; readonly clockMs: number }
type Named = { readonly id: string }

/** What makes an item large says nothing. */
const withoutFill = (text: string): string => text.replaceAll(/:x+(\\?")/g, '$1')

/** Whoever asked for it at that time saw it ahead; nothing if that time came during the call. */
function isAhead(dueMs = 0, { call, clockMs }: When): boolean | undefined {
  const secondMs = 1_000 * Math.ceil(dueMs / 1_000)
  if (secondMs <= call.clockMs) return false
  return secondMs > clockMs ? true : undefined
}

export class Account {
  readonly history: string[] = []
  readonly violations = new Set<string>()
  readonly #fates = new Map<string, Fate>()
  readonly #byId = new Map<string, Fate>()
  /** When what has this id is due at the earliest, and in which queue. */
  readonly #dueById = new Map<string, number>()
  readonly #queueById = new Map<string, string>()
  /** Ids under which nothing may be handed out any more. */
  readonly #endedIds = new Map<string, Ended>()
  /** A purge of these may still be carried out. */
  readonly #openPurges = new Set<string>()
  readonly #nowMs: () => number
  readonly #apartMs: number
  #moment = 0

  /** `apartMs`: how far two clocks may be apart, because an item joins by the clock of whoever comes first. */
  constructor(nowMs: () => number, apartMs: number) {
    this.#nowMs = nowMs
    this.#apartMs = apartMs
  }

  note(text: string): void {
    this.history.push(`${this.#nowMs() % 10_000_000} ${withoutFill(text)}`)
  }

  violate(text: string): void {
    const short = withoutFill(text)
    this.violations.add(short)
    this.note(`VIOLATES ${short}`)
  }

  /** Each call and each answer has a moment of its own. */
  call(clockMs: number): Call {
    this.#moment += 1
    return { at: this.#moment, clockMs }
  }

  pushing(queue: string, items: readonly PushItem[], clockMs: number): Push {
    const push: Push = {
      fates: [],
      outcome: 'none',
      ids: undefined,
      untilMs: Number.POSITIVE_INFINITY,
    }
    for (const item of items) {
      const fate = newFate(queue, item, clockMs, push)
      push.fates.push(fate)
      this.#fates.set(item.text, fate)
    }
    this.note(`push to ${queue}: ${items.map((item) => JSON.stringify(item)).join()}`)
    return push
  }

  /** Once more, with its key. */
  repeating(push: Push): void {
    push.untilMs = Number.POSITIVE_INFINITY
  }

  pushed(push: Push, ids: readonly string[], clockMs: number): void {
    this.note(`pushed ${ids.join()}`)
    if (push.ids !== undefined && push.ids.join() !== ids.join() && ids.length > 0) {
      this.violate(`a repeated push answered ${ids.join()} after ${push.ids.join()}`)
    }
    push.outcome = 'pushed'
    push.untilMs = clockMs
    if (ids.length === 0) return
    push.ids = ids
    for (const [index, id] of ids.entries()) {
      const fate = push.fates[index] as Fate
      this.learn(id, fate.item.text, fate.pushedTo)
      this.#dueById.set(id, fate.pushedForMs)
    }
  }

  /** `why`: the code of the error, or that nobody knows. */
  refused(push: Push, why: string, clockMs: number): void {
    this.note(`${why}: ${push.fates.map(({ item }) => item.text).join()}`)
    push.untilMs = clockMs
    // Whoever knows the key answers as before, whatever it would say to the call now.
    if (push.outcome === 'pushed' && why.startsWith('INVALID')) {
      this.violate(`${push.fates[0]?.item.text} was pushed, and its repetition got ${why}`)
    }
    if (push.outcome === 'pushed' || push.outcome === 'unknown') return
    push.outcome = why === 'unknown' ? 'unknown' : 'refused'
  }

  learn(id: string, text: string, queue: string): void {
    const fate = this.#fates.get(text)
    const other = this.#byId.get(id)
    if (other !== undefined && other !== fate) this.violate(`${id} names two items`)
    if (fate !== undefined) this.#byId.set(id, fate)
    this.#queueById.set(id, queue)
  }

  /** By whom and whatever became of it: handed out by a pop. */
  seen(queue: string, items: readonly PoppedItem[], { call, clockMs }: When): void {
    for (const item of items) {
      const { text, id, scheduledId, dueMs = 0 } = item
      const fate = this.#fates.get(text)
      if (fate === undefined) {
        this.violate(`${text} was never pushed`)
        continue
      }
      fate.seen += 1
      const byId = scheduledId === undefined ? 0 : (this.#dueById.get(scheduledId) ?? 0)
      const earliestMs = Math.max(dueMs, byId, fate.earliestMs, fate.notBeforeMs)
      if (clockMs + this.#apartMs < earliestMs) {
        this.violate(`${text} came ${earliestMs - clockMs} ms early`)
      }
      this.#checkExpiry(fate, item, call)
      this.#checkPlace(fate, queue, item)
      if (fate.ended !== undefined && fate.ended.at < call.at) {
        this.violate(`${text} came after it was ${fate.ended.how}`)
      }
      this.#checkIds(text, item, call)
      this.learn(id, text, queue)
    }
  }

  #checkExpiry(
    { item, push, calledMs }: Fate,
    { text, expiresAtMs = 0 }: PoppedItem,
    call: Call,
  ): void {
    const { expiresInSeconds } = item
    if (item.expiresAtMs === undefined && expiresInSeconds === undefined) return
    const lateMs = call.clockMs - (expiresAtMs ?? 0)
    if (lateMs >= 0) this.violate(`${text} came ${lateMs} ms after its expiry`)
    const isIts =
      expiresInSeconds === undefined
        ? expiresAtMs === item.expiresAtMs
        : expiresAtMs >= calledMs + 1_000 * expiresInSeconds &&
          expiresAtMs <= push.untilMs + 1_000 * expiresInSeconds
    if (!isIts) this.violate(`${text} has another expiry, ${expiresAtMs}`)
  }

  #checkPlace(fate: Fate, queue: string, { id, scheduledId }: PoppedItem): void {
    const { text } = fate.item
    const belongs = this.#queueById.get(id) ?? queue
    if (!fate.queues.has(queue) || belongs !== queue) this.violate(`${text} came out of ${queue}`)
    if (scheduledId === undefined) return
    const its = this.#byId.get(scheduledId)
    if (its !== undefined && its !== fate) {
      this.violate(`${text} has the id ${scheduledId} of ${its.item.text}`)
    }
  }

  #checkIds(text: string, { id, scheduledId = '', dueMs = 0 }: PoppedItem, call: Call): void {
    const ended = this.#endedIds.get(id)
    if (ended !== undefined && ended.at < call.at) {
      this.violate(`${text} came as ${id}, which was ${ended.how}`)
    }
    const before = this.#endedIds.get(scheduledId)
    if (before === undefined) return
    if (before.how !== 'gone') {
      this.violate(`${text} came as ${scheduledId}, which was ${before.how}`)
    } else if (before.clockMs + this.#apartMs < dueMs) {
      // It had not joined by then, so it was there.
      this.violate(`${text} came, and ${scheduledId} was gone before it was due`)
    }
  }

  /** For good. */
  taken(queue: string, texts: readonly string[]): void {
    this.note(`taken from ${queue}: ${texts.join()}`)
    for (const text of texts) this.#end(this.#fates.get(text), 'taken')
  }

  #end(fate: Fate | undefined, how: 'taken' | 'cancelled' | 'purged'): void {
    if (fate === undefined) return
    if (how === 'taken') fate.taken += 1
    if (how === 'cancelled') fate.cancelled += 1
    fate.ended ??= { how, at: this.call(0).at }
  }

  /** Nobody knows whether a call has ended these. */
  mayBeGone(texts: readonly string[], why: string): void {
    this.note(`may be gone (${why}): ${texts.join()}`)
    for (const text of texts) (this.#fates.get(text) as Fate).mayBeGone = true
  }

  released(texts: readonly string[], untilMs: number): void {
    this.note(`released until ${untilMs % 10_000_000}: ${texts.join()}`)
    for (const text of texts) {
      const fate = this.#fates.get(text)
      // Somebody moved it meanwhile: then it is free where it is.
      if (fate !== undefined && fate.moves === 0) fate.notBeforeMs = untilMs
    }
  }

  /** Shown as scheduled, or as waiting in a lane. `mayBeOld`: a row may be as it was before a transaction. */
  shown(
    queue: string,
    items: readonly (ScheduledItem | PoppedItem)[],
    call: Call,
    mayBeOld: boolean,
  ): void {
    let last = 0
    for (const item of items) {
      const { text, id, dueMs = 0 } = item
      const fate = this.#fates.get(text)
      const isScheduled = id.startsWith('t-')
      if (isScheduled && dueMs < last) this.violate(`${queue}: ${text} is listed out of order`)
      last = dueMs
      this.learn(id, text, queue)
      for (const ended of [fate?.ended, this.#endedIds.get(id)]) {
        if (ended === undefined || ended.at > call.at || mayBeOld) continue
        this.violate(`${text} is shown as ${id}, and was ${ended.how}`)
      }
      if (fate === undefined) this.violate(`${text} was never pushed`)
      else if (isScheduled && dueMs < fate.earliestMs) this.violate(`${text} is due too early`)
    }
  }

  fateOf(id: string): Fate | undefined {
    return this.#byId.get(id)
  }

  cancelled(queue: string, results: readonly (Named & { result: string })[], when: When): void {
    this.note(`cancel in ${queue}: ${results.map(({ id, result }) => `${id} ${result}`).join()}`)
    // An id that was named twice is answered twice.
    for (const { id, result } of new Map(results.map((one) => [one.id, one])).values()) {
      if (result !== 'cancelled') {
        this.#refusedById(queue, id, result, when)
        continue
      }
      const fate = this.#endId(id, 'cancelled', when)
      if (fate === undefined) continue
      if (fate.ended !== undefined && fate.ended.at < when.call.at) {
        this.violate(`${fate.item.text} was cancelled after it was ${fate.ended.how}`)
      }
      if (id.startsWith('t-') && !fate.isPutOff) this.#neverSeen(fate, 'cancelled')
      this.#end(fate, 'cancelled')
    }
  }

  #neverSeen({ seen, item }: Fate, how: string): void {
    if (seen > 0) this.violate(`${item.text} came before it was ${how} while it was scheduled`)
  }

  #endId(id: string, how: string, { clockMs }: { readonly clockMs: number }): Fate | undefined {
    const fate = this.#byId.get(id)
    if (fate === undefined) this.violate(`${id} was ${how}, and nobody pushed it`)
    this.#endedIds.set(id, { how, at: this.call(0).at, clockMs })
    return fate
  }

  #refusedById(queue: string, id: string, result: string, { call, clockMs }: When): void {
    if (result === 'gone') {
      // In another queue than it was ever in it says nothing.
      if (!this.#endedIds.has(id) && this.#queueById.get(id) === queue) {
        this.#endedIds.set(id, { how: 'gone', at: this.call(0).at, clockMs })
      }
      return
    }
    const ended = this.#endedIds.get(id)
    if (id.startsWith('t-')) this.violate(`${id} is scheduled, and ${result}`)
    else if (ended !== undefined && ended.at < call.at) {
      this.violate(`${id} is ${result}, and was ${ended.how}`)
    }
  }

  /** Before a move is asked for: from now on its items may be there. */
  moving(ids: readonly string[], to: { readonly queue: string; readonly dueMs?: number }): void {
    this.note(`move to ${JSON.stringify(to)}: ${ids.join()}`)
    for (const id of ids) {
      const fate = this.#byId.get(id)
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
  moved(
    queue: string,
    ids: readonly string[],
    results: readonly (Named & { result: string; newId?: string })[] | undefined,
    to: { readonly queue: string; readonly dueMs?: number },
    when: When,
  ): void {
    for (const id of ids) {
      const fate = this.#byId.get(id)
      // A late copy may move it yet.
      if (fate !== undefined && results !== undefined) fate.openMoves -= 1
    }
    const said = results?.map(({ id, result, newId }) => `${id} ${result} ${newId}`)
    this.note(`moved: ${said?.join() ?? 'unknown'}`)
    for (const { id, result, newId } of new Map(results?.map((one) => [one.id, one])).values()) {
      if (result !== 'moved') this.#refusedById(queue, id, result, when)
      else if (newId !== id) this.#movedTo(id, newId, to, when)
    }
  }

  #movedTo(
    id: string,
    newId: string | undefined,
    { queue, dueMs }: { readonly queue: string; readonly dueMs?: number },
    when: When,
  ): void {
    const fate = this.#endId(id, 'moved', when)
    if (fate === undefined) return
    if (fate.ended !== undefined && fate.ended.at < when.call.at) {
      this.violate(`${fate.item.text} was moved after it was ${fate.ended.how}`)
    }
    const [wasScheduled, isScheduled] = [id, newId].map((one) => one?.startsWith('t-') === true)
    const mustBe = wasScheduled || isAhead(dueMs, when)
    if (mustBe !== undefined && isScheduled !== mustBe) {
      this.violate(`${id} became ${newId}, due at ${dueMs}`)
    }
    if (newId === undefined) return
    this.learn(newId, fate.item.text, queue)
    this.#dueById.set(newId, dueMs ?? this.#dueById.get(id) ?? 0)
  }

  /** What is certainly there when a purge is asked for, and can only be taken, cancelled or purged. */
  purging(queue: string): readonly Fate[] {
    this.note(`purge ${queue}`)
    return [...this.#fates.values()].filter(
      ({ push, queues, openMoves }) =>
        push.outcome === 'pushed' && queues.size === 1 && queues.has(queue) && openMoves === 0,
    )
  }

  purged(queue: string, there: readonly Fate[], moves: readonly number[]): void {
    this.note(`purged ${queue}`)
    for (const fate of this.#fates.values()) if (fate.queues.has(queue)) fate.mayBeGone = true
    for (const [index, fate] of there.entries()) {
      // One that was moved meanwhile may have come behind the purge.
      if (fate.moves === moves[index]) this.#end(fate, 'purged')
    }
  }

  purgeUnknown(queue: string): void {
    this.note(`purge of ${queue}: unknown`)
    this.#openPurges.add(queue)
  }

  buried(queue: string, items: readonly PoppedItem[]): void {
    for (const { text, reason, expiresAtMs } of items) {
      this.note(`dead letter of ${queue}: ${text} ${reason}`)
      const fate = this.#fates.get(text)
      if (fate === undefined) this.violate(`${text} was never pushed`)
      else fate.dead += 1
      if (reason !== 'expired') this.violate(`${text} is dead for the reason ${reason}`)
      if (expiresAtMs !== undefined) this.violate(`${text} is dead, and expires`)
    }
  }

  /** `keepsExpired`: the queues whose expired items become dead letters. */
  verdict(keepsExpired: ReadonlySet<string>): void {
    for (const fate of this.#fates.values()) this.#judge(fate, keepsExpired)
  }

  #judge(fate: Fate, keepsExpired: ReadonlySet<string>): void {
    const { item, taken, cancelled, dead, push, queues, ended } = fate
    const { text } = item
    const ends = taken + cancelled + dead
    if (taken > 1) this.violate(`${text} was taken ${taken} times`)
    if (cancelled > 1) this.violate(`${text} was cancelled ${cancelled} times`)
    if (dead > 1) this.violate(`${text} died ${dead} times`)
    if (ends > 1) {
      this.violate(`${text} was taken ${taken}, cancelled ${cancelled}, buried ${dead} times`)
    }
    const isThere = fate.seen > 0 || ends > 0
    if (isThere && push.outcome === 'refused') this.violate(`${text} was refused, and is there`)
    if (ends > 0 || push.outcome !== 'pushed' || ended !== undefined) return
    const isPurged = [...queues].some((queue) => this.#openPurges.has(queue))
    const expires = item.expiresAtMs !== undefined || item.expiresInSeconds !== undefined
    const mayExpire = expires && [...queues].some((queue) => !keepsExpired.has(queue))
    if (!fate.mayBeGone && !isPurged && !mayExpire) this.violate(`${text} is lost`)
  }
}
