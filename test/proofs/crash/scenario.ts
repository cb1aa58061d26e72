import type { Command } from '../world/actors/callers/command.ts'
import { Knowledge, type KnownLock, learn } from '../world/actors/callers/knowledge.ts'
import type { Operation } from '../world/actors/callers/operation.ts'

export const queue = 'orders'

/** One operation under test, in a state where it takes a certain path. */
export type Scenario = {
  readonly name: string
  /** What brings the queue into that state. */
  readonly before: readonly Step[]
  readonly subject: Step
  /** The subject's engine prepared the state and remembers it; else it has just started. */
  readonly warm: boolean
  /** Time that passes before the subject. */
  readonly waitMs: number
  /** Requests that the path takes at least: a scenario that misses its path proves nothing. */
  readonly requestsMin: number
}

type Make = (
  name: string,
  before: readonly Step[],
  subject: Step,
  requestsMin: number,
  waitMs?: number,
) => Scenario

const scenario =
  (warm: boolean): Make =>
  (name, before, subject, requestsMin, waitMs = 0) => ({
    name,
    before,
    subject,
    warm,
    waitMs,
    requestsMin,
  })

export const cold = scenario(false)
export const warm = scenario(true)

export type Step = (state: State) => Command

/** What the callers have learnt from earlier steps. */
export class State {
  readonly #knowledge = new Knowledge()
  #lock: KnownLock | undefined

  text(bytes = 0): string {
    return this.#knowledge.nextText(bytes)
  }

  texts(count: number, bytes = 0, priority = 0): { text: string; priority: number }[] {
    return Array.from({ length: count }, () => ({ text: this.text(bytes), priority }))
  }

  /** The lock of the last pop. */
  get lock(): KnownLock {
    return this.#lock ?? { queue, lockId: 'none0000000', ids: [] }
  }

  learn(operation: Operation<Command>): void {
    learn(this.#knowledge, operation)
    const { outcome, command } = operation
    if (command.verb !== 'pop' || outcome?.kind !== 'success') return
    const { lock, items = [] } = outcome.value as {
      lock?: { id: string }
      items?: readonly { id: string }[]
    }
    if (lock === undefined) return
    this.#lock = { queue: command.queue, lockId: lock.id, ids: items.map(({ id }) => id) }
  }
}
