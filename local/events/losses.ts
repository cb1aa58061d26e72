// Events that got lost: we gave them up after their retries, or an earlier stack ended in the middle of them. Lambda
// would keep the first kind in a failure queue, and never loses the second. Here, some functions say in the template's
// metadata which event makes them announce waiting items again, so that nothing sleeps for ever.

import { isObject } from '../template/assembly.ts'
import type { FunctionPlan } from '../template/plan-functions.ts'

type LossesSettings = {
  readonly functions: readonly FunctionPlan[]
  /** Leaves the event out while an earlier one with the same key is not done, and then returns false. */
  readonly submit: (functionArn: string, event: string, key: string) => boolean
  readonly onNotice: (sentence: string) => void
  /** Only this stack runs consumers on these stores. */
  readonly isAlone: boolean
  readonly againMs?: number | undefined
}

type How = 'afterLoss' | 'afterRestart'

/**
 * A function that cannot start fails three times within two seconds, so with this pause it is tried once a second: a
 * tenth of a core, and nothing is late once it works again.
 */
const AGAIN_MS = 1_000

export class Losses {
  readonly #settings: LossesSettings
  /** What we have said about functions that have failed since they last answered. */
  readonly #said = new Map<string, Set<string>>()
  #timer: NodeJS.Timeout | undefined
  #owed: How = 'afterLoss'
  #isStopped = false

  constructor(settings: LossesSettings) {
    this.#settings = settings
  }

  /** An event was given up. The same sentence comes once, until the function answers again. */
  dropped(functionId: string, event: string, reason: string): void {
    const plan = this.#settings.functions.find(({ id }) => id === functionId)
    const isAnnouncing = plan?.afterLoss !== undefined
    if (isAnnouncing && event === JSON.stringify(plan.afterRestart)) this.#owed = 'afterRestart'
    this.happened()
    const subject = subjectOf(event)
    const said = this.#said.get(functionId) ?? new Set()
    this.#said.set(functionId, said)
    if (said.has(subject) || said.size === SUBJECTS_MAX) return
    said.add(subject)
    const isAnnounced = this.#settings.functions.some(({ afterLoss }) => afterLoss !== undefined)
    this.#settings.onNotice(
      `An event for ${functionId} ${subject} was dropped because ${reason}. ` +
        (isAnnounced && subject.startsWith('about the queue')
          ? `On AWS it would be in a failure queue now; here the queue is announced again soon, and again until it works: mend ${functionId}, and its items are handled.`
          : `On AWS it would be in the function's failure queue, if it has one: mend ${functionId}, and send the event again.`),
    )
  }

  answered(functionId: string): void {
    this.#said.delete(functionId)
  }

  /** Something was lost: we soon announce the items that wait. */
  happened(): void {
    if (this.#isStopped) return
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      const how = this.#owed
      this.#owed = 'afterLoss'
      this.announce(how)
    }, this.#againMs)
  }

  /** Announces waiting items now. `afterRestart`: no function of ours is at work. */
  announce(how: How): void {
    const { functions, isAlone, submit } = this.#settings
    for (const { arn, afterLoss, afterRestart } of functions) {
      const event = isAlone && how === 'afterRestart' ? afterRestart : afterLoss
      // The one at work may have passed what was lost meanwhile, so another must follow it.
      if (event && !submit(arn, JSON.stringify(event), `${how} ${arn}`)) this.happened()
    }
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  get #againMs(): number {
    return this.#settings.againMs ?? AGAIN_MS
  }
}

/** We name this many events of a broken function; by then, the user knows. */
const SUBJECTS_MAX = 5

const EVENT_CHARACTERS_MAX = 200

/** What an event is about, for a person: a queue, if it names one. */
function subjectOf(text: string): string {
  const event: unknown = JSON.parse(text)
  const detail = isObject(event) && isObject(event.detail) ? event.detail : {}
  if (typeof detail.queue === 'string') return `about the queue "${detail.queue}"`
  const shown =
    text.length > EVENT_CHARACTERS_MAX ? `${text.slice(0, EVENT_CHARACTERS_MAX)}…` : text
  return `(${shown})`
}
