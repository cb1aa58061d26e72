// A FIFO queue against a model of it, over random histories with ends of the process in between.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Delivery, Message } from '../../../local/sqs/core/message.ts'
import { queueArn } from '../../../local/sqs/core/queue-attributes.ts'
import { Queues } from '../../../local/sqs/core/queues.ts'
import { QueueFile } from '../../../local/sqs/start-sqs.ts'
import { Random } from '../../../testing/random.ts'
import { FifoModel } from './fifo-model.ts'

const RECEIVES_MAX = 3
const VISIBILITY_SECONDS = 10

type Step =
  | { readonly kind: 'send'; readonly group: string; readonly id: string }
  | { readonly kind: 'receive'; readonly max: number }
  | { readonly kind: 'delete' | 'give back' | 'keep'; readonly at: number }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'end' }

const at = fc.nat(30)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('send' as const),
      group: fc.constantFrom('a', 'b', 'c'),
      id: fc.constantFrom(...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('receive' as const),
      max: fc.integer({ min: 1, max: 10 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('delete' as const), at }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('give back' as const, 'keep' as const), at }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      ms: fc.constantFrom(1, 5_000, 9_999, 10_000, 60_000, 299_999, 300_000),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'end' as const }) },
)

/** Plays the history on both, and compares each answer. */
class Stage {
  readonly #model = new FifoModel(RECEIVES_MAX)
  readonly #file = new QueueFile(':memory:')
  readonly #random: Random
  readonly #handles: string[] = []
  #queues: Queues
  #nowMs = 1_800_000_000_000
  #lastSequence = ''

  constructor(seed: number) {
    this.#random = new Random(seed)
    this.#queues = this.#open()
    this.#queues.create('dead.fifo', { FifoQueue: 'true' })
    this.#queues.create('q.fifo', {
      FifoQueue: 'true',
      DeduplicationScope: 'messageGroup',
      FifoThroughputLimit: 'perMessageGroupId',
      VisibilityTimeout: String(VISIBILITY_SECONDS),
      RedrivePolicy: JSON.stringify({
        deadLetterTargetArn: queueArn('dead.fifo'),
        maxReceiveCount: RECEIVES_MAX,
      }),
    })
    this.#save()
  }

  play(step: Step): void {
    switch (step.kind) {
      case 'send':
        this.#send(step.group, step.id)
        break
      case 'receive':
        this.#receive(step.max)
        break
      case 'delete':
      case 'give back':
      case 'keep':
        this.#settle(step.kind, this.#handles[step.at % this.#handles.length])
        break
      case 'pass':
        this.#nowMs += step.ms
        break
      case 'end':
        this.#queues = this.#open()
        break
      default:
        step satisfies never
    }
    this.#save()
  }

  /** Everything that is left comes, group by group, and the rest lies with the dead letters. */
  drain(): void {
    for (let round = 0; round < 1_000 && this.#model.messages.length > 0; round++) {
      this.#receive(10)
      for (const handle of this.#handles.splice(0)) this.#settle('delete', handle)
      this.#nowMs += 60_000
    }
    expect(this.#model.messages).toEqual([])
    expect(this.#queues.receive('q.fifo', { max: 10 })).toEqual([])
    const letters: string[] = []
    for (;;) {
      const received = this.#queues.receive('dead.fifo', { max: 10, visibilityMs: 1 })
      if (received.length === 0) break
      for (const { message, delivery } of received) {
        letters.push(message.id)
        this.#queues.find('dead.fifo').delete(delivery.handle, this.#nowMs)
      }
    }
    expect(letters.sort()).toEqual(this.#model.deadLetters.sort())
  }

  #send(group: string, deduplicationId: string): void {
    const { id, sequence } = this.#queues.send('q.fifo', {
      body: `${group}${deduplicationId}`,
      attributes: {},
      groupId: group,
      deduplicationId,
    })
    const earlier = this.#model.earlier(group, deduplicationId, this.#nowMs)
    if (earlier !== undefined) {
      expect(id).toBe(earlier)
      return
    }
    expect(this.#model.messages.map((one) => one.id)).not.toContain(id)
    expect(sequence).toMatch(/^\d{20}$/)
    expect(sequence > this.#lastSequence).toBe(true)
    this.#lastSequence = sequence
    this.#model.sent(id, group, deduplicationId, this.#nowMs)
  }

  #receive(max: number): void {
    const received = this.#queues.receive('q.fifo', { max })
    const expected = this.#model.receive(max, this.#nowMs)
    expect(received.map(({ message }) => message.id)).toEqual(expected.map(({ id }) => id))
    for (const [index, one] of expected.entries()) {
      const { delivery } = received[index] as { message: Message; delivery: Delivery }
      one.receives += 1
      one.handle = delivery.handle
      one.invisibleUntilMs = this.#nowMs + VISIBILITY_SECONDS * 1000
      expect(delivery.receives).toBe(one.receives)
      this.#handles.push(delivery.handle)
    }
  }

  #settle(how: 'delete' | 'give back' | 'keep', handle: string | undefined): void {
    if (handle === undefined) return
    const held = this.#model.holds(handle, this.#nowMs)
    const isGone = !this.#model.messages.some(({ id }) => handleOf(handle).includes(id))
    const queue = this.#queues.find('q.fifo')
    const act = () =>
      how === 'delete'
        ? queue.delete(handle, this.#nowMs)
        : queue.changeVisibility(handle, how === 'keep' ? 60_000 : 0, this.#nowMs)
    if (!held) {
      // To delete what is deleted is fine; everything else says that the handle is too old.
      if (how === 'delete' && isGone) expect(act).not.toThrow()
      else expect(act).toThrow('ReceiptHandle')
      return
    }
    act()
    if (how === 'delete') this.#model.remove(held)
    else held.invisibleUntilMs = this.#nowMs + (how === 'keep' ? 60_000 : 0)
  }

  #open(): Queues {
    const queues = new Queues({ nowMs: () => this.#nowMs, random: () => this.#random.next() })
    this.#file.restore(queues, this.#nowMs)
    return queues
  }

  #save(): void {
    this.#file.write(this.#queues.takeChanges())
  }
}

const handleOf = (handle: string): string => Buffer.from(handle, 'base64').toString('utf8')

test('A FIFO queue does what its model does, through any history and any end of the process.', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120, size: 'max' }), fc.nat(), (steps, seed) => {
      const stage = new Stage(seed)
      for (const one of steps) stage.play(one)
      stage.drain()
    }),
    { numRuns: 600 },
  )
})
