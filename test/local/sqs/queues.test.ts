// What only time, many messages or a full memory show.

import { expect, test } from 'vitest'
import { type Limits, Queues } from '../../../local/sqs/core/queues.ts'
import { LOOKED_AT_MAX } from '../../../local/sqs/core/shelf.ts'
import { Random } from '../../../testing/random.ts'

const fifo = { FifoQueue: 'true', ContentBasedDeduplication: 'true' }

function open(limits: Limits = {}) {
  const clock = { ms: 1_800_000_000_000 }
  const random = new Random(1)
  const queues = new Queues({ nowMs: () => clock.ms, random: () => random.next() }, limits)
  queues.create('q.fifo', fifo)
  queues.create('q', {})
  const send = (name: string, body: string, groupId?: string) =>
    queues.send(name, { body, attributes: {}, groupId })
  const bodies = (name: string, max = 10) =>
    queues.receive(name, { max }).map(({ message }) => message.body)
  return { clock, queues, send, bodies }
}

test('A backlog of one group hides the groups that are behind what SQS looks through.', () => {
  const { send, bodies } = open()
  for (let n = 0; n < LOOKED_AT_MAX; n++) send('q.fifo', `a${n}`, 'a')
  send('q.fifo', 'b0', 'b')
  expect(bodies('q.fifo', 1)).toEqual(['a0'])
  expect(bodies('q.fifo')).toEqual([])
})

test('No more than so many messages are in flight.', () => {
  const { clock, queues, send, bodies } = open({ inFlightMax: 15 })
  for (let n = 0; n < 30; n++) send('q', `m${n}`)
  expect([1, 2, 3].map(() => bodies('q').length)).toEqual([10, 5, 0])
  expect(queues.find('q').isFull(clock.ms)).toBe(true)
})

test('A memory that is full takes no more messages until some are deleted.', () => {
  const { clock, queues, send } = open({ bytesMax: 10_000 })
  const body = 'x'.repeat(9_500)
  send('q', body)
  expect(() => send('q', 'more')).toThrow('limit')
  const [received] = queues.receive('q', { max: 1 })
  queues.find('q').delete(received?.delivery.handle ?? '', clock.ms)
  expect(() => send('q', 'more')).not.toThrow()
})

test('A standard queue mixes what it hands out, and loses none of it.', () => {
  const { send, bodies } = open()
  const sent = Array.from({ length: 200 }, (_, n) => `m${n}`)
  for (const body of sent) send('q', body)
  const received = sent.flatMap(() => bodies('q', 1))
  expect(received).not.toEqual(sent)
  expect([...received].sort()).toEqual([...sent].sort())
})

test('A longer delay of a FIFO queue holds back what it has, and a shorter one lets it go.', () => {
  const { clock, queues, send, bodies } = open()
  send('q.fifo', 'a1', 'a')
  queues.setAttributes('q.fifo', { DelaySeconds: '60' })
  expect(bodies('q.fifo')).toEqual([])
  expect(queues.find('q.fifo').nextMs(clock.ms)).toBe(clock.ms + 60_000)
  queues.setAttributes('q.fifo', { DelaySeconds: '0' })
  expect(bodies('q.fifo')).toEqual(['a1'])
})

test('A shorter retention ends what is older, in flight or not, and opens its group.', () => {
  const { clock, queues, send, bodies } = open()
  send('q.fifo', 'a1', 'a')
  expect(bodies('q.fifo')).toEqual(['a1'])
  clock.ms += 20_000
  send('q.fifo', 'a2', 'a')
  expect(bodies('q.fifo')).toEqual([])
  clock.ms += 5_000
  queues.setAttributes('q.fifo', { MessageRetentionPeriod: '60', VisibilityTimeout: '600' })
  clock.ms += 36_000
  expect(bodies('q.fifo')).toEqual(['a2'])
})

test('An attempt gets no messages that another receive has taken meanwhile.', () => {
  const { clock, queues, send } = open()
  send('q.fifo', 'a1', 'a')
  const attempt = { max: 1, attemptId: 'attempt-1' }
  const [first] = queues.receive('q.fifo', attempt)
  queues.find('q.fifo').changeVisibility(first?.delivery.handle ?? '', 0, clock.ms)
  expect(queues.receive('q.fifo', { max: 1 })).toHaveLength(1)
  expect(queues.receive('q.fifo', attempt)).toEqual([])
})

test('A queue that is deleted and made again under its name counts on from there.', () => {
  const { clock, queues, send } = open()
  for (let n = 0; n < 200; n++) {
    const before = send('q.fifo', `a${n}`, 'g').sequence
    queues.delete('q.fifo')
    clock.ms += 60_000
    queues.create('q.fifo', fifo)
    const { sequence } = send('q.fifo', `b${n}`, 'g')
    expect(sequence).toHaveLength(20)
    expect(BigInt(sequence)).toBeGreaterThan(BigInt(before))
  }
})
