import type { PoppedItem, PushItem, ScheduledItem } from '../../../lambdas/engine/queues.ts'

// What must have become of everything, by the callers' own account. It does not look at the engine's records.

type Fate = {
  readonly queue: string
  readonly earliestMs: number
  readonly push: Push
  id: string | undefined
  taken: number
  isCancelled: boolean
}

export type Push = {
  readonly texts: readonly string[]
  outcome: 'none' | 'pushed' | 'refused' | 'unknown'
  ids: readonly string[] | undefined
}

export class Account {
  readonly history: string[] = []
  readonly #violations: string[] = []
  readonly #fates = new Map<string, Fate>()
  readonly #byId = new Map<string, string>()
  readonly #nowMs: () => number

  readonly #apartMs: number

  /** `apartMs`: how far two clocks may be apart, because an item joins by the clock of the process that comes first. */
  constructor(nowMs: () => number, apartMs: number) {
    this.#nowMs = nowMs
    this.#apartMs = apartMs
  }

  #note(text: string): void {
    this.history.push(`${this.#nowMs() % 10_000_000} ${text}`)
  }

  pushing(queue: string, items: readonly PushItem[], clockMs: number): Push {
    const push: Push = { texts: items.map(({ text }) => text), outcome: 'none', ids: undefined }
    for (const { text, delaySeconds = 0, deliverAtMs } of items) {
      const earliestMs = deliverAtMs ?? clockMs + 1_000 * delaySeconds
      const fate = { queue, earliestMs, push, id: undefined, taken: 0, isCancelled: false }
      this.#fates.set(text, fate)
    }
    this.#note(`push to ${queue}: ${items.map((item) => JSON.stringify(item)).join()}`)
    return push
  }

  pushed(push: Push, ids: readonly string[]): void {
    this.#note(`pushed ${ids.join()}`)
    if (push.ids !== undefined && push.ids.join() !== ids.join() && ids.length > 0) {
      this.#violations.push(`a repeated push answered ${ids.join()} after ${push.ids.join()}`)
    }
    push.outcome = 'pushed'
    if (ids.length === 0) return
    push.ids = ids
    for (const [index, id] of ids.entries()) {
      const text = push.texts[index] as string
      const other = this.#byId.get(id)
      if (other !== undefined && other !== text) this.#violations.push(`${id} names two items`)
      this.#byId.set(id, text)
      ;(this.#fates.get(text) as Fate).id = id
    }
  }

  refused(push: Push, isUnknown: boolean): void {
    this.#note(`${isUnknown ? 'unknown' : 'refused'}: ${push.texts.join()}`)
    if (push.outcome === 'pushed' || push.outcome === 'unknown') return
    push.outcome = isUnknown ? 'unknown' : 'refused'
  }

  /** A pop handed it out at this time, by its own clock, whatever became of it then. */
  seen(items: readonly PoppedItem[], clockMs: number): void {
    for (const { text, dueMs = 0, scheduledId } of items) {
      const fate = this.#fates.get(text)
      if (fate === undefined) {
        this.#violations.push(`${text} was never pushed`)
        continue
      }
      const early = Math.max(dueMs, scheduledId === undefined ? 0 : fate.earliestMs)
      if (clockMs + this.#apartMs < early)
        this.#violations.push(`${text} came ${early - clockMs} ms early`)
      if (scheduledId !== undefined && fate.id !== undefined && scheduledId !== fate.id) {
        this.#violations.push(`${text} has the id ${scheduledId}, and was pushed as ${fate.id}`)
      }
    }
  }

  taken(queue: string, items: readonly PoppedItem[]): void {
    this.#note(`taken from ${queue}: ${items.map(({ text }) => text).join()}`)
    for (const { text } of items) {
      const fate = this.#fates.get(text)
      if (fate === undefined) continue
      fate.taken += 1
      if (fate.queue !== queue) this.#violations.push(`${text} came out of ${queue}`)
    }
  }

  listed(queue: string, items: readonly ScheduledItem[]): void {
    let last = 0
    for (const { text, dueMs } of items) {
      if (dueMs < last) this.#violations.push(`${queue}: ${text} is listed out of order`)
      last = dueMs
      if (this.#fates.get(text)?.isCancelled)
        this.#violations.push(`${text} is listed, and was cancelled`)
    }
  }

  knows(id: string): boolean {
    return this.#byId.has(id)
  }

  rescheduled(newIds: ReadonlyMap<string, string>, dueMs: number): void {
    this.#note(`moved to ${dueMs % 10_000_000}: ${[...newIds].join(' ')}`)
    for (const [id, newId] of newIds) {
      const text = this.#byId.get(id) as string
      const fate = this.#fates.get(text) as Fate
      this.#byId.set(newId, text)
      this.#fates.set(text, { ...fate, id: newId, earliestMs: dueMs })
    }
  }

  cancelled(ids: readonly string[]): void {
    this.#note(`cancelled ${ids.join()}`)
    for (const id of ids) {
      const text = this.#byId.get(id)
      // Of a push whose answer its caller has not got.
      const fate = text === undefined ? undefined : this.#fates.get(text)
      if (fate === undefined) this.#unknownIds.add(id)
      else fate.isCancelled = true
    }
  }

  readonly #unknownIds = new Set<string>()

  verdict(): string[] {
    const violations = [...this.#violations]
    for (const [text, { taken, isCancelled, push, id }] of this.#fates) {
      const cancelled = isCancelled || (id !== undefined && this.#unknownIds.has(id))
      const wanted = push.outcome === 'pushed' && !cancelled
      if (taken > 1) violations.push(`${text} was taken ${taken} times`)
      if (taken > 0 && cancelled) violations.push(`${text} was cancelled, and taken`)
      if (taken > 0 && push.outcome === 'refused') violations.push(`${text} was refused, and taken`)
      if (taken === 0 && wanted) violations.push(`${text} is lost`)
    }
    return violations
  }
}
