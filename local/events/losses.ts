// Events that got lost: we gave them up after their retries, or an earlier stack ended in the middle of them. Lambda
// would keep the first kind in a failure queue, and never loses the second. Here, some functions say in the template's
// metadata which event makes them announce waiting items again, so that nothing sleeps for ever.

import { setTimeout as delay } from 'node:timers/promises'
import type { Outcome } from '../functions/messages.ts'
import { isObject } from '../template/assembly.ts'
import type { FunctionPlan } from '../template/plan-functions.ts'

type LossesSettings = {
  readonly functions: readonly FunctionPlan[]
  /** Leaves the event out while an earlier one with the same key is not done. */
  readonly submit: (functionArn: string, event: string, key: string) => void
  /** Calls a function once; not if the call has not begun by that time. */
  readonly invoke: (functionArn: string, event: string, beginsByMs: number) => Promise<Outcome>
  /** Lets no other function begin with an event, until we call what it returns. */
  readonly hold: () => () => void
  readonly onNotice: (sentence: string) => void
  /** Only this stack runs consumers on these stores. */
  readonly isAlone: boolean
  readonly againMs?: number | undefined
  readonly heldMsMax?: number | undefined
}

type How = 'afterLoss' | 'afterRestart'
/** `in part`: the function says that it failed at some queues. */
type Announced = 'all' | 'in part' | 'not'

/** A function that cannot start is tried once a second: a tenth of a core, and nothing is late once it works again. */
const AGAIN_MS = 1_000
/**
 * Events wait for a restart's announcement as long as a function may take to load its code. One that works answers in
 * a tenth of that; and the locks that it then leaves end by themselves, within five minutes at most.
 */
const HELD_MS_MAX = 10_000
/** A call walks through tens of thousands of queues before it answers with a cursor, so these are millions. */
const CALLS_MAX = 100
/** A busy store gives all queues by then. We would walk for ever to one that nobody can read. */
const IN_PART_MAX = 10
/** A function may fail once because the store was busy, and then there is nothing to fix. */
const FAILURES_UNTIL_SAID = 3

export class Losses {
  readonly #settings: LossesSettings
  /** What we have said about functions that have failed since they last answered. */
  readonly #said = new Map<string, Set<string>>()
  readonly #stop = new AbortController()
  #timer: NodeJS.Timeout | undefined
  /** The last announcement after a loss. */
  #last: Promise<void> = Promise.resolve()
  /** How many of those in a row did not reach all queues. */
  #inPart = 0
  /** How many calls in a row have failed. */
  #failures = 0

  constructor(settings: LossesSettings) {
    this.#settings = settings
  }

  /** An event was given up. The same sentence comes once, until the function answers again. */
  dropped(functionId: string, event: string, reason: string): void {
    const plan = this.#settings.functions.find(({ id }) => id === functionId)
    if (plan && wouldIgnore(plan, event)) return
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
          ? `On AWS it would be in a failure queue now; here the queue is announced again soon, and again until it works: fix ${functionId}, and its items are handled.`
          : `On AWS it would be in the function's failure queue, if it has one: fix ${functionId}, and send the event again.`),
    )
  }

  answered(functionId: string): void {
    this.#said.delete(functionId)
  }

  /** Something was lost: we soon announce the items that wait. */
  happened(): void {
    if (this.#stop.signal.aborted) return
    this.#timer ??= setTimeout(async () => {
      // The one at work may have passed what was lost meanwhile, so this one must follow it.
      await this.#last
      this.#timer = undefined
      this.#last = this.#announceAfterLoss()
    }, this.#againMs)
  }

  /**
   * No function of ours is at work, so the locks that consumers have left end. Until then no consumer begins, because
   * its lock would end with theirs.
   */
  async afterRestart(): Promise<void> {
    const { functions, isAlone, submit, hold, heldMsMax = HELD_MS_MAX } = this.#settings
    if (!isAlone) return this.happened()
    const release = hold()
    const untilMs = Date.now() + heldMsMax
    for (const { arn, afterLoss, afterRestart } of functions) {
      // This one ends no locks, and may stay at work.
      if (afterRestart && !afterLoss) submit(arn, JSON.stringify(afterRestart), `restart ${arn}`)
    }
    try {
      while ((await this.#announce('afterRestart', untilMs)) !== 'all') {
        await delay(this.#againMs, undefined, { signal: this.#stop.signal }).catch(() => {})
        if (Date.now() < untilMs && !this.#stop.signal.aborted) continue
        // The rest without the locks: from now on some of them may be alive.
        this.happened()
        break
      }
    } finally {
      release()
    }
  }

  stop(): void {
    this.#stop.abort()
    clearTimeout(this.#timer)
  }

  get #againMs(): number {
    return this.#settings.againMs ?? AGAIN_MS
  }

  async #announceAfterLoss(): Promise<void> {
    const announced = await this.#announce('afterLoss', Number.POSITIVE_INFINITY)
    this.#inPart = announced === 'in part' ? (this.#inPart + 1) % IN_PART_MAX : 0
    if (announced === 'not' || this.#inPart > 0) this.happened()
  }

  async #announce(how: How, untilMs: number): Promise<Announced> {
    let announced: Announced = 'all'
    for (const plan of this.#settings.functions) {
      const event = plan.afterLoss && plan[how]
      if (!event) continue
      const one = await this.#call(plan, event, untilMs)
      if (announced === 'all' || one === 'not') announced = one
    }
    return announced
  }

  /** Calls a function until it has announced all queues. We wait for its answers, but begin no call after that time. */
  async #call({ id, arn }: FunctionPlan, event: object, untilMs: number): Promise<Announced> {
    let next = event
    let announced: Announced = 'all'
    for (let calls = 0; calls < CALLS_MAX && Date.now() < untilMs; calls += 1) {
      const outcome = await this.#settings.invoke(arn, JSON.stringify(next), untilMs)
      if (outcome.kind === 'failed') this.#failed(id)
      if (outcome.kind !== 'answered') return 'not'
      this.#failures = 0
      const { cursor, failed } = answerIn(outcome.payload)
      if (failed) announced = 'in part'
      if (cursor === undefined) return announced
      next = goingOn(event, cursor)
    }
    return 'not'
  }

  #failed(functionId: string): void {
    this.#failures += 1
    if (this.#failures !== FAILURES_UNTIL_SAID || this.#stop.signal.aborted) return
    this.#settings.onNotice(
      `Cannot announce the items that wait because ${functionId} failed ${FAILURES_UNTIL_SAID} times; it is called again until it works.`,
    )
  }
}

function answerIn(payload: string): Readonly<Record<string, unknown>> {
  const answer: unknown = JSON.parse(payload)
  return isObject(answer) ? answer : {}
}

/** `{"announce": {}}` becomes `{"announce": {"cursor": …}}`. */
const goingOn = (event: object, cursor: unknown): object =>
  Object.fromEntries(Object.entries(event).map(([verb, request]) => [verb, { ...request, cursor }]))

/** We name this many events of a broken function; by then, the user knows. */
const SUBJECTS_MAX = 5

const EVENT_CHARACTERS_MAX = 200

/**
 * A consumer of a prefix gets events of the dead-letter queues with that prefix too, and leaves them alone. So nothing
 * is lost.
 */
const wouldIgnore = ({ environment }: FunctionPlan, event: string): boolean =>
  environment.PUSHPOP_CONSUMER_DEAD_LETTERS === 'no' &&
  (queueOf(event)?.endsWith('-deadletter') ?? false)

/** What an event is about, for a person: a queue, if it names one. */
function subjectOf(text: string): string {
  const queue = queueOf(text)
  if (queue !== undefined) return `about the queue "${queue}"`
  const shown =
    text.length > EVENT_CHARACTERS_MAX ? `${text.slice(0, EVENT_CHARACTERS_MAX)}…` : text
  return `(${shown})`
}

function queueOf(text: string): string | undefined {
  const event = parsed(text)
  const detail = isObject(event) && isObject(event.detail) ? event.detail : {}
  return typeof detail.queue === 'string' ? detail.queue : undefined
}

/** An event is JSON, unless a rule made something else of it. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
