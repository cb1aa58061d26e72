import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { fifo, highThroughput, outcomeOf, standard } from './a-queue.ts'
import { type Case, check, conformance, ends } from './conformance.ts'

const older = 'AWS.SimpleQueueService.'
const inGroup = { MessageGroupId: 'a', MessageDeduplicationId: '1' }
const MIB = 1_048_576

const attribute = (StringValue: string) => ({ DataType: 'String', StringValue })

const cases: readonly Case[] = [
  ends('MissingParameter', 'A FIFO queue wants a group.', async (place) =>
    (await place.queue(fifo)).send('x', { MessageDeduplicationId: '1' }),
  ),
  ends(
    'InvalidParameterValue',
    'Without deduplication by content a FIFO queue wants an id.',
    async (place) => (await place.queue(fifo)).send('x', { MessageGroupId: 'a' }),
  ),
  ends('InvalidParameterValue', 'A FIFO queue delays no message by itself.', async (place) =>
    (await place.queue(fifo)).send('x', { ...inGroup, DelaySeconds: 1 }),
  ),
  ends('ok', 'A FIFO queue ignores a delay of zero.', async (place) =>
    (await place.queue(fifo)).send('x', { ...inGroup, DelaySeconds: 0 }),
  ),
  ends('ok', 'A group may have 128 characters, punctuation too.', async (place) =>
    (await place.queue(fifo)).send('x', { ...inGroup, MessageGroupId: '!~'.repeat(64) }),
  ),
  ends('InvalidParameterValue', 'A group may not have 129 characters.', async (place) =>
    (await place.queue(fifo)).send('x', { ...inGroup, MessageGroupId: 'a'.repeat(129) }),
  ),
  ends('InvalidParameterValue', 'A group may not hold a space.', async (place) =>
    (await place.queue(fifo)).send('x', { ...inGroup, MessageGroupId: 'a b' }),
  ),
  ends('InvalidParameterValue', 'A group may not hold letters beyond ASCII.', async (place) =>
    (await place.queue(fifo)).send('x', { ...inGroup, MessageGroupId: 'ä' }),
  ),
  ends('InvalidParameterValue', 'A standard queue takes no id for deduplication.', async (place) =>
    (await place.queue(standard)).send('x', { MessageDeduplicationId: '1' }),
  ),
  ends('InvalidParameterValue', 'A message is delayed by 900 seconds at most.', async (place) =>
    (await place.queue(standard)).send('x', { DelaySeconds: 901 }),
  ),
  ends('ok', 'A message may have 1 MiB.', async (place) =>
    (await place.queue(standard)).send('x'.repeat(MIB)),
  ),
  ends('InvalidParameterValue', 'A message may not have one byte more.', async (place) =>
    (await place.queue(standard)).send('x'.repeat(MIB + 1)),
  ),
  ends('InvalidParameterValue', 'Attributes count towards the size of a message.', async (place) =>
    (await place.queue(standard)).send('x'.repeat(MIB - 10), {
      MessageAttributes: { name: attribute('value') },
    }),
  ),
  ends('InvalidParameterValue', 'A message is no larger than its queue allows.', async (place) =>
    (await place.queue({ MaximumMessageSize: '1024' })).send('ü'.repeat(513)),
  ),
  ends('InvalidMessageContents', 'A message holds no control characters.', async (place) =>
    (await place.queue(standard)).send('a\u0000b'),
  ),
  ends('ok', 'A message may hold any other character.', async (place) =>
    (await place.queue(standard)).send('\t\n\r ü \u{1f600} \ufffd'),
  ),
  ends('InvalidParameterValue', 'A message has ten attributes at most.', async (place) =>
    (await place.queue(standard)).send('x', {
      MessageAttributes: Object.fromEntries(
        Array.from({ length: 11 }, (_, n) => [`a${n}`, attribute('v')]),
      ),
    }),
  ),
  ends('InvalidParameterValue', 'An attribute has a type.', async (place) =>
    (await place.queue(standard)).send('x', {
      MessageAttributes: { a: { DataType: 'Thing', StringValue: 'v' } },
    }),
  ),
  ends('InvalidParameterValue', 'A receive asks for ten messages at most.', async (place) =>
    (await place.queue(standard)).receive({ MaxNumberOfMessages: 11 }),
  ),
  ends('InvalidParameterValue', 'A receive waits twenty seconds at most.', async (place) =>
    (await place.queue(standard)).receive({ WaitTimeSeconds: 21 }),
  ),
  ends('ReceiptHandleIsInvalid', 'What is no receipt handle deletes nothing.', async (place) =>
    (await place.queue(standard)).delete({ ReceiptHandle: 'hello' }),
  ),
  ends(
    'InvalidParameterValue',
    'A message that is gone has no visibility to change.',
    async (place) => {
      const queue = await place.queue(fifo)
      await queue.send('x', inGroup)
      const message = await queue.receiveOne()
      await queue.delete(message)
      return queue.changeVisibility(message, 5)
    },
  ),
  ends('ok', 'A message that is visible may be hidden.', async (place) => {
    const queue = await place.queue(standard)
    await queue.send('x')
    const message = await queue.receiveOne({ WaitTimeSeconds: 20 })
    await queue.changeVisibility(message, 0)
    return queue.changeVisibility(message, 5)
  }),
  ends(
    'InvalidParameterValue',
    'A visibility ends twelve hours after the receive.',
    async (place) => {
      const queue = await place.queue(standard)
      await queue.send('x')
      const message = await queue.receiveOne({ WaitTimeSeconds: 20 })
      await place.pass(1)
      return queue.changeVisibility(message, 43_200)
    },
  ),
  ends(
    'InvalidAttributeName',
    'A queue has no other attributes than those of SQS.',
    async (place) => (await place.queue(standard)).setAttributes({ Colour: 'red' }),
  ),
  ends('InvalidAttributeName', 'A standard queue does not become FIFO.', async (place) =>
    (await place.queue(standard)).setAttributes({ FifoQueue: 'true' }),
  ),
  ...(
    [
      ['FifoQueue', 'false'],
      ['ContentBasedDeduplication', 'true'],
      ['DeduplicationScope', 'queue'],
      ['FifoThroughputLimit', 'perQueue'],
    ] as const
  ).map(([name, value]) =>
    ends('InvalidAttributeName', `A standard queue has no ${name}.`, (place) =>
      place.standardQueue({ [name]: value }),
    ),
  ),
  ends('ok', 'FifoQueue may be True.', (place) => place.queue({ FifoQueue: 'True' })),
  check('A name is free again a minute after its queue was deleted.', async (place) => {
    const queue = await place.queue(standard)
    await queue.drop()
    expect(await outcomeOf(queue.makeAgain({}))).toBe(`${older}QueueDeletedRecently`)
    await place.pass(61)
    expect(await outcomeOf(queue.makeAgain({}))).toBe('ok')
  }),
  ends('InvalidAttributeValue', 'A delay of a queue is 900 seconds at most.', async (place) =>
    (await place.queue(standard)).setAttributes({ DelaySeconds: '901' }),
  ),
  ends('InvalidParameterValue', 'Dead letters need a queue that is there.', async (place) => {
    const queue = await place.queue(standard)
    const { QueueArn = '' } = await queue.attributes()
    const deadLetterTargetArn = `${QueueArn}-missing`
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 1 })
    return queue.setAttributes({ RedrivePolicy })
  }),
  ends(
    `${older}NonExistentQueue`,
    'A queue that is not there is an error of its own.',
    async (place) => {
      const queue = await place.queue(standard)
      return queue.elsewhere('missing').send('x')
    },
  ),
]

const batches: readonly Case[] = [
  check('One bad entry of a batch does no harm to the others.', async (place) => {
    const queue = await place.queue({ ...highThroughput, MaximumMessageSize: '1024' })
    const { Successful = [], Failed = [] } = await queue.sendBatch(
      { Id: 'one', MessageBody: '1', ...inGroup },
      { Id: 'two', MessageBody: 'x'.repeat(1025), ...inGroup, MessageDeduplicationId: '2' },
      { Id: 'three', MessageBody: '3', ...inGroup, MessageDeduplicationId: '3' },
    )
    expect(Successful.map(({ Id }) => Id)).toEqual(['one', 'three'])
    expect(Failed.map(({ Id, Code, SenderFault }) => [Id, Code, SenderFault])).toEqual([
      ['two', 'InvalidParameterValue', true],
    ])
    expect(await queue.receiveBodies()).toEqual(['1', '3'])
  }),
  // LocalStack's recordings of AWS: test_send_batch_missing_message_group_id_for_fifo_queue and its sibling.
  ...(['MessageGroupId', 'MessageDeduplicationId'] as const).map((missing) =>
    check(`A batch to a FIFO queue is refused if an entry lacks its ${missing}.`, async (place) => {
      const queue = await place.queue(highThroughput)
      const { [missing]: _, ...less } = { ...inGroup, MessageDeduplicationId: '2' }
      const sending = queue.sendBatch(
        { Id: 'one', MessageBody: '1', ...inGroup },
        { Id: 'two', MessageBody: '2', ...less },
      )
      expect(await outcomeOf(sending)).toBe('InvalidParameterValue')
      expect(await queue.receiveBodies()).toEqual([])
    }),
  ),
  ends(`${older}EmptyBatchRequest`, 'A batch has an entry.', async (place) =>
    (await place.queue(standard)).sendBatch(),
  ),
  ends(`${older}TooManyEntriesInBatchRequest`, 'A batch has ten entries at most.', async (place) =>
    (await place.queue(standard)).sendBatch(
      ...Array.from({ length: 11 }, (_, n) => ({ Id: `${n}`, MessageBody: 'x' })),
    ),
  ),
  ends(`${older}BatchEntryIdsNotDistinct`, 'The ids of a batch differ.', async (place) =>
    (await place.queue(standard)).sendBatch(
      { Id: 'a', MessageBody: 'x' },
      { Id: 'a', MessageBody: 'y' },
    ),
  ),
  ends(`${older}InvalidBatchEntryId`, 'An id of a batch holds no spaces.', async (place) =>
    (await place.queue(standard)).sendBatch({ Id: 'a b', MessageBody: 'x' }),
  ),
  ends(`${older}BatchRequestTooLong`, 'A batch has 1 MiB at most in all.', async (place) =>
    (await place.queue(standard)).sendBatch(
      { Id: 'a', MessageBody: 'x'.repeat(MIB) },
      { Id: 'b', MessageBody: 'y' },
    ),
  ),
  check('A batch deletes, and says what it could not.', async (place) => {
    const queue = await place.queue(standard)
    await queue.send('x')
    const message = await queue.receiveOne({ WaitTimeSeconds: 20 })
    const { Successful, Failed } = await queue.deleteBatch(message, { ReceiptHandle: 'hello' })
    expect(Successful?.map(({ Id }) => Id)).toEqual(['0'])
    expect(Failed?.map(({ Id, Code }) => [Id, Code])).toEqual([['1', 'ReceiptHandleIsInvalid']])
  }),
]

const shapes: readonly Case[] = [
  check(
    'Attributes of each type come back as they were, and only those asked for.',
    async (place) => {
      const queue = await place.queue(standard)
      const MessageAttributes = {
        'idempotency-key': attribute('käse'),
        'n.one': { DataType: 'Number', StringValue: '1.5' },
        bytes: { DataType: 'Binary.png', BinaryValue: new Uint8Array(randomBytes(20)) },
      }
      const { MD5OfMessageAttributes } = await queue.send('x', { MessageAttributes })
      const VisibilityTimeout = 0
      const all = await queue.receiveOne({ WaitTimeSeconds: 20, VisibilityTimeout })
      expect(all.MessageAttributes).toEqual(MessageAttributes)
      expect(all.MD5OfMessageAttributes).toBe(MD5OfMessageAttributes)
      const names = (message: typeof all) => Object.keys(message.MessageAttributes ?? {})
      const some = await queue.receiveOne({
        WaitTimeSeconds: 20,
        VisibilityTimeout,
        MessageAttributeNames: ['n.*'],
      })
      expect(names(some)).toEqual(['n.one'])
      const none = await queue.receiveOne({ WaitTimeSeconds: 20, MessageAttributeNames: [] })
      expect(names(none)).toEqual([])
      expect(none.MD5OfMessageAttributes).toBeUndefined()
    },
  ),
  check('A receive tells only the system attributes that it was asked for.', async (place) => {
    const queue = await place.queue(highThroughput)
    await queue.send('x', inGroup)
    const { Attributes } = await queue.receiveOne({
      MessageSystemAttributeNames: ['MessageGroupId', 'SequenceNumber'],
    })
    expect(Attributes).toEqual({
      MessageGroupId: 'a',
      SequenceNumber: expect.stringMatching(/^\d{20}$/),
    })
  }),
  check('A queue tells its attributes, defaults too.', async (place) => {
    const attributes = await (await place.queue(highThroughput)).attributes()
    expect(attributes).toMatchObject({
      ApproximateNumberOfMessages: '0',
      ContentBasedDeduplication: 'false',
      DeduplicationScope: 'messageGroup',
      DelaySeconds: '0',
      FifoQueue: 'true',
      FifoThroughputLimit: 'perMessageGroupId',
      MaximumMessageSize: String(MIB),
      MessageRetentionPeriod: '345600',
      QueueArn: expect.stringMatching(/^arn:aws:sqs:[\w-]+:\d{12}:pushpop-conformance-.*\.fifo$/),
      ReceiveMessageWaitTimeSeconds: '0',
      VisibilityTimeout: '30',
    })
  }),
  check('A queue that is made again alike is the same queue.', async (place) => {
    const queue = await place.queue({ VisibilityTimeout: '5' })
    expect(await queue.makeAgain({ VisibilityTimeout: '5' })).toBe(queue.url)
    expect(await queue.addressByName()).toBe(queue.url)
    expect(await outcomeOf(queue.makeAgain({ VisibilityTimeout: '6' }))).toBe('QueueAlreadyExists')
  }),
]

const lists: readonly Case[] = [
  check('A list without queues has no field for them.', async (place) => {
    const queue = await place.queue(standard)
    expect(await queue.list('-missing')).toBeUndefined()
    if (place.service.waitSeconds === 0) expect(await queue.list('')).toEqual([queue.url])
  }),
]

conformance('sqs, lists', lists)
conformance('sqs, refusals', cases)
conformance('sqs, batches', batches)
conformance('sqs, shapes', shapes)
