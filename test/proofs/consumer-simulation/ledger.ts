import type { Item } from '../../../lambdas/consumer/core/item.ts'
import type { PoppedItem } from '../../../lambdas/engine/queues.ts'
import type { Random } from '../../../testing/random.ts'

/** The items pushed, the work of the handlers, and the calls that no handler should have got. */
export class Ledger {
  readonly violations: string[] = []
  /** Numbers of items whose handler came to its end. */
  readonly done = new Set<number>()
  /** Numbers of items that were delivered as often as they may be, or met a purge. */
  readonly mayBeGone = new Set<number>()
  failuresForGood = 0
  handled = 0
  /** How often an item came before one that had failed and waited for its retry. */
  overtaken = 0
  /** Priorities by the item's number. */
  readonly #pushed: number[] = []
  readonly #random: Random
  readonly #isExclusive: boolean
  readonly #mayOvertake: boolean
  readonly #failed = new Set<number>()
  readonly #failing: number
  readonly #deliveriesMax: number
  readonly #slowMs: number
  readonly #active = new Set<string>()
  readonly #purged = new Set<number>()
  #runs = 0

  constructor(options: {
    readonly random: Random
    readonly isExclusive: boolean
    /** What has failed keeps back none of the others. */
    readonly mayOvertake: boolean
    /** Odds that the handler of a batch throws. */
    readonly failing: number
    readonly deliveriesMax: number
    readonly slowMs: number
  }) {
    this.#random = options.random
    this.#isExclusive = options.isExclusive
    this.#mayOvertake = options.mayOvertake
    this.#failing = options.failing
    this.#deliveriesMax = options.deliveriesMax
    this.#slowMs = options.slowMs
  }

  get pushed(): number {
    return this.#pushed.length
  }

  /** Returns the item's number. */
  push(priority: number): number {
    return this.#pushed.push(priority) - 1
  }

  purged(priority: number | undefined): void {
    for (const [number, own] of this.#pushed.entries()) {
      if (priority === undefined || own === priority) this.mayBeGone.add(number)
    }
  }

  /** Runs may hear of these items only now, in an answer that was on its way: nobody waits for them. */
  locksPurged(numbers: readonly number[]): void {
    this.#active.clear()
    for (const number of numbers) this.#purged.add(number)
  }

  get left(): number[] {
    return [...this.#pushed.keys()].filter((n) => !this.done.has(n) && !this.mayBeGone.has(n))
  }

  newRun(): number {
    this.#runs += 1
    return this.#runs
  }

  died(run: string): void {
    this.#active.delete(run)
  }

  gaveUp(): void {
    this.failuresForGood += 1
  }

  /** By a pop, whether the handler gets to see them or not. */
  delivered(items: readonly PoppedItem[]): void {
    for (const { text, deliveries } of items) {
      if (deliveries >= this.#deliveriesMax) this.mayBeGone.add(Number(text))
    }
  }

  async handle(
    run: string,
    items: readonly Item[],
    sleep: (ms: number) => Promise<void>,
  ): Promise<void> {
    const numbers = items.map(({ value }) => value as number)
    this.handled += 1
    if (this.#isExclusive && !numbers.every((n) => this.#purged.has(n))) {
      if (this.#active.size > 0) {
        this.violations.push(`${run} works beside ${[...this.#active].join()}`)
      }
      this.#active.add(run)
      const first = numbers[0] as number
      const ahead = this.left.filter((n) => n < first && this.#pushed[n] === this.#pushed[first])
      const passed = ahead.find((n) => !this.#mayOvertake || !this.#failed.has(n))
      if (passed === undefined) this.overtaken += ahead.length
      else {
        this.violations.push(`${run} got ${first} before ${passed} was done`)
      }
    }
    const ms = this.#random.next() ** 4 * this.#slowMs
    await sleep(ms)
    this.#active.delete(run)
    if (this.#random.chance(this.#failing)) {
      for (const number of numbers) this.#failed.add(number)
      throw new Error('The handler failed')
    }
    for (const number of numbers) this.done.add(number)
  }
}
