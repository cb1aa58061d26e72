import type { DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda'
import { describe, expect, it } from 'vitest'
import type { QueueRecord } from '../../../../engine/core/record.ts'
import { announceBatch } from '../../../../lambdas/background/announce.ts'
import { aLane, aLock, aRecord, at, later, nowMs, tailOf } from '../../../engine/core/a-record.ts'
import { storedOf } from '../../../engine/requests/an-update.ts'
import { ABus, aRun, type Trouble } from './a-bus.ts'
import { expectDocumented } from './event-schemas.ts'
import { streamRecord } from './stream-record.ts'

/** With when locks ended last, which the other tests do without. */
const image = (record: QueueRecord): Record<string, unknown> => ({
  ...storedOf(record),
  le: record.lastEndedMs,
})
const named = (queue: string, record: QueueRecord): QueueRecord => ({ ...record, queue })

const empty = aRecord({ 0: aLane() }, { dry: true })
const full = aRecord({ 0: aLane({ tail: tailOf(3) }) })
/** A push to a drained queue. */
const push = (queue: string, sequence: number): DynamoDBRecord =>
  streamRecord(sequence, image(named(queue, empty)), image(named(queue, full)), nowMs)

async function announce(
  records: readonly unknown[],
  { trouble = () => undefined, bus = new ABus() }: { trouble?: Trouble; bus?: ABus } = {},
) {
  bus.trouble = trouble
  const run = aRun()
  const event = { Records: records } as DynamoDBStreamEvent
  const report = await announceBatch(bus, 'PushPop', event, run)
  for (const { DetailType, Detail } of bus.taken) expectDocumented(DetailType, JSON.parse(Detail))
  return { ...report, ...run, bus, failures: report.answer.batchItemFailures }
}

describe('A batch of the stream', () => {
  it('becomes events on the bus, in the order of the writes.', async () => {
    const lock = aLock(later(-1_000), at(0, 0, 3))
    const held = aRecord(
      { 0: aLane({ tail: tailOf(3), frontier: 3 }) },
      { dry: true, locks: new Map([['one', lock]]) },
    )
    const done = { ...held, locks: new Map([['one', { ...lock, expiresAtMs: 0 }]]) }
    const { bus, failures, events } = await announce([
      push('a', 1),
      streamRecord(2, image(named('b', held)), image(named('b', done)), nowMs),
      push('c', 3),
    ])
    expect(bus.kinds).toEqual(['Items Available a', 'Queue Drained b', 'Items Available c'])
    expect([failures, events]).toEqual([[], 3])
    expect(bus.taken[0]).toMatchObject({
      EventBusName: 'PushPop',
      Source: 'pushpop',
      DetailType: 'Items Available',
      Time: new Date(nowMs),
    })
    expect(bus.details[0]).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      queue: 'a',
      version: 7,
      at: '2030-03-17T17:46:40.000Z',
      count: 3,
      locked: 0,
      priorities: { 0: { count: 3, locked: 0 } },
    })
  })

  it('that comes again has the same ids, and no two events have one.', async () => {
    const records = Array.from({ length: 30 }, (_, index) => push(`q${index % 3}`, index))
    const bus = new ABus()
    await announce(records, { bus })
    const ids = bus.details.map(({ id }) => id)
    expect(new Set(ids).size).toBe(30)
    await announce(records.slice(7), { bus })
    expect(bus.details.slice(30).map(({ id }) => id)).toEqual(ids.slice(7))
  })

  it('has other rows, deletions and writes that are no transition passed over.', async () => {
    const chunk = { pk: 's#a#epoch-00#0#1', sk: '000000000000-000000000100', d: 'x' }
    const row = image(full)
    const { bus, failures, records } = await announce([
      streamRecord(1, undefined, chunk, nowMs),
      streamRecord(2, undefined, { pk: 'i#a#hash', sk: 'receipt' }, nowMs),
      streamRecord(3, undefined, { pk: 'q#a b', sk: 'queue' }, nowMs),
      streamRecord(4, row, undefined, nowMs),
      streamRecord(5, row, { ...row, v: 8 }, nowMs),
    ])
    expect([bus.calls, failures, records]).toEqual([0, [], 5])
  })

  it('names each record of which an event is not known to be on the bus.', async () => {
    const { bus, failures, failed, lines } = await announce(
      ['a', 'b', 'c', 'd'].map((queue, index) => push(queue, 10 + index)),
      {
        trouble: () => ({
          refused: ({ Detail }) => (/"queue":"[bd]"/.test(Detail) ? 'InternalFailure' : undefined),
        }),
      },
    )
    expect(failures).toEqual([{ itemIdentifier: '11' }, { itemIdentifier: '13' }])
    expect(failed).toBe(2)
    expect(bus.kinds).toEqual(['Items Available a', 'Items Available c'])
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({
        message: 'events not put',
        error: { error_code: 'InternalFailure' },
      }),
    ])
  })

  const row = image(full)
  const badly = (changes: Record<string, unknown>) =>
    streamRecord(7, image(empty), { ...row, ...changes }, nowMs)
  it.each<[string, unknown]>([
    ['lanes', badly({ L: undefined })],
    ['a lane that is one', badly({ L: { 0: 'lane' } })],
    ['the head of a lane', badly({ L: { 0: { ...(row.L as object[])[0], h: undefined } } })],
    ['a tail', badly({ L: { 0: { ...(row.L as object[])[0], t: 'none' } } })],
    ['a version that is a number', badly({ v: '7' })],
    ['the start of a claim', badly({ K: { lock: { x: 1, p: 0, n: 1 } } })],
    ['a lock that is one', badly({ K: { lock: { x: 1 } } })],
    ['a count of returns', badly({ g: undefined })],
    [
      'values of known types',
      { ...push('a', 7), dynamodb: { ...push('a', 7).dynamodb, NewImage: { L: { Q: 1 } } } },
    ],
    [
      'the image before',
      { ...push('a', 7), dynamodb: { ...push('a', 7).dynamodb, OldImage: undefined } },
    ],
    [
      'the image after',
      { ...push('a', 7), dynamodb: { ...push('a', 7).dynamodb, NewImage: undefined } },
    ],
    ['keys', { eventName: 'MODIFY', dynamodb: { SequenceNumber: '7' } }],
  ])('reports a record without %s, and announces what lies behind it.', async (_, record) => {
    const { bus, failures, lines } = await announce([push('a', 6), record, push('c', 8)])
    expect(failures).toEqual([{ itemIdentifier: '7' }])
    expect(bus.kinds).toEqual(['Items Available a', 'Items Available c'])
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0] as string)).toMatchObject({
      level: 'error',
      message: 'write not understood',
      sequence_number: '7',
    })
    expect(lines[0]).not.toContain('tag1')
  })

  it('says that the stream must give both images.', async () => {
    const { dynamodb, ...rest } = push('a', 7)
    const { OldImage, ...half } = dynamodb as NonNullable<typeof dynamodb>
    const { lines } = await announce([{ ...rest, dynamodb: half }])
    expect(OldImage).toBeDefined()
    expect(lines[0]).toContain('because the stream does not give both images of it')
  })

  it('fails as a whole if a record that failed has no number.', async () => {
    expect((await announce([{}])).failures).toEqual([{ itemIdentifier: '' }])
  })

  it('of nothing is done at once.', async () => {
    expect((await announce([])).failures).toEqual([])
    const run = aRun()
    const { answer } = await announceBatch(new ABus(), 'x', {} as DynamoDBStreamEvent, run)
    expect(answer).toEqual({ batchItemFailures: [] })
  })
})

describe('A detail', () => {
  it('has the first 20 priorities, and says that there are more.', async () => {
    const lanes = Object.fromEntries(
      Array.from({ length: 25 }, (_, p) => [p * 3, aLane({ tail: tailOf(p + 1) })]),
    )
    const { bus } = await announce([streamRecord(1, undefined, image(aRecord(lanes)), nowMs)])
    const [detail] = bus.details
    expect(detail).toMatchObject({ count: 325, more_priorities: true })
    const { priorities } = detail as unknown as { priorities: object }
    expect(Object.keys(priorities).map(Number)).toEqual(Array.from({ length: 20 }, (_, p) => p * 3))
  })

  it('counts what is locked, and leaves out what is dead or acknowledged.', async () => {
    const lane = aLane({ tail: tailOf(10), frontier: 6, dead: [{ from: 5, to: 6, reason: 'no' }] })
    const locks = new Map([
      ['live', aLock(later(1_000), at(0, 0, 2))],
      ['over', aLock(later(-1_000), at(0, 2, 3))],
      ['done', aLock(0, at(0, 3, 5))],
    ])
    const { bus } = await announce([
      streamRecord(1, undefined, image(aRecord({ 0: lane }, { locks })), nowMs),
    ])
    expect(bus.details.at(-1)).toMatchObject({
      count: 7,
      locked: 3,
      priorities: { 0: { count: 7, locked: 3 } },
    })
  })

  it('of an expired lock and of dead items has theirs as well, and no lock’s id.', async () => {
    const lock = aLock(later(-1_000), at(0, 0, 2), at(4, 0, 1))
    const lanes = {
      0: aLane({ tail: tailOf(5), frontier: 2 }),
      4: aLane({ tail: tailOf(1), frontier: 1 }),
    }
    const before = aRecord(lanes, { locks: new Map([['Lock-Secret', lock]]) })
    const after = aRecord(
      { ...lanes, 0: { ...lanes[0], dead: [{ from: 0, to: 2, reason: 'max_deliveries' }] } },
      { lastEndedMs: nowMs, returns: 1 },
    )
    const { bus } = await announce([streamRecord(1, image(before), image(after), nowMs)])
    expect(bus.kinds).toEqual([
      'Lock Expired orders',
      'Item Dead-Lettered orders',
      'Items Available orders',
    ])
    expect(bus.details[0]).toMatchObject({
      items: 3,
      lock_priorities: { 0: { count: 2 }, 4: { count: 1 } },
      count: 4,
      priorities: { 0: { count: 3, locked: 0 }, 4: { count: 1, locked: 0 } },
    })
    expect(bus.details[1]).toMatchObject({
      priority: 0,
      items: 2,
      reason: 'max_deliveries',
      dead_letter_queue: 'orders-deadletter',
    })
    expect(JSON.stringify(bus.taken)).not.toMatch(/Lock-Secret|tag1/)
  })
})
