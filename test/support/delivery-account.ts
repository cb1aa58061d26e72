import type {
  AcknowledgeEvent,
  Deliveries,
  PopEvent,
  PushEvent,
  ReleaseEvent,
} from './deliveries.ts'

/** The call took effect, it did not, or we cannot know: the answer was lost, or said so. */
export type Outcome = 'yes' | 'no' | 'unknown'

/** Records the calls on one queue and their answers, for `findFaults`. */
export class DeliveryAccount implements Deliveries {
  readonly pushes: PushEvent[] = []
  readonly pops: PopEvent[] = []
  readonly acknowledgements: AcknowledgeEvent[] = []
  readonly releases: ReleaseEvent[] = []
  readonly unseen = { least: 0, most: 0 }
  readonly #now: () => number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Before the call is sent: an item may be delivered before the answer is there. */
  pushing(items: PushEvent['items']): (outcome: Outcome) => void {
    return this.#keep(this.pushes, { items, calledAt: this.#now() })
  }

  popping(): (popped: Pick<PopEvent, 'items' | 'lockId'>) => void {
    const calledAt = this.#now()
    return (popped) => this.pops.push({ ...popped, calledAt, answeredAt: this.#now() })
  }

  acknowledging(lockId: string, names: readonly string[]): (outcome: Outcome) => void {
    return this.#keep(this.acknowledgements, { lockId, names, calledAt: this.#now() })
  }

  /** A call took items without naming them. */
  tookUnseen({ least, most }: { readonly least: number; readonly most: number }): void {
    this.unseen.least += least
    this.unseen.most += most
  }

  #keep<Event extends { readonly answeredAt?: number }>(
    events: Event[],
    event: Event,
  ): (outcome: Outcome) => void {
    events.push(event)
    return (outcome) => {
      if (outcome === 'unknown') return
      const rest = outcome === 'yes' ? [{ ...event, answeredAt: this.#now() }] : []
      events.splice(events.indexOf(event), 1, ...rest)
    }
  }
}

export class DeliveryAccounts {
  readonly #byQueue = new Map<string, DeliveryAccount>()

  of(queue: string): DeliveryAccount {
    let account = this.#byQueue.get(queue)
    if (account === undefined) {
      account = new DeliveryAccount()
      this.#byQueue.set(queue, account)
    }
    return account
  }
}

/** The names of all items delivered, once for each delivery. */
export const namesIn = ({ pops }: Pick<Deliveries, 'pops'>): string[] =>
  pops.flatMap(({ items }) => items.map(({ name }) => name))
