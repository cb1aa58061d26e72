// What clients were told about each item, and what must therefore be so.

/** Pushed for certain, or perhaps: the answer was lost, or said so. */
type Item = {
  readonly text: string
  pushed: 'yes' | 'perhaps' | 'no'
  deliveries: number
  /** Taken for good: acknowledged, or popped without a lock. */
  taken: 'no' | 'perhaps' | 'yes'
}

export class Ledger {
  readonly #queues = new Map<string, Map<string, Item>>()
  readonly violations: string[] = []
  /** Pops without a lock whose answers were lost: each may have taken so many items with it. */
  readonly #lostPops = new Map<string, number>()

  pushing(queue: string, text: string): void {
    this.#of(queue).set(text, { text, pushed: 'perhaps', deliveries: 0, taken: 'no' })
  }

  pushed(queue: string, text: string, how: 'yes' | 'perhaps' | 'no'): void {
    const item = this.#of(queue).get(text) as Item
    item.pushed = how
    if (how === 'no' && item.deliveries > 0) {
      this.#violated(`${text} was refused by ${queue} and delivered all the same`)
    }
  }

  /** Those that were taken before the pop began must not be in its answer. */
  takenBefore(queue: string): ReadonlySet<string> {
    const items = [...this.#of(queue).values()]
    return new Set(items.filter(({ taken }) => taken === 'yes').map(({ text }) => text))
  }

  popped(
    queue: string,
    texts: readonly string[],
    {
      takenBefore,
      locked,
    }: { readonly takenBefore: ReadonlySet<string>; readonly locked: boolean },
  ): void {
    for (const text of texts) {
      const item = this.#of(queue).get(text)
      if (item === undefined) {
        this.#violated(`${queue} delivered ${text}, which nobody pushed there`)
        continue
      }
      if (item.pushed === 'no') this.#violated(`${text} was refused by ${queue} and delivered`)
      if (takenBefore.has(text))
        this.#violated(`${text} was delivered by ${queue} after it was taken`)
      item.deliveries += 1
      if (locked) continue
      if (item.deliveries > 1) this.#violated(`${text} was taken from ${queue} twice`)
      item.taken = 'yes'
    }
  }

  acknowledged(queue: string, texts: readonly string[], how: 'yes' | 'perhaps'): void {
    for (const text of texts) {
      const item = this.#of(queue).get(text)
      if (item !== undefined && item.taken !== 'yes') item.taken = how
    }
  }

  popLost(queue: string, count: number): void {
    this.#lostPops.set(queue, (this.#lostPops.get(queue) ?? 0) + count)
  }

  /** Once all queues are drained: what was pushed has been taken, and nothing is missing. */
  finish(): void {
    for (const [queue, items] of this.#queues) {
      const missing = [...items.values()].filter(
        ({ pushed, taken }) => pushed === 'yes' && taken === 'no',
      )
      const excused = this.#lostPops.get(queue) ?? 0
      if (missing.length > excused) {
        const [first] = missing
        this.#violated(`${missing.length} items of ${queue} are lost, ${first?.text} among them`)
      }
    }
  }

  get counts(): { readonly pushed: number; readonly deliveries: number; readonly perhaps: number } {
    const items = [...this.#queues.values()].flatMap((queue) => [...queue.values()])
    return {
      pushed: items.filter(({ pushed }) => pushed === 'yes').length,
      perhaps: items.filter(({ pushed }) => pushed === 'perhaps').length,
      deliveries: items.reduce((sum, { deliveries }) => sum + deliveries, 0),
    }
  }

  #of(queue: string): Map<string, Item> {
    let items = this.#queues.get(queue)
    if (items === undefined) {
      items = new Map()
      this.#queues.set(queue, items)
    }
    return items
  }

  #violated(what: string): void {
    // A broken service breaks everything: the first few tell what.
    if (this.violations.length < 50) this.violations.push(what)
  }
}
