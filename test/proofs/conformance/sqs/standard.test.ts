import { expect } from 'vitest'
import { bodies, outcomeOf, standard } from './a-queue.ts'
import { type Case, check, conformance } from './conformance.ts'

const cases: readonly Case[] = [
  check('A message comes once it is sent, and not again while it is in flight.', async (place) => {
    const queue = await place.queue(standard)
    const { MessageId, MD5OfMessageBody } = await queue.send('hello')
    expect(MD5OfMessageBody).toBe('5d41402abc4b2a76b9719d911017c592')
    const message = await queue.receiveOne({ WaitTimeSeconds: 20 })
    expect(message.MessageId).toBe(MessageId)
    expect(message.Body).toBe('hello')
    expect(message.Attributes?.SequenceNumber).toBeUndefined()
    expect(await queue.receiveBodies()).toEqual([])
  }),
  check('What is not deleted comes again, with its count.', async (place) => {
    const queue = await place.queue({ VisibilityTimeout: '2' })
    await queue.send('hello')
    const first = await queue.receiveOne({ WaitTimeSeconds: 20 })
    await place.pass(3)
    const again = await queue.receiveOne({ WaitTimeSeconds: 20 })
    expect(again.MessageId).toBe(first.MessageId)
    expect(again.Attributes?.ApproximateReceiveCount).toBe('2')
    expect(again.Attributes?.ApproximateFirstReceiveTimestamp).toBe(
      first.Attributes?.ApproximateFirstReceiveTimestamp,
    )
  }),
  check('The last handle deletes a message although its time is over.', async (place) => {
    const queue = await place.queue({ VisibilityTimeout: '1' })
    await queue.send('hello')
    const message = await queue.receiveOne({ WaitTimeSeconds: 20 })
    await place.pass(2)
    expect(await outcomeOf(queue.delete(message))).toBe('ok')
    expect(await queue.receiveBodies()).toEqual([])
  }),
  check('A message that is visible again can be hidden by its last handle.', async (place) => {
    const queue = await place.queue({ VisibilityTimeout: '1' })
    await queue.send('hello')
    const message = await queue.receiveOne({ WaitTimeSeconds: 20 })
    await place.pass(2)
    await queue.changeVisibility(message, 60)
    expect(await queue.receiveBodies()).toEqual([])
  }),
  check('An older handle changes the visibility, too.', async (place) => {
    const queue = await place.queue(standard)
    await queue.send('hello')
    const first = await queue.receiveOne({ WaitTimeSeconds: 20, VisibilityTimeout: 0 })
    await queue.receiveOne({ WaitTimeSeconds: 20 })
    await queue.changeVisibility(first, 0)
    expect(bodies([await queue.receiveOne({ WaitTimeSeconds: 20 })])).toEqual(['hello'])
  }),
  check('A message may be delayed by itself.', async (place) => {
    const queue = await place.queue(standard)
    await queue.send('later', { DelaySeconds: 5 })
    await queue.send('now')
    expect(bodies([await queue.receiveOne({ WaitTimeSeconds: 4 })])).toEqual(['now'])
    await place.pass(6)
    expect(bodies([await queue.receiveOne({ WaitTimeSeconds: 20 })])).toEqual(['later'])
  }),
  check('A message without a delay has the one of its queue.', async (place) => {
    const queue = await place.queue({ DelaySeconds: '5' })
    await queue.send('later')
    await queue.send('now', { DelaySeconds: 0 })
    expect(bodies([await queue.receiveOne({ WaitTimeSeconds: 4 })])).toEqual(['now'])
    const { ApproximateNumberOfMessagesDelayed } = await queue.attributes()
    if (place.service.waitSeconds === 0) expect(ApproximateNumberOfMessagesDelayed).toBe('1')
  }),
  check('A receive that waits gets what is sent meanwhile.', async (place) => {
    const queue = await place.queue(standard)
    const received = queue.receiveOne({ WaitTimeSeconds: 20 })
    await queue.send('hello')
    expect((await received).Body).toBe('hello')
  }),
  check('A receive that waits gets what becomes visible meanwhile.', async (place) => {
    const queue = await place.queue(standard)
    await queue.send('hello')
    const message = await queue.receiveOne({ WaitTimeSeconds: 20 })
    const again = queue.receiveOne({ WaitTimeSeconds: 20 })
    await queue.changeVisibility(message, 0)
    expect((await again).MessageId).toBe(message.MessageId)
  }),
  check(
    'What was received too often goes to the dead letters, with its first time.',
    async (place) => {
      const letters = await place.queue(standard)
      const { QueueArn } = await letters.attributes()
      const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: QueueArn, maxReceiveCount: '1' })
      const queue = await place.queue({ VisibilityTimeout: '1', RedrivePolicy })
      await queue.send('bad')
      const message = await queue.receiveOne({ WaitTimeSeconds: 20 })
      await place.pass(2)
      expect(await queue.receiveBodies()).toEqual([])
      const letter = await letters.receiveOne({ WaitTimeSeconds: 20 })
      expect(letter.MessageId).toBe(message.MessageId)
      expect(letter.Attributes?.SentTimestamp).toBe(message.Attributes?.SentTimestamp)
      expect(letter.Attributes?.ApproximateReceiveCount).toBe('2')
    },
  ),
  check('A message of a standard queue may have a group.', async (place) => {
    const queue = await place.queue(standard)
    await queue.send('hello', { MessageGroupId: 'tenant-7' })
    const { Attributes } = await queue.receiveOne({ WaitTimeSeconds: 20 })
    expect(Attributes?.MessageGroupId).toBe('tenant-7')
  }),
  check('What is too old is gone.', async (place) => {
    // A minute and more on AWS: only by the local clock.
    if (place.service.waitSeconds > 0) return
    const queue = await place.queue({ MessageRetentionPeriod: '60' })
    await queue.send('old')
    await place.pass(30)
    await queue.send('young')
    await place.pass(31)
    expect(await queue.receiveBodies()).toEqual(['young'])
  }),
  check('A purge leaves nothing, and the next one has to wait.', async (place) => {
    const queue = await place.queue(standard)
    await queue.send('hello')
    await queue.purge()
    const again = queue.purge()
    await expect(again).rejects.toMatchObject({ $metadata: { httpStatusCode: 403 } })
    expect(await outcomeOf(again)).toBe('AWS.SimpleQueueService.PurgeQueueInProgress')
    if (place.service.waitSeconds === 0) expect(await queue.receiveBodies()).toEqual([])
  }),
]

conformance('sqs, standard queues', cases)
