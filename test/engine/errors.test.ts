import { describe, expect, it } from 'vitest'
import { ITEM_BYTES_MAX } from '../../engine/core/limits.ts'
import type { PushItem, Queues } from '../../engine/queues.ts'
import { type ErrorCode, QueueError } from '../../shared/errors.ts'
import { onSimulated, openSimulated } from './stage.ts'
import { bulky, codeOf, lockItems, named, push } from './traffic.ts'
import { throttled, timedOut } from './wire.ts'

type Call = (queues: Queues) => Promise<unknown>

const pushing =
  (...items: PushItem[]): Call =>
  (queues) =>
    push(queues, 'queue', items)

/** So many items of a lock. */
const settling =
  (count: number): Call =>
  (q) =>
    q.acknowledge('queue', { lockId: 'x', ids: Array.from({ length: count }, () => 'y') })

const text = (bytes: number): string => `"${'x'.repeat(bytes - 2)}"`

describe('Bad input is refused, by a code and the field, before anything is sent', () => {
  const many = Array.from({ length: 1_001 }, () => ({ text: '1' }))
  const heavy = Array.from({ length: 11 }, () => ({ text: text(250_000) }))
  const cases: readonly [string, ErrorCode, string | undefined, Call][] = [
    ['no queue id', 'INVALID_QUEUE_ID', 'id', (q) => push(q, '', named('a', 1))],
    ['a queue id of 101 characters', 'INVALID_QUEUE_ID', 'id', (q) => q.pop('q'.repeat(101))],
    ['a queue id "."', 'INVALID_QUEUE_ID', 'id', (q) => q.purge('.')],
    ['a queue id ".."', 'INVALID_QUEUE_ID', 'id', (q) => q.inspect('..')],
    ['a queue id with a #', 'INVALID_QUEUE_ID', 'id', (q) => q.configure('a#b', {})],
    ['a queue id with a space', 'INVALID_QUEUE_ID', 'id', (q) => q.housekeep('a b')],
    ['a queue id beyond ASCII', 'INVALID_QUEUE_ID', 'id', (q) => q.browse('é')],
    ['two suffixes', 'INVALID_QUEUE_ID', 'id', (q) => q.pop(`${'q'.repeat(101)}-deadletter`)],
    ['no items', 'INVALID_ITEM', 'items', pushing()],
    ['too many items', 'INVALID_ITEM', 'items', pushing(...many)],
    ['no JSON', 'INVALID_ITEM', 'item', pushing({ text: 'x' })],
    ['empty text', 'INVALID_ITEM', 'item', pushing({ text: '' })],
    ['a lone surrogate as it is', 'INVALID_ITEM', 'item', pushing({ text: '"\ud800"' })],
    [
      'a bad item among good ones',
      'INVALID_ITEM',
      'items[1]',
      pushing({ text: '1' }, { text: '' }),
    ],
    ['a negative priority', 'INVALID_PRIORITY', 'priority', pushing({ text: '1', priority: -1 })],
    [
      'a priority beyond 31 bits',
      'INVALID_PRIORITY',
      'items[1].priority',
      pushing({ text: '1' }, { text: '1', priority: 2 ** 31 }),
    ],
    ['half a priority', 'INVALID_PRIORITY', 'priority', pushing({ text: '1', priority: 0.5 })],
    ['a large item', 'ITEM_TOO_LARGE', 'item', pushing({ text: text(ITEM_BYTES_MAX + 1) })],
    ['too much at once', 'BODY_TOO_LARGE', 'items', pushing(...heavy)],
    ['a count of 0', 'INVALID_COUNT', 'count', (q) => q.pop('queue', { count: 0 })],
    ['a count of 101', 'INVALID_COUNT', 'count', (q) => q.pop('queue', { count: 101 })],
    ['half a count', 'INVALID_COUNT', 'count', (q) => q.pop('queue', { count: 1.5 })],
    ['half a ttl', 'INVALID_TTL', 'ttl_seconds', (q) => q.pop('queue', { ttlSeconds: 1.5 })],
    [
      'a ttl that is none',
      'INVALID_TTL',
      'ttl_seconds',
      (q) => q.extend('queue', { lockId: 'x', ttlSeconds: Number.NaN }),
    ],
    ['no lock id', 'INVALID_LOCK_ID', 'lock_id', (q) => q.release('queue', { lockId: '' })],
    ['none of its items', 'INVALID_PARAMETER', 'ids', settling(0)],
    ['101 of its items', 'INVALID_PARAMETER', 'ids', settling(101)],
    [
      'a priority to purge that is none',
      'INVALID_PRIORITY',
      'priority',
      (q) => q.purge('queue', { priority: -1 }),
    ],
  ]
  it.each(cases)('%s: %s.', async (_, code, field, call) => {
    const queues = openSimulated().engine()
    await expect(call(queues)).rejects.toMatchObject({ code, field, retryable: false })
    expect(queues.wire.sent).toEqual([])
  })

  it('while the largest item and the largest push pass.', async () => {
    const queues = openSimulated().engine()
    await pushing({ text: text(ITEM_BYTES_MAX) })(queues)
    await pushing(...Array.from({ length: 10 }, () => ({ text: text(ITEM_BYTES_MAX) })))(queues)
    await pushing(...many.slice(0, 1_000))(queues)
    await push(queues, `${'q'.repeat(100)}-deadletter`, named('a', 1))
  })
})

describe('If the store keeps throttling, a call says so, and that nothing happened:', () => {
  const calls: Readonly<Record<string, Call>> = {
    push: (q) => push(q, 'queue', named('b', 1)),
    'push with a key': (q) => q.push('queue', { items: named('b', 1), idempotencyKey: 'key' }),
    'bulk push': (q) => push(q, 'queue', named('b', 500)),
    pop: (q) => q.pop('queue'),
    claim: (q) => q.pop('queue', { requireAck: true, competing: true }),
    release: (q) => q.release('queue', { lockId: 'x' }),
    acknowledge: (q) => q.acknowledge('queue', { lockId: 'x' }),
    purge: (q) => q.purge('queue'),
    configure: (q) => q.configure('queue', { capacity: 3 }),
    inspect: (q) => q.inspect('queue'),
    list: (q) => q.list(),
  }
  it.each(Object.keys(calls))('%s.', async (name) => {
    const stage = openSimulated()
    await push(stage.engine(), 'queue', named('a', 3))
    const before = await stage.stored('queue')
    const queues = stage.engine({
      before: () => {
        throw throttled()
      },
    })
    const error = await calls[name]?.(queues).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(QueueError)
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true, outcome: undefined })
    expect(queues.wire.sent.length).toBeLessThanOrEqual(16 * 8)
    expect(await stage.stored('queue')).toEqual(before)
  })
})

describe('A push whose answer is lost', () => {
  it.each([true, false])('is found by its own entries where it happened: %s.', async (happened) => {
    const stage = openSimulated()
    await push(stage.engine(), 'queue', named('a', 2))
    const lose = ({ name }: { name: string }) => {
      if (name === 'UpdateCommand') throw timedOut()
    }
    const queues = stage.engine(happened ? { after: lose } : { before: lose })
    const call = push(queues, 'queue', named('b', 2))
    if (happened) expect((await call).ids).toHaveLength(2)
    else await expect(call).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'unknown' })
    const sent = queues.wire.sent.filter(({ name }) => name === 'UpdateCommand')
    expect(sent).toHaveLength(1)
    expect((await stage.engine().inspect('queue')).count).toBe(happened ? 4 : 2)
  })

  it('that was the first of its queue is told by the birth of the record.', async () => {
    for (const happened of [true, false]) {
      const stage = openSimulated()
      const lose = ({ name }: { name: string }) => {
        if (name === 'PutCommand') throw timedOut()
      }
      const queues = stage.engine(happened ? { after: lose } : { before: lose })
      const call = push(queues, 'queue', named('a', 1))
      if (happened) expect((await call).ids).toHaveLength(1)
      else await expect(call).rejects.toMatchObject({ outcome: 'unknown' })
    }
  })
})

it('Items whose rows are gone are never passed over: SEGMENT_UNAVAILABLE, and nothing is taken.', async () => {
  const { stage, queues } = onSimulated()
  await push(queues, 'queue', named('a', 200))
  await push(queues, 'queue', named('b', 1))
  const none = stage.engine({
    after: ({ name, input }) => {
      const { pk } = (input.Key ?? {}) as { pk?: string }
      if (name === 'GetCommand' && pk?.startsWith('b#')) throw timedOut()
    },
  })
  const before = await stage.stored('queue')
  for (const request of [{}, { requireAck: true }, { count: 100, competing: true }]) {
    expect(await codeOf(none.pop('queue', request))).toBe('STORE_UNAVAILABLE')
  }
  expect(await stage.stored('queue')).toEqual(before)
  const [row] = await stage.rows('queue', 'b')
  expect(row).toBeDefined()
  const { DeleteCommand } = await import('@aws-sdk/lib-dynamodb')
  const Key = { pk: row?.pk, sk: row?.sk }
  await stage.store.dynamodb.send(
    new DeleteCommand({ TableName: stage.store.tableName, Key }) as never,
  )
  const cold = stage.engine()
  expect(await codeOf(cold.pop('queue'))).toBe('SEGMENT_UNAVAILABLE')
  expect(await codeOf(cold.browse('queue'))).toBe('SEGMENT_UNAVAILABLE')
  expect(await stage.stored('queue')).toEqual(before)
})

it('If neither store accepts a large push, it fails with STORE_UNAVAILABLE and leaves nothing behind.', async () => {
  const stage = openSimulated()
  await push(stage.engine(), 'queue', named('a', 1))
  const before = await stage.stored('queue')
  const queues = stage.engine({
    before: ({ name }) => {
      if (/^(PutObject|BatchWrite|Put)Command$/.test(name)) throw timedOut()
    },
  })
  const items = Array.from({ length: 100 }, (_, n) => ({ text: bulky(`n${n}`, 400) }))
  const error = await push(queues, 'queue', items).catch((error: unknown) => error)
  expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true, outcome: undefined })
  const { cause } = error as { cause?: AggregateError }
  expect(cause?.errors.map(String)).toHaveLength(2)
  expect(queues.wire.sent.some(({ name }) => name === 'PutObjectCommand')).toBe(true)
  expect(await stage.stored('queue')).toEqual(before)
})

it('A call that loses every race fails with BUSY and changes nothing.', async () => {
  const { stage, queues: rival } = onSimulated()
  await push(rival, 'queue', named('a', 3))
  let change = 0
  const queues = stage.engine({
    before: async ({ name }) => {
      if (name !== 'UpdateCommand') return
      change += 1
      await rival.configure('queue', { bufferSegments: 1 + (change % 50) })
    },
  })
  const { lock } = await lockItems(rival, 'queue', { ttlSeconds: 300 })
  expect(await codeOf(queues.release('queue', { lockId: lock.id }))).toBe('BUSY')
  expect(await codeOf(queues.pop('queue', { competing: true }))).toBe('BUSY')
  expect(await codeOf(queues.purge('queue'))).toBe('BUSY')
  expect(await stage.engine().inspect('queue')).toMatchObject({ count: 3, lockedCount: 1 })
})
