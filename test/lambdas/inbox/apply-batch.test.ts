import { describe, expect, it } from 'vitest'
import { applyBatch } from '../../../lambdas/inbox/apply.ts'
import { onSimulated } from '../../engine/stage.ts'
import { drain, popItems, textsOf } from '../../engine/traffic.ts'
import { throttled } from '../../engine/wire.ts'
import { aRun, eventOf, record } from './an-inbox.ts'

const scene = (options?: Parameters<typeof aRun>[0]) => {
  const { stage, queue } = onSimulated()
  const run = aRun(options)
  const apply = (...records: Parameters<typeof eventOf>) =>
    applyBatch(stage.engine(), run.port, eventOf(...records), run.run, () => stage.clock.nowMs())
  const left = async (id = queue) => textsOf(await drain(stage.engine(), id))
  return { ...run, stage, queue, apply, left }
}
const failuresOf = ({ answer }: Awaited<ReturnType<typeof applyBatch>>) =>
  answer.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier)

describe('A batch of the inbox', () => {
  it('applies the messages of each group in their order.', async () => {
    const { apply, left } = scene()
    const batch = [record('a', 1), record('b', 2), record('a', 3), record('b', 4)]
    const { answer, fields, failed } = await apply(...batch)
    expect(answer.batchItemFailures).toEqual([])
    expect({ fields, failed }).toMatchObject({ fields: { queues: 2, applied: 4 }, failed: false })
    expect(await left('a')).toEqual(['1', '3'])
    expect(await left('b')).toEqual(['2', '4'])
  })

  it('takes the body of a push in both its forms, byte for byte.', async () => {
    const { apply, left, queue } = scene()
    const many = '{"items": [{"item": {"a":1.0}, "priority": 2}, {"item": "x"}]}'
    await apply(record(queue, 1, { body: many }), record(queue, 2, { body: '{"item":1e2}' }))
    expect(await left()).toEqual(['"x"', '1e2', '{"a":1.0}'])
  })

  it('counts the time of an item from when its message was sent, however late and often it comes.', async () => {
    const { apply, left, queue, stage } = scene()
    const sentMs = stage.clock.nowMs()
    const body = '{"items":[{"item":1,"expires_in_seconds":60},{"item":2}]}'
    stage.clock.pass(59_000)
    const message = record(queue, 1, { body, key: 'k', sentMs })
    await apply(message)
    await apply(record(queue, 2, { body, key: 'k', sentMs: sentMs + 5_000 }))
    stage.clock.pass(1_000)
    expect(await left()).toEqual(['2'])
  })

  it('counts what it applied as pushed, and what it refused.', async () => {
    const { apply, tally, queue } = scene()
    await apply(record(queue, 1, { body: '{"items":[{"item":1},{"item":2,"delay_seconds":60}]}' }))
    await apply(record(queue, 2, { body: 'no JSON' }))
    expect(Object.fromEntries(tally.metrics)).toMatchObject({
      InboxApplied: 2,
      ItemsPushed: 2,
      ItemsScheduled: 1,
      InboxRefused: 1,
      ItemsDeadLettered: 1,
    })
  })

  it.each([
    ['{"item":1', 'JSON', '"{\\"item\\":1"'],
    ['[]', 'The body must be a JSON object', '[]'],
    ['{"itme":1}', 'item is missing', '{"itme":1}'],
    ['{"item":1,"priority":-1}', 'priority must be', '{"item":1,"priority":-1}'],
    [`{"items":[${'{"item":1},'.repeat(1_000)}{"item":1}]}`, 'more than 1000', undefined],
  ])(
    'puts %s to the dead letters of its queue, with the reason, and goes on.',
    async (body, reason, item) => {
      const { apply, left, stage, queue } = scene()
      const batch = [record(queue, 1), record(queue, 2, { body }), record(queue, 3)]
      expect(failuresOf(await apply(...batch))).toEqual([])
      expect(await left()).toEqual(['1', '3'])
      const { items } = await popItems(stage.engine(), `${queue}-deadletter`)
      expect(items[0]?.text).toBe(item ?? body)
      expect(items[0]?.reason).toContain('The inbox cannot push this: ')
      expect(items[0]?.reason).toContain(reason)
    },
  )

  it('puts a message whose key is no text to the dead letters: without its key it could come twice.', async () => {
    const { apply, left, stage, queue } = scene()
    const binary = { 'idempotency-key': { binaryValue: 'aw==', dataType: 'Binary' } } as never
    await apply({ ...record(queue, 1), messageAttributes: binary })
    expect(await left()).toEqual([])
    const { items } = await popItems(stage.engine(), `${queue}-deadletter`)
    expect(items[0]?.reason).toContain('Idempotency-Key must be')
  })

  it('keeps all of a message that is larger than an item: its pieces, one behind the other, are its text.', async () => {
    const { apply, left, queue } = scene()
    const body = `x${'\u0001é😀"'.repeat(150_000)}`.slice(0, 500_001)
    await apply(record(queue, 1, { body }))
    const pieces = await left(`${queue}-deadletter`)
    expect(pieces.map((piece) => JSON.parse(piece)).join('')).toBe(body)
  })

  it('keeps what is for no queue for a person, with what it was and why.', async () => {
    const { apply, givenUp } = scene()
    const batch = [record('no queue!', 1, { key: 'k' }), record('a-deadletter-deadletter', 2)]
    expect(failuresOf(await apply(...batch))).toEqual([])
    expect(givenUp.map(({ message }) => message)).toEqual([
      {
        queue: 'no queue!',
        body: '{"item":1}',
        deduplicationId: 'no queue!-1',
        idempotencyKey: 'k',
      },
      expect.objectContaining({ queue: 'a-deadletter-deadletter' }),
    ])
    expect(givenUp[0]?.reason).toContain('not the id of a queue')
  })

  it('keeps for a person what a dead-letter queue does not take.', async () => {
    const { apply, givenUp, left, stage } = scene()
    await stage.engine().push('q-deadletter', { items: [{ text: '0' }], idempotencyKey: 'k' })
    const batch = [record('q-deadletter', 1, { key: 'k' }), record('q-deadletter', 2)]
    expect(failuresOf(await apply(...batch))).toEqual([])
    expect(givenUp).toEqual([
      {
        message: expect.objectContaining({ body: '{"item":1}', idempotencyKey: 'k' }),
        reason: expect.stringContaining('other items'),
      },
    ])
    expect(await left('q-deadletter')).toEqual(['0', '2'])
  })

  it('repeats none of an earlier push with the same key.', async () => {
    const { apply, left, queue, stage } = scene()
    await stage.engine().push(queue, { items: [{ text: '1' }], idempotencyKey: 'k' })
    await apply(record(queue, 1, { key: 'k' }))
    expect(await left()).toEqual(['1'])
  })
})

describe('A group that has to wait', () => {
  it('is reported with all behind it, and other groups go on.', async () => {
    const { apply, left, queue, stage } = scene()
    await stage.engine().configure(queue, { capacity: 1 })
    const batch = [record(queue, 1), record('b', 2), record(queue, 3), record(queue, 4)]
    expect(failuresOf(await apply(...batch))).toEqual([`${queue}-3`, `${queue}-4`])
    expect(await left('b')).toEqual(['2'])
  })

  it.each([
    [1, 2],
    [4, 16],
    [9, 512],
    [10, 1_024],
    [11, 1_080],
    [500, 1_080],
  ])('is tried again, the %ith time after %i seconds.', async (received, seconds) => {
    const { apply, delayed, queue, stage } = scene()
    await stage.engine().configure(queue, { capacity: 1 })
    await stage.engine().push(queue, { items: [{ text: '0' }] })
    const sentMs = stage.clock.nowMs()
    await apply(record(queue, 1, { received, sentMs }), record(queue, 2, { received, sentMs }))
    expect(delayed).toEqual([
      { receiptHandle: `handle-${queue}-1`, seconds },
      { receiptHandle: `handle-${queue}-2`, seconds },
    ])
  })

  it('comes by itself where SQS does not hear when it should come.', async () => {
    const { apply, port, queue, stage } = scene()
    await stage.engine().configure(queue, { capacity: 1 })
    port.delay = () => Promise.reject(new Error('away'))
    expect(failuresOf(await apply(record(queue, 1), record(queue, 2)))).toEqual([`${queue}-2`])
  })

  it('waits for room for a day, and then goes to the dead letters.', async () => {
    const { apply, left, queue, stage } = scene()
    await stage.engine().configure(queue, { capacity: 1 })
    const sentMs = stage.clock.nowMs()
    const batch = [record(queue, 1, { sentMs }), record(queue, 2, { sentMs })]
    stage.clock.pass(86_399_000)
    expect(failuresOf(await apply(...batch))).toEqual([`${queue}-2`])
    stage.clock.pass(1_000)
    expect(failuresOf(await apply(...batch))).toEqual([])
    expect(await left(`${queue}-deadletter`)).toEqual(['2'])
  })

  it('tells how long it has waited, which SQS does not count: the longest of all groups.', async () => {
    const { apply, queue, stage, tally } = scene()
    await stage.engine().configure(queue, { capacity: 1 })
    await stage.engine().configure('b', { capacity: 1 })
    const sentMs = stage.clock.nowMs()
    const sent = (group: string, number: number, beforeMs = 0) =>
      record(group, number, { sentMs: sentMs - beforeMs })
    await apply(sent(queue, 1), sent('b', 2))
    expect(tally.metrics.get('InboxWaiting')).toBeUndefined()
    stage.clock.pass(700_000)
    await apply(sent(queue, 3), sent('b', 4, 9_000), sent(queue, 5))
    expect(tally.metrics.get('InboxWaiting')).toBe(709)
  })

  it('waits while the table is away, for as long as that takes.', async () => {
    const { port, run, queue, stage } = scene()
    const away = stage.engine({
      before: () => {
        throw throttled()
      },
    })
    const event = eventOf(record(queue, 1), record(queue, 2))
    const now = () => stage.clock.nowMs()
    const report = await applyBatch(away, port, event, run, now)
    expect(failuresOf(report)).toEqual([`${queue}-1`, `${queue}-2`])
    const later = await applyBatch(stage.engine(), port, event, run, now)
    expect(failuresOf(later)).toEqual([])
    expect(textsOf(await drain(stage.engine(), queue))).toEqual(['1', '2'])
  })

  it('is left if there is no time, and nothing is sent for it.', async () => {
    const { port, run, queue, stage } = scene({ remainingMs: 5_000 })
    const queues = stage.engine()
    const event = eventOf(record(queue, 1))
    const report = await applyBatch(queues, port, event, run, () => stage.clock.nowMs())
    expect(failuresOf(report)).toEqual([`${queue}-1`])
    expect(queues.wire.sent).toEqual([])
  })

  it('is not reported as applied by what failed in giving it up.', async () => {
    const { apply, port } = scene()
    port.giveUp = () => Promise.reject(new Error('away'))
    expect(failuresOf(await apply(record('no queue!', 1)))).toEqual(['no queue!-1'])
  })
})
