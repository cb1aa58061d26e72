// A FIFO queue as one would write it down: a list of messages, looked through from the start each time.

const REMEMBERED_MS = 300_000

export type ModelMessage = {
  readonly id: string
  readonly group: string
  receives: number
  invisibleUntilMs: number
  handle: string
}

export class FifoModel {
  messages: ModelMessage[] = []
  readonly deadLetters: string[] = []
  readonly #remembered = new Map<string, { id: string; untilMs: number }>()
  readonly #receivesMax: number

  constructor(receivesMax: number) {
    this.#receivesMax = receivesMax
  }

  /** The id of the message that this one repeats. */
  earlier(group: string, deduplicationId: string, nowMs: number): string | undefined {
    const found = this.#remembered.get(`${group}/${deduplicationId}`)
    return found && found.untilMs > nowMs ? found.id : undefined
  }

  sent(id: string, group: string, deduplicationId: string, nowMs: number): void {
    const untilMs = nowMs + REMEMBERED_MS
    this.#remembered.set(`${group}/${deduplicationId}`, { id, untilMs })
    this.messages.push({ id, group, receives: 0, invisibleUntilMs: 0, handle: '' })
  }

  /** What a receive has to hand out, in order. */
  receive(max: number, nowMs: number): readonly ModelMessage[] {
    const groups = [...new Set(this.messages.map(({ group }) => group))]
    const received: ModelMessage[] = []
    for (const group of groups) {
      const all = this.messages.filter((it) => it.group === group)
      const closedFrom = all.findIndex(({ invisibleUntilMs }) => invisibleUntilMs > nowMs)
      for (const one of closedFrom < 0 ? all : all.slice(0, closedFrom)) {
        if (received.length === max) return received
        if (one.receives < this.#receivesMax) received.push(one)
        else this.#giveUp(one)
      }
    }
    return received
  }

  /** Whether the handle may delete it, or change its visibility. */
  holds(handle: string, nowMs: number): ModelMessage | undefined {
    return this.messages.find((one) => one.handle === handle && one.invisibleUntilMs > nowMs)
  }

  remove({ id }: ModelMessage): void {
    this.messages = this.messages.filter((one) => one.id !== id)
  }

  #giveUp(message: ModelMessage): void {
    this.remove(message)
    this.deadLetters.push(message.id)
  }
}
