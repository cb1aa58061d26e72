import { expect } from 'vitest'
import { bodies, fifo, highThroughput, outcomeOf } from './a-queue.ts'
import { type Case, check, conformance } from './conformance.ts'

const byContent = { ...fifo, ContentBasedDeduplication: 'true' }
const brief = { ...highThroughput, VisibilityTimeout: '2' }

const order: readonly Case[] = [
  check('Messages of a group arrive in the order in which they were sent.', async (place) => {
    const queue = await place.queue(highThroughput)
    await queue.sendInto('a', 'a1', 'a2', 'a3')
    expect(await queue.receiveBodies()).toEqual(['a1', 'a2', 'a3'])
  }),
  check('One receive holds several groups, each in its order.', async (place) => {
    const queue = await place.queue(highThroughput)
    await queue.sendInto('a', 'a1')
    await queue.sendInto('b', 'b1', 'b2')
    await queue.sendInto('a', 'a2')
    const all = await queue.receiveBodies()
    expect(all.filter((body) => body.startsWith('a'))).toEqual(['a1', 'a2'])
    expect(all.filter((body) => body.startsWith('b'))).toEqual(['b1', 'b2'])
  }),
  check('Nothing behind a message in flight is delivered, of the same group.', async (place) => {
    const queue = await place.queue(highThroughput)
    await queue.sendInto('a', 'a1', 'a2')
    const first = await queue.receiveOne()
    await queue.sendInto('b', 'b1')
    expect(await queue.receiveBodies()).toEqual(['b1'])
    await queue.delete(first)
    expect(await queue.receiveBodies()).toEqual(['a2'])
  }),
  check('A group stays closed until each of its messages in flight is deleted.', async (place) => {
    const queue = await place.queue(highThroughput)
    await queue.sendInto('a', 'a1', 'a2', 'a3')
    const [first, second] = await queue.receive({ MaxNumberOfMessages: 2 })
    await queue.delete(first!)
    expect(await queue.receiveBodies()).toEqual([])
    await queue.delete(second!)
    expect(await queue.receiveBodies()).toEqual(['a3'])
  }),
  // LocalStack's recordings of AWS: test_fifo_message_group_visibility and its siblings.
  check('What is given back is delivered while a later one is in flight.', async (place) => {
    const queue = await place.queue(highThroughput)
    await queue.sendInto('a', 'a1', 'a2')
    const [first] = await queue.receive()
    await queue.changeVisibility(first!, 0)
    expect(await queue.receiveBodies()).toEqual(['a1'])
  }),
  ...(
    [
      [0, 'first', []],
      [1, 'second', ['a1']],
      [2, 'third', ['a1', 'a2']],
    ] as const
  ).map(([kept, which, delivered]) =>
    check(
      `While the ${which} of three is in flight, ${delivered.length} are delivered again.`,
      async (place) => {
        const queue = await place.queue({ ...brief, VisibilityTimeout: '1' })
        await queue.sendInto('a', 'a1', 'a2', 'a3')
        const received = await queue.receive()
        await queue.changeVisibility(received[kept]!, 6)
        await place.pass(2)
        expect(await queue.receiveBodies()).toEqual(delivered)
      },
    ),
  ),
  check('What is visible again comes before what was sent later.', async (place) => {
    const queue = await place.queue(brief)
    await queue.sendInto('a', 'a1', 'a2')
    const [first] = await queue.receive({ MaxNumberOfMessages: 1 })
    await place.pass(2)
    const again = await queue.receive()
    expect(bodies(again)).toEqual(['a1', 'a2'])
    expect(again[0]?.MessageId).toBe(first?.MessageId)
    expect(again[0]?.ReceiptHandle).not.toBe(first?.ReceiptHandle)
    expect(again[0]?.Attributes?.ApproximateReceiveCount).toBe('2')
    expect(again[1]?.Attributes?.ApproximateReceiveCount).toBe('1')
  }),
  check('The sequence number has twenty digits and rises within a group.', async (place) => {
    const queue = await place.queue(highThroughput)
    const sent: string[] = []
    for (const id of ['1', '2', '3']) {
      const { SequenceNumber = '' } = await queue.send(id, {
        MessageGroupId: 'a',
        MessageDeduplicationId: id,
      })
      sent.push(SequenceNumber)
    }
    expect(sent.every((number) => /^\d{20}$/.test(number))).toBe(true)
    expect(sent).toEqual([...sent].sort())
    expect(new Set(sent).size).toBe(3)
    const received = await queue.receive()
    expect(received.map(({ Attributes }) => Attributes?.SequenceNumber)).toEqual(sent)
  }),
  check('A queue that delays holds back each message, and keeps the order.', async (place) => {
    const queue = await place.queue({ ...highThroughput, DelaySeconds: '3' })
    await queue.sendInto('a', 'a1', 'a2')
    expect(await queue.receiveBodies({ WaitTimeSeconds: 0 })).toEqual([])
    await place.pass(4)
    expect(await queue.receiveBodies()).toEqual(['a1', 'a2'])
  }),
]

const duplicates: readonly Case[] = [
  check('A duplicate is accepted with the id and number of the first.', async (place) => {
    const queue = await place.queue(highThroughput)
    const once = { MessageGroupId: 'a', MessageDeduplicationId: 'same' }
    const first = await queue.send('one', once)
    const second = await queue.send('another body', once)
    expect(second.MessageId).toBe(first.MessageId)
    expect(second.SequenceNumber).toBe(first.SequenceNumber)
    expect(await queue.receiveBodies()).toEqual(['one'])
  }),
  check('A duplicate of a message that is deleted by now is one all the same.', async (place) => {
    const queue = await place.queue(highThroughput)
    const once = { MessageGroupId: 'a', MessageDeduplicationId: 'same' }
    await queue.send('one', once)
    await queue.delete(await queue.receiveOne())
    await queue.send('one', once)
    expect(await queue.receiveBodies()).toEqual([])
  }),
  check('With the scope of a group, the same id in two groups is two messages.', async (place) => {
    const queue = await place.queue(highThroughput)
    await queue.send('one', { MessageGroupId: 'a', MessageDeduplicationId: 'same' })
    await queue.send('two', { MessageGroupId: 'b', MessageDeduplicationId: 'same' })
    expect((await queue.receiveBodies()).sort()).toEqual(['one', 'two'])
  }),
  check('With the scope of the queue, the same id in two groups is one message.', async (place) => {
    const queue = await place.queue(fifo)
    await queue.send('one', { MessageGroupId: 'a', MessageDeduplicationId: 'same' })
    await queue.send('two', { MessageGroupId: 'b', MessageDeduplicationId: 'same' })
    expect(await queue.receiveBodies()).toEqual(['one'])
  }),
  check('By content, two messages with one body are one.', async (place) => {
    const queue = await place.queue(byContent)
    const { MessageId } = await queue.send('same', { MessageGroupId: 'a' })
    const again = await queue.send('same', { MessageGroupId: 'a' })
    expect(again.MessageId).toBe(MessageId)
    const message = await queue.receiveOne()
    expect(message.Attributes?.MessageDeduplicationId).toMatch(/^[\da-f]{64}$/)
  }),
  check('By content, an id of the sender counts instead of the body.', async (place) => {
    const queue = await place.queue(byContent)
    await queue.send('same', { MessageGroupId: 'a', MessageDeduplicationId: '1' })
    await queue.send('same', { MessageGroupId: 'a', MessageDeduplicationId: '2' })
    expect(await queue.receiveBodies()).toEqual(['same', 'same'])
  }),
  check('A purge forgets the ids of what was sent.', async (place) => {
    const queue = await place.queue(highThroughput)
    const once = { MessageGroupId: 'a', MessageDeduplicationId: 'same' }
    await queue.send('one', once)
    await queue.purge()
    // On AWS a purge takes up to a minute.
    if (place.service.waitSeconds > 0) await place.pass(60)
    const { MessageId } = await queue.send('again', once)
    const received = await queue.receiveOne()
    expect([received.Body, received.MessageId]).toEqual(['again', MessageId])
  }),
  check('After five minutes the same id is another message.', async (place) => {
    // Real minutes on AWS: only by the local clock.
    if (place.service.waitSeconds > 0) return
    const queue = await place.queue(highThroughput)
    const once = { MessageGroupId: 'a', MessageDeduplicationId: 'same' }
    await queue.send('one', once)
    await place.pass(299)
    await queue.send('two', once)
    await place.pass(2)
    await queue.send('three', once)
    expect(await queue.receiveBodies()).toEqual(['one', 'three'])
  }),
]

const receipts: readonly Case[] = [
  check('A message cannot be deleted by a handle whose time is over.', async (place) => {
    const queue = await place.queue(brief)
    await queue.sendInto('a', 'a1')
    const message = await queue.receiveOne()
    await place.pass(3)
    expect(await outcomeOf(queue.delete(message))).toBe('InvalidParameterValue')
    expect(await queue.receiveBodies()).toEqual(['a1'])
  }),
  check('A message is deleted twice without an error.', async (place) => {
    const queue = await place.queue(highThroughput)
    await queue.sendInto('a', 'a1')
    const message = await queue.receiveOne()
    await queue.delete(message)
    expect(await outcomeOf(queue.delete(message))).toBe('ok')
  }),
  check('A visibility of zero gives a message back at once.', async (place) => {
    const queue = await place.queue(highThroughput)
    await queue.sendInto('a', 'a1')
    await queue.changeVisibility(await queue.receiveOne(), 0)
    expect(await queue.receiveBodies()).toEqual(['a1'])
  }),
  check('A longer visibility keeps a message in flight.', async (place) => {
    const queue = await place.queue(brief)
    await queue.sendInto('a', 'a1')
    const message = await queue.receiveOne()
    await queue.changeVisibility(message, 60)
    await place.pass(3)
    expect(await queue.receiveBodies()).toEqual([])
    expect(await outcomeOf(queue.delete(message))).toBe('ok')
  }),
  check('The same attempt receives the same messages again.', async (place) => {
    const queue = await place.queue(highThroughput)
    await queue.sendInto('a', 'a1', 'a2')
    const attempt = { ReceiveRequestAttemptId: 'attempt-1', MaxNumberOfMessages: 1 }
    const first = await queue.receive(attempt)
    const again = await queue.receive(attempt)
    expect(again.map(({ MessageId }) => MessageId)).toEqual(first.map((it) => it.MessageId))
    expect(again).toHaveLength(1)
  }),
]

const redrive: readonly Case[] = [
  check(
    'What was received too often goes to the dead letters, and the next comes.',
    async (place) => {
      const letters = await place.queue(fifo)
      const { QueueArn } = await letters.attributes()
      const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: QueueArn, maxReceiveCount: 2 })
      const queue = await place.queue({ ...brief, RedrivePolicy })
      await queue.sendInto('a', 'bad')
      const { MessageId } = await queue.receiveOne()
      await place.pass(3)
      await queue.receiveOne()
      await queue.sendInto('a', 'good')
      await place.pass(3)
      expect(await queue.receiveBodies()).toEqual(['good'])
      const letter = await letters.receiveOne()
      expect(letter.MessageId).toBe(MessageId)
      expect(letter.Body).toBe('bad')
      expect(letter.Attributes?.MessageGroupId).toBe('a')
      const { QueueArn: source } = await queue.attributes()
      expect(letter.Attributes?.DeadLetterQueueSourceArn).toBe(source)
      expect(letter.Attributes?.ApproximateReceiveCount).toBe('3')
    },
  ),
  check('A FIFO queue has no dead letters in a standard queue.', async (place) => {
    const letters = await place.queue({})
    const { QueueArn } = await letters.attributes()
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: QueueArn, maxReceiveCount: 2 })
    expect(await outcomeOf(place.queue({ ...fifo, RedrivePolicy }))).toBe('InvalidParameterValue')
  }),
]

conformance('sqs, order', order)
conformance('sqs, duplicates', duplicates)
conformance('sqs, receipts', receipts)
conformance('sqs, dead letters', redrive)
