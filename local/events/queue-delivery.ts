// Events that go to a queue. Nobody waits for them; here they are in memory until the queue has them.

import { setTimeout as delay } from 'node:timers/promises'
import { type SqsApi, SqsApiError } from '../sqs/sqs-api.ts'
import { messageOf } from '../start-error.ts'
import type { QueueTarget } from '../template/plan-events.ts'

type QueueDeliverySettings = {
  readonly sqs: SqsApi
  readonly onNotice: (sentence: string) => void
  readonly pauseMs?: number | undefined
}

/** Some 10 MB of ordinary events. */
const WAITING_MAX = 10_000
const ATTEMPTS_MAX = 5
const PAUSE_MS = 500

export class QueueDelivery {
  readonly #settings: QueueDeliverySettings
  readonly #stop = new AbortController()
  #waiting = 0

  constructor(settings: QueueDeliverySettings) {
    this.#settings = settings
  }

  deliver(target: QueueTarget, input: string): void {
    if (this.#stop.signal.aborted) return
    if (this.#waiting >= WAITING_MAX) {
      this.#drop(target, `${WAITING_MAX} events wait already`)
      return
    }
    this.#waiting += 1
    this.#send(target, input)
      .catch((error) => this.#drop(target, messageOf(error)))
      .finally(() => {
        this.#waiting -= 1
      })
  }

  stop(): void {
    this.#stop.abort()
  }

  async #send({ queueUrl, messageGroupId }: QueueTarget, input: string): Promise<void> {
    const { sqs, pauseMs = PAUSE_MS } = this.#settings
    const group = messageGroupId !== undefined && { MessageGroupId: messageGroupId }
    for (let attempt = 1; ; attempt++) {
      try {
        await sqs('SendMessage', { QueueUrl: queueUrl, MessageBody: input, ...group })
        return
      } catch (error) {
        // If SQS refuses a message, it would refuse it again.
        if (error instanceof SqsApiError || attempt === ATTEMPTS_MAX) throw error
      }
      await delay(pauseMs, undefined, { signal: this.#stop.signal })
    }
  }

  #drop({ queueUrl }: QueueTarget, reason: string): void {
    if (this.#stop.signal.aborted) return
    this.#settings.onNotice(`An event for the queue ${queueUrl} was dropped because ${reason}.`)
  }
}
