import type { Item as Popped } from '../../../lambdas/consumer/core/item.ts'

/**
 * - `poison`: its handler fails, always.
 * - `flaky`: it fails now and then.
 * - `killer`: whoever works on it dies.
 */
export type Kind = 'good' | 'flaky' | 'poison' | 'killer'

export type Item = {
  readonly number: number
  readonly queue: string
  readonly kind: Kind
  done: boolean
  /** It failed itself: its handler had it alone, or named it. */
  failures: number
  /** A handler asked for its death. */
  wasCondemned: boolean
  /** Processes that died with it in hand, and with nothing else of its queue. */
  deathsAlone: number
  /** Handlers that had it and died or were given up. */
  interruptions: number
  /** Deaths of any process, before it was pushed. */
  readonly deathsBefore: number
  buriedFor: string | undefined
}

const INTERRUPTIONS_FORGIVEN = 5

type Work = {
  readonly items: readonly Item[]
  readonly process: string
  readonly lost: AbortSignal
}

/** All items, and what handlers were given and did. */
export class Ledger {
  readonly items: Item[] = []
  readonly violations: string[] = []
  readonly #isExclusive: boolean
  readonly #atWork = new Map<string, Set<Work>>()
  readonly #freeSinceMs = new Map<string, number>()
  /** The longest that a queue with something to do had no handler called. */
  longestWaitMs = 0
  handled = 0
  #deaths = 0

  constructor(isExclusive: boolean) {
    this.#isExclusive = isExclusive
  }

  push(queue: string, kind: Kind, nowMs: number): Item {
    const item: Item = {
      number: this.items.length,
      queue,
      kind,
      done: false,
      failures: 0,
      wasCondemned: false,
      deathsAlone: 0,
      interruptions: 0,
      deathsBefore: this.#deaths,
      buriedFor: undefined,
    }
    this.items.push(item)
    if (!this.#freeSinceMs.has(queue)) this.#freeSinceMs.set(queue, nowMs)
    return item
  }

  get left(): Item[] {
    return this.items.filter(({ done, buriedFor }) => !done && buriedFor === undefined)
  }

  buried(text: string, told: string): void {
    const item = this.items[Number(text)] as Item
    if (item.buriedFor !== undefined) return
    // Behind it is the error of the last delivery.
    const [reason = ''] = told.split(':')
    item.buriedFor = reason
    const { failures, deathsAlone } = item
    const isGuilty = item.kind === 'good' ? this.#isSuspect(item) : failures + deathsAlone > 0
    const isTrue = reason === 'poison' ? item.wasCondemned : reason === 'max_deliveries' && isGuilty
    if (isTrue || item.done) return
    const { number, kind } = item
    this.violations.push(`${kind} item ${number} was buried for "${reason}", and it is innocent`)
  }

  begin(
    process: string,
    queue: string,
    popped: readonly Popped[],
    lost: AbortSignal,
    nowMs: number,
  ): Work {
    const items = popped.map(({ value }) => this.items[value as number] as Item)
    const who = `${process} with ${items.map(({ number }) => number).join()} of ${queue}`
    this.handled += 1
    this.longestWaitMs = Math.max(
      this.longestWaitMs,
      nowMs - (this.#freeSinceMs.get(queue) ?? nowMs),
    )
    const work = { items, process, lost }
    const others = this.#at(queue)
    if (items.some((item) => item.queue !== queue)) this.violations.push(`${who}: a wrong queue`)
    if (this.#isExclusive) {
      for (const other of others) {
        // It has been told that its lock is gone.
        if (!other.lost.aborted) this.violations.push(`${who} works beside ${other.process}`)
      }
      const first = items[0] as Item
      // One that has failed may be dead by now.
      const passed = this.left.find(
        (it) =>
          it.queue === queue &&
          it.number < first.number &&
          it.failures + it.deathsAlone === 0 &&
          !this.#isSuspect(it),
      )
      if (passed !== undefined) this.violations.push(`${who} came before ${passed.number} was done`)
    }
    others.add(work)
    return work
  }

  end({ items, ...work }: Work, nowMs: number): void {
    const [{ queue }] = items as [Item]
    for (const other of this.#at(queue)) {
      if (other.items === items && other.process === work.process) this.#at(queue).delete(other)
    }
    if (this.left.some((item) => item.queue === queue)) this.#freeSinceMs.set(queue, nowMs)
    else this.#freeSinceMs.delete(queue)
  }

  /** It died, or has given up its handlers. */
  gone(process: string, how: 'died' | 'gave up'): void {
    if (how === 'died') this.#deaths += 1
    for (const works of this.#atWork.values()) {
      for (const work of works) {
        if (work.process !== process) continue
        works.delete(work)
        for (const item of work.items) item.interruptions += 1
        if (how === 'died' && work.items.length === 1) (work.items[0] as Item).deathsAlone += 1
      }
    }
  }

  /** Nobody can tell a good item from a killer if all who took it died or gave it up, for whatever reason. */
  #isSuspect({ interruptions, deathsBefore }: Item): boolean {
    return interruptions + this.#deaths - deathsBefore > INTERRUPTIONS_FORGIVEN
  }

  isAtWork(process: string): boolean {
    return [...this.#atWork.values()].some((works) =>
      [...works].some((work) => work.process === process),
    )
  }

  #at(queue: string): Set<Work> {
    const works = this.#atWork.get(queue) ?? new Set()
    this.#atWork.set(queue, works)
    return works
  }
}
