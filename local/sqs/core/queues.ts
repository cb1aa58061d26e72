// All queues of the machine, what goes from one to another, and the receives that wait for a message.

import type { Message, NewMessage, Random, Received } from './message.ts'
import { Queue, type ReceiveRequest, type Sent } from './queue.ts'
import {
  changeAttributes,
  defaultAttributes,
  type QueueAttributes,
  settingsOf,
} from './queue-attributes.ts'
import type { Change, QueueRecord } from './shelf.ts'
import { invalidParameter, SqsError } from './sqs-error.ts'

/**
 * SQS has no limit. Here messages are in the memory of a process, which has some gigabytes; half of one is a day's
 * backlog of somebody who tries something out.
 */
const BYTES_MAX = 512 * 1_048_576
/** ListQueues cannot be asked for more either. */
const QUEUES_MAX = 1_000
/** SQS's own. */
const NAME_TAKEN_MS = 60_000

/**
 * Twenty digits, as on AWS, with room above. A queue begins by the time, with a million numbers for each
 * millisecond: a queue that is made again under its name counts on from there, so that readers which remember a
 * number still work.
 */
const firstSequence = (nowMs: number): bigint =>
  18_850_000_000_000_000_000n + BigInt(Math.floor(nowMs)) * 1_048_576n

export type Limits = {
  readonly bytesMax?: number | undefined
  /** The bound of each queue. */
  readonly inFlightMax?: number | undefined
}

export type Clockwork = { readonly nowMs: () => number; readonly random: Random }

export class Queues {
  readonly #byName = new Map<string, Queue>()
  /** When the name of a deleted queue is free again. An end of the process frees them all. */
  readonly #freeAtMs = new Map<string, number>()
  readonly #clock: Clockwork
  readonly #bytesMax: number
  readonly #inFlightMax: number | undefined
  #changes: Change[] = []

  constructor(clock: Clockwork, { bytesMax = BYTES_MAX, inFlightMax }: Limits = {}) {
    this.#clock = clock
    this.#bytesMax = bytesMax
    this.#inFlightMax = inFlightMax
  }

  /** Returns the changes since the last call. */
  takeChanges(): readonly Change[] {
    const changes = this.#changes
    this.#changes = []
    return changes
  }

  names(prefix = ''): readonly string[] {
    return [...this.#byName.keys()].filter((name) => name.startsWith(prefix)).sort()
  }

  find(name: string): Queue {
    const queue = this.#byName.get(name)
    if (queue) return queue
    throw new SqsError('QueueDoesNotExist', `The specified queue does not exist: ${name}.`)
  }

  /** Restores a queue from its stored record. */
  restore(record: QueueRecord): Queue {
    const tell = (change: Change) => this.#changes.push(change)
    const queue = new Queue(record, tell, this.#inFlightMax)
    this.#byName.set(record.name, queue)
    return queue
  }

  /** It is fine if the queue is there, with these attributes. */
  create(name: string, attributesGiven: QueueAttributes): void {
    const given = withFifoInLowerCase(attributesGiven)
    const isFifo = name.endsWith('.fifo')
    if (!/^[\w-]{1,80}$/.test(isFifo ? name.replace(/\.fifo$/, '-fifo') : name)) {
      throw invalidParameter(
        'QueueName',
        name,
        'Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length.',
      )
    }
    if (isFifo !== (given.FifoQueue === 'true')) {
      throw invalidParameter(
        'QueueName',
        name,
        'The name of a FIFO queue, and no other, ends in .fifo.',
      )
    }
    const existing = this.#byName.get(name)
    if (existing) {
      refuseAnother(existing, given)
      return
    }
    if ((this.#freeAtMs.get(name) ?? 0) > this.#clock.nowMs()) {
      throw new SqsError(
        'QueueDeletedRecently',
        'You must wait 60 seconds after deleting a queue before you can create another with the same name.',
      )
    }
    if (this.#byName.size >= QUEUES_MAX) {
      throw new SqsError('OverLimit', `The local SQS has ${QUEUES_MAX} queues, which is its limit.`)
    }
    const attributes = changeAttributes(defaultAttributes(isFifo), given)
    this.#checkRedrive(attributes)
    const nowMs = this.#clock.nowMs()
    const record = {
      name,
      attributes,
      createdAtMs: nowMs,
      modifiedAtMs: nowMs,
      sequence: String(firstSequence(nowMs)),
    }
    this.restore(record)
    this.#changes.push({ kind: 'queue', record })
  }

  delete(name: string): void {
    this.find(name)
    this.#byName.delete(name)
    const nowMs = this.#clock.nowMs()
    for (const [old, freeAtMs] of this.#freeAtMs) if (freeAtMs <= nowMs) this.#freeAtMs.delete(old)
    this.#freeAtMs.set(name, nowMs + NAME_TAKEN_MS)
    this.#changes.push({ kind: 'queue gone', queue: name })
  }

  setAttributes(name: string, given: QueueAttributes): void {
    const queue = this.find(name)
    this.#checkRedrive(changeAttributes(queue.record.attributes, given))
    queue.setAttributes(given, this.#clock.nowMs())
  }

  send(name: string, message: NewMessage): Sent {
    const queue = this.find(name)
    if (this.#bytes() >= this.#bytesMax) {
      throw new SqsError(
        'OverLimit',
        `The local SQS holds ${this.#bytesMax} bytes of messages, which is its limit: receive and delete some.`,
      )
    }
    return queue.send(message, this.#clock.nowMs(), this.#clock.random)
  }

  receive(name: string, request: ReceiveRequest): readonly Received[] {
    const queue = this.find(name)
    const target = this.#byArn(queue.settings.redrive?.targetArn)
    const { nowMs, random } = this.#clock
    const giveUp = (message: Message) => target?.adopt(message, queue.arn, nowMs(), random)
    return queue.receive(request, nowMs(), random, target && giveUp)
  }

  #byArn(arn: string | undefined): Queue | undefined {
    return arn === undefined ? undefined : [...this.#byName.values()].find((it) => it.arn === arn)
  }

  #bytes(): number {
    let bytes = 0
    for (const queue of this.#byName.values()) bytes += queue.bytes
    return bytes
  }

  #checkRedrive(attributes: QueueAttributes): void {
    const { isFifo, redrive } = settingsOf(attributes)
    if (!redrive) return
    const target = this.#byArn(redrive.targetArn)
    if (target?.settings.isFifo === isFifo) return
    const reason = target
      ? 'Dead-letter queue must be same type of queue as the source.'
      : 'Dead letter target does not exist.'
    throw invalidParameter('RedrivePolicy', attributes.RedrivePolicy, reason)
  }
}

/** SQS takes `True`, too. */
function withFifoInLowerCase(given: QueueAttributes): QueueAttributes {
  const { FifoQueue } = given
  return FifoQueue === undefined ? given : { ...given, FifoQueue: FifoQueue.toLowerCase() }
}

function refuseAnother({ name, record }: Queue, given: QueueAttributes): void {
  const other = Object.keys(given).find((key) => given[key] !== record.attributes[key])
  if (other === undefined) return
  throw new SqsError(
    'QueueNameExists',
    `A queue already exists with the name ${name} and a different value for attribute ${other}.`,
  )
}

type Poll = {
  readonly queue: string
  readonly request: ReceiveRequest
  readonly untilMs: number
  readonly resolve: (received: readonly Received[]) => void
  readonly reject: (error: unknown) => void
}

/** The longest that a timer takes is far more. */
const TIMER_MS_MAX = 20_000

/** Receives that wait. The first that came is served first, as soon as there may be something for it. */
export class LongPolls {
  readonly #queues: Queues
  readonly #clock: Clockwork
  readonly #polls = new Set<Poll>()
  #timer: NodeJS.Timeout | undefined

  constructor(queues: Queues, clock: Clockwork) {
    this.#queues = queues
    this.#clock = clock
  }

  /** Waits no longer than `waitMs`, and takes nothing once nobody listens. */
  receive(
    queue: string,
    request: ReceiveRequest,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<readonly Received[]> {
    if (signal.aborted) return Promise.resolve([])
    const untilMs = this.#clock.nowMs() + waitMs
    return new Promise((resolve, reject) => {
      const poll: Poll = { queue, request, untilMs, resolve, reject }
      this.#polls.add(poll)
      signal.addEventListener('abort', () => {
        if (this.#polls.delete(poll)) resolve([])
      })
      this.look()
    })
  }

  /** Something has changed, or time has passed. */
  look(): void {
    clearTimeout(this.#timer)
    const nowMs = this.#clock.nowMs()
    let nextMs = Number.POSITIVE_INFINITY
    const empty = new Set<string>()
    for (const poll of this.#polls) {
      try {
        // If one poll found nothing, others on its queue need not look, unless one repeats an earlier attempt.
        const isInVain = empty.has(poll.queue) && poll.request.attemptId === undefined
        const received = isInVain ? [] : this.#queues.receive(poll.queue, poll.request)
        if (received.length === 0 && poll.untilMs > nowMs) {
          empty.add(poll.queue)
          nextMs = Math.min(nextMs, poll.untilMs)
          continue
        }
        this.#polls.delete(poll)
        poll.resolve(received)
      } catch (error) {
        this.#polls.delete(poll)
        poll.reject(error)
      }
    }
    for (const queue of empty) {
      nextMs = Math.min(nextMs, this.#queues.find(queue).nextMs(nowMs))
    }
    if (nextMs === Number.POSITIVE_INFINITY) return
    this.#timer = setTimeout(
      () => this.look(),
      Math.min(TIMER_MS_MAX, Math.max(1, nextMs - this.#clock.nowMs())),
    )
  }

  stop(): void {
    clearTimeout(this.#timer)
    for (const { resolve } of this.#polls) resolve([])
    this.#polls.clear()
  }
}
