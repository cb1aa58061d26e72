import {
  BatchGetCommand,
  type BatchGetCommandOutput,
  BatchWriteCommand,
  DeleteCommand,
  GetCommand,
  PutCommand,
  QueryCommand,
  type QueryCommandOutput,
  TransactWriteCommand,
  type TransactWriteCommandInput,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb'
import { describe, expect, test } from 'vitest'
import type {
  Change,
  DatabaseOptions,
  StaleTarget,
} from '../../../testing/simulated/dynamodb/database.ts'
import { createSimulatedClient } from '../../../testing/simulated/network.ts'
import { SimulatedStore } from '../../../testing/simulated/store.ts'
import { outcomeOf, text } from '../../proofs/conformance/place.ts'

/** The simulated store's own features: time, old versions, a throttle, a stream. */

const key = { pk: 'q#a', sk: 'queue' }
const TableName = 'simulated'

const other = { ...key, sk: 'other' }
type Actions = TransactWriteCommandInput['TransactItems']

const addition = (n: number) => ({
  TableName,
  Key: key,
  UpdateExpression: 'ADD n :n',
  ExpressionAttributeValues: { ':n': n },
})

function open(options: Partial<DatabaseOptions> = {}) {
  const store = new SimulatedStore(options)
  const { dynamodb } = createSimulatedClient(store)
  return {
    store,
    dynamodb,
    put: (attributes: object = {}) =>
      dynamodb.send(new PutCommand({ TableName, Item: { ...key, ...attributes } })),
    add: (n = 1) => dynamodb.send(new UpdateCommand(addition(n))),
    remove: (Key: object = key) => dynamodb.send(new DeleteCommand({ TableName, Key: { ...Key } })),
    transact: (TransactItems: Actions, more: object = {}) =>
      dynamodb.send(new TransactWriteCommand({ TransactItems, ...more })),
    async get(ConsistentRead = false) {
      const { Item } = await dynamodb.send(new GetCommand({ TableName, Key: key, ConsistentRead }))
      return Item
    },
    async due(now: number) {
      const { Items } = await dynamodb.send(
        new QueryCommand({
          TableName,
          IndexName: 'check',
          KeyConditionExpression: '#shard = :shard AND checkAt <= :now',
          ExpressionAttributeNames: { '#shard': 'shard' },
          ExpressionAttributeValues: { ':shard': 1, ':now': now },
        }),
      )
      return Items?.map((item) => item.checkAt)
    },
  }
}

describe('nothing outside can change what is stored', () => {
  test('what was put can be changed by its owner without effect', async () => {
    const { put, get } = open()
    const list = ['a']
    const bytes = new Uint8Array([1])
    await put({ list, bytes })
    list.push('b')
    bytes[0] = 9
    expect(await get()).toEqual({ ...key, list: ['a'], bytes: new Uint8Array([1]) })
  })

  test('what was read cannot be changed', async () => {
    const { put, get } = open()
    await put({ list: ['a'], map: { inside: [1] } })
    const item = (await get()) as { list: string[]; map: { inside: number[] } }
    expect(() => item.list.push('b')).toThrow(TypeError)
    expect(() => item.map.inside.push(2)).toThrow(TypeError)
    expect(() => Object.assign(item, { more: 1 })).toThrow(TypeError)
  })

  test('an item read before an update stays as it was', async () => {
    const { put, get, add } = open()
    await put({ n: 1 })
    const before = await get()
    await add()
    expect([before?.n, (await get())?.n]).toEqual([1, 2])
  })
})

describe('stale reads', () => {
  const stale = (back: number | ((target: StaleTarget) => number), nowMs = () => 0) =>
    open({ nowMs, staleness: typeof back === 'number' ? () => back : back })

  test('an eventually consistent read sees an older version', async () => {
    const { add, get } = stale(1)
    await add()
    await add()
    expect((await get())?.n).toBe(1)
  })

  test('a strong read sees the current version', async () => {
    const { add, get } = stale(1)
    await add()
    await add()
    expect((await get(true))?.n).toBe(2)
  })

  test('before its first version an item is missing', async () => {
    const { add, get } = stale(5)
    await add()
    expect(await get()).toBeUndefined()
  })

  test('a deleted item can still be seen', async () => {
    const { add, get, remove } = stale(1)
    await add()
    await remove()
    expect((await get())?.n).toBe(1)
    expect(await get(true)).toBeUndefined()
  })

  test('a version superseded too long ago is not seen any more', async () => {
    let nowMs = 0
    const { add, get } = stale(
      () => 2,
      () => nowMs,
    )
    await add()
    await add()
    nowMs = 1500
    await add()
    expect((await get())?.n).toBe(1)
    nowMs = 3000
    expect((await get())?.n).toBe(2)
    nowMs = 5000
    expect((await get())?.n).toBe(3)
  })

  test('an index shows a row where it was', async () => {
    let back = 0
    const { put, due } = stale(() => back)
    await put({ shard: 1, checkAt: 5 })
    await put({ shard: 1, checkAt: 9 })
    await put({ shard: 1 })
    expect(await due(10)).toEqual([])
    back = 1
    expect(await due(10)).toEqual([9])
    back = 2
    expect(await due(10)).toEqual([5])
    back = 3
    expect(await due(10)).toEqual([])
  })

  test('an index shows a row that has moved in both of its places, or in neither', async () => {
    const back = [1, 0, 0, 1]
    const { put, due } = stale(() => back.shift() ?? 0)
    await put({ shard: 1, checkAt: 5 })
    await put({ shard: 1, checkAt: 9 })
    expect(await due(10)).toEqual([5, 9])
    expect(await due(10)).toEqual([])
  })

  test('an index shows a row once, however often it moved', async () => {
    const { put, due } = stale((target) => (target.index === 'check' ? 1 : 0))
    for (const checkAt of [5, 6, 5, 6, 5]) await put({ shard: 1, checkAt })
    expect(await due(10)).toEqual([6])
  })

  test('many moves later an index shows a row just where it is', async () => {
    const { put, due } = stale(0)
    for (let i = 0; i < 3000; i++) {
      const checkAt = (i * i) % 11
      await put({ shard: 1, checkAt })
      expect(await due(10)).toEqual([checkAt])
    }
  })

  test('a place that a row came back to and left again is seen as long as the last visit', async () => {
    let nowMs = 0
    const { put, due } = stale(
      () => 1,
      () => nowMs,
    )
    for (const [ms, checkAt] of [
      [0, 5],
      [0, 9],
      [1_900, 5],
      [1_950, 9],
    ] as const) {
      nowMs = ms
      await put({ shard: 1, checkAt })
    }
    nowMs = 2_500
    for (const checkAt of [20, 21]) await put({ sk: 'other', shard: 1, checkAt })
    expect(await due(10)).toEqual([5])
  })

  test('places that no read can see any more are not looked at', async () => {
    let nowMs = 0
    let looks = 0
    const { put, due } = stale(
      () => {
        looks += 1
        return 0
      },
      () => nowMs,
    )
    for (nowMs = 0; nowMs < 10_000; nowMs += 100) await put({ shard: 1, checkAt: nowMs })
    expect(await due(10_000)).toEqual([9_900])
    expect(looks).toBeLessThan(30)
  })

  test('many changes later nothing is left behind', async () => {
    const { put, due, remove, get } = stale(0)
    for (let i = 0; i < 3000; i++) {
      await put({ shard: 1, checkAt: i % 7 })
      await remove()
    }
    expect([await due(10), await get()]).toEqual([[], undefined])
    await put({ shard: 1, checkAt: 3 })
    expect(await due(10)).toEqual([3])
  })
})

describe('rows that are read one after another', () => {
  /** Reads while the others write: the answer comes ten milliseconds after the request was sent. */
  const reading = async (spread: number, read: (place: ReturnType<typeof open>) => object) => {
    const clock = { ms: 100 }
    const place = open({ nowMs: () => clock.ms, readSpread: () => spread })
    const put = (sk: string, n: number) => place.put({ sk, n })
    await put('a', 1)
    await put('b', 1)
    clock.ms = 110
    const request = { service: 'dynamodb' as const, ...(read(place) as Named) }
    const sentMs = clock.ms
    clock.ms = 115
    await put('a', 2)
    await put('c', 2)
    clock.ms = 116
    await place.remove({ ...key, sk: 'b' })
    clock.ms = 120
    return place.store.apply(request, sentMs) as QueryCommandOutput & BatchGetCommandOutput
  }
  type Named = { readonly name: string; readonly input: object }
  const seen = (items: readonly Record<string, unknown>[] = []) =>
    items.map(({ sk, n }) => `${sk}${n}`).sort()
  const query = (forward: boolean) => () => ({
    name: 'QueryCommand',
    input: {
      TableName,
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': key.pk },
      ConsistentRead: true,
      ScanIndexForward: forward,
    },
  })

  test('a page has a later write, and not an earlier one of a row that was read before', async () => {
    expect(seen((await reading(1, query(true))).Items)).toEqual(['a1', 'b1', 'c2'])
    expect(seen((await reading(1, query(false))).Items)).toEqual(['a2', 'b1'])
    expect(seen((await reading(0, query(true))).Items)).toEqual(['a2', 'c2'])
  })

  test('so has a batch, whose rows are read in any order', async () => {
    const batch = () => ({
      name: 'BatchGetCommand',
      input: {
        RequestItems: {
          [TableName]: {
            Keys: [...'abc'].map((sk) => ({ ...key, sk })),
            ConsistentRead: true,
          },
        },
      },
    })
    expect(seen((await reading(1, batch)).Responses?.[TableName])).toEqual(['a1', 'b1'])
    expect(seen((await reading(0, batch)).Responses?.[TableName])).toEqual(['a2', 'c2'])
  })

  test('no row is seen as it was before the request was sent', async () => {
    const clock = { ms: 0 }
    const { put, dynamodb } = open({ nowMs: () => clock.ms, readSpread: () => 1 })
    await put({ n: 1 })
    clock.ms = 50
    await put({ n: 2 })
    const { input } = query(true)()
    const { Items } = await dynamodb.send(new QueryCommand(input))
    expect(Items?.map(({ n }) => n)).toEqual([2])
  })
})

describe('an index that lags', () => {
  const lagging = (...lags: readonly number[]) => {
    const clock = { ms: 0 }
    const left = [...lags]
    const place = open({ nowMs: () => clock.ms, indexLagMs: () => left.shift() ?? 0 })
    return { clock, ...place }
  }

  test('shows a row where it was until it has followed, and never where it was before', async () => {
    const { clock, put, due } = lagging(10, 100)
    await put({ shard: 1, checkAt: 5 })
    expect(await due(10)).toEqual([])
    clock.ms = 10
    expect(await due(10)).toEqual([5])
    await put({ shard: 1, checkAt: 9 })
    clock.ms = 109
    expect(await due(10)).toEqual([5])
    clock.ms = 110
    expect(await due(10)).toEqual([9])
  })

  test('follows the writes of a row in their order, however fast the later ones are', async () => {
    const { clock, put, due, remove } = lagging(0, 100, 5, 0)
    await put({ shard: 1, checkAt: 5 })
    await put({ shard: 1, checkAt: 6 })
    await put({ shard: 1, checkAt: 7 })
    await remove()
    clock.ms = 99
    expect(await due(10)).toEqual([5])
    clock.ms = 100
    expect(await due(10)).toEqual([])
  })

  test('lags however many writes come meanwhile', async () => {
    const { clock, put, due } = lagging(0, ...Array.from({ length: 3_000 }, () => 100))
    for (let checkAt = 0; checkAt <= 3_000; checkAt += 1) await put({ shard: 1, checkAt })
    expect(await due(5_000)).toEqual([0])
    clock.ms = 100
    expect(await due(5_000)).toEqual([3_000])
  })

  test('is all that lags', async () => {
    const { put, get } = lagging(100)
    await put({ shard: 1, checkAt: 5 })
    expect(await get()).toMatchObject({ checkAt: 5 })
  })
})

describe('the throttle', () => {
  const throttled = (burstUnits: number) => {
    const clock = { nowMs: 0 }
    const throttle = { writeUnitsPerSecond: 1000, burstUnits }
    return { clock, ...open({ nowMs: () => clock.nowMs, throttle }) }
  }

  test('without a burst the units of an item are spread over time', async () => {
    const { clock, put, add, store } = throttled(0)
    await put({ a: text(2000) }) // 2 units: 2 ms
    expect(await outcomeOf(add())).toBe('ProvisionedThroughputExceededException')
    clock.nowMs = 1
    expect(await outcomeOf(add())).toBe('ProvisionedThroughputExceededException')
    clock.nowMs = 2
    expect(await outcomeOf(add())).toBe('ok')
    expect(store.item(key.pk, key.sk)?.n).toBe(1)
    expect(store.meter.throttled).toBe(2)
  })

  test('an item takes 1,000 units in a second, whatever is tried', async () => {
    const { clock, add, store } = throttled(100)
    for (clock.nowMs = 0; clock.nowMs < 2000; clock.nowMs += 0.25) await outcomeOf(add())
    expect(store.item(key.pk, key.sk)?.n).toBeGreaterThan(1990)
    expect(store.item(key.pk, key.sk)?.n).toBeLessThan(2110)
  })

  test('a burst may come at once', async () => {
    const { add } = throttled(10)
    const outcomes: string[] = []
    for (let i = 0; i < 15; i++) outcomes.push(await outcomeOf(add()))
    expect(outcomes.filter((outcome) => outcome === 'ok')).toHaveLength(11)
  })

  test('another item is not concerned', async () => {
    const { put } = throttled(0)
    await put({ a: text(2000) })
    expect(await outcomeOf(put(other))).toBe('ok')
  })

  test('a refused condition is billed and counts', async () => {
    const { put, add, dynamodb, store } = throttled(1)
    await put({ a: text(2000) })
    const before = store.meter.writeUnits
    const ConditionExpression = 'attribute_not_exists(pk)'
    const refused = new PutCommand({ TableName, Item: key, ConditionExpression })
    await outcomeOf(dynamodb.send(refused))
    expect(store.meter.writeUnits).toBe(before) // throttled, so not even tried
    const { clock, ...again } = throttled(0)
    await again.put({ a: text(2000) })
    clock.nowMs = 2
    expect(await outcomeOf(again.dynamodb.send(refused))).toBe('ConditionalCheckFailedException')
    expect(again.store.meter.writeUnits).toBe(4)
    expect(await outcomeOf(again.add())).toBe('ProvisionedThroughputExceededException')
    expect(await outcomeOf(add())).toBe('ProvisionedThroughputExceededException')
  })

  test('a throttled write of a batch is left unprocessed', async () => {
    const { put, dynamodb } = throttled(0)
    await put({ a: text(2000) })
    const requests = [key, other].map((Item) => ({ PutRequest: { Item } }))
    const command = new BatchWriteCommand({ RequestItems: { [TableName]: requests } })
    const { UnprocessedItems } = await dynamodb.send(command)
    expect(UnprocessedItems?.[TableName]).toEqual([{ PutRequest: { Item: key } }])
  })

  test('single writes can be throttled by what they write', async () => {
    const { put, transact, dynamodb, store } = open({ throttlesWrite: ({ sk }) => sk === 'other' })
    await put()
    expect(await outcomeOf(put(other))).toBe('ProvisionedThroughputExceededException')
    const puts = [key, other].map((Item) => ({ Put: { TableName, Item } }))
    expect(await outcomeOf(transact(puts))).toBe('TransactionCanceledException')
    const requests = [key, other].map((Item) => ({ PutRequest: { Item } }))
    const command = new BatchWriteCommand({ RequestItems: { [TableName]: requests } })
    const { UnprocessedItems } = await dynamodb.send(command)
    expect(UnprocessedItems?.[TableName]).toEqual([{ PutRequest: { Item: other } }])
    expect(store.meter.throttled).toBe(3)
  })

  test('a throttled item cancels its transaction', async () => {
    const { put, transact, store } = throttled(0)
    await put({ a: text(2000) })
    const puts = [key, other].map((Item) => ({ Put: { TableName, Item } }))
    expect(await outcomeOf(transact(puts))).toBe('TransactionCanceledException')
    expect(store.item(key.pk, 'other')).toBeUndefined()
  })
})

describe('the throttle of reads', () => {
  const other = { ...key, sk: 'other' }
  const batch = (Keys: object[]) =>
    new BatchGetCommand({ RequestItems: { [TableName]: { Keys, ConsistentRead: true } } })

  test('an item that is throttled is left unprocessed by a batch, and refused by itself', async () => {
    const { put, get, dynamodb, store } = open({ throttlesRead: ({ sk }) => sk === key.sk })
    await put()
    const found = await dynamodb.send(batch([key, other]))
    expect(found.UnprocessedKeys?.[TableName]?.Keys).toEqual([key])
    expect(await outcomeOf(get())).toBe('ProvisionedThroughputExceededException')
    expect(store.meter.throttled).toBe(2)
  })

  test('a batch of which nothing can be processed is refused as a whole', async () => {
    const { dynamodb } = open({ throttlesRead: ({ sk }) => sk === key.sk })
    expect(await outcomeOf(dynamodb.send(batch([key])))).toBe(
      'ProvisionedThroughputExceededException',
    )
  })

  test('a partition of an index that is throttled cannot be queried', async () => {
    const { due } = open({ throttlesRead: ({ pk, index }) => index === 'check' && pk === 1 })
    expect(await outcomeOf(due(1))).toBe('ProvisionedThroughputExceededException')
  })
})

describe('the stream', () => {
  const recorded = () => {
    const changes: Change[] = []
    return { changes, ...open({ onChange: (change) => changes.push(change) }) }
  }

  test('tells each change with the item before and after', async () => {
    const { changes, put, add, remove } = recorded()
    await put({ n: 1 })
    await add()
    await remove()
    expect(changes).toEqual([
      { ...key, oldItem: undefined, newItem: { ...key, n: 1 } },
      { ...key, oldItem: { ...key, n: 1 }, newItem: { ...key, n: 2 } },
      { ...key, oldItem: { ...key, n: 2 }, newItem: undefined },
    ])
  })

  test('is silent about a write that changes nothing', async () => {
    const { changes, put, add, remove } = recorded()
    await put({ n: 1, list: [{ a: 1 }] })
    await put({ n: 1, list: [{ a: 1 }] })
    await add(0)
    await remove({ ...key, sk: 'missing' })
    expect(changes).toHaveLength(1)
  })

  test('is silent about a transaction that was cancelled', async () => {
    const { changes, transact } = recorded()
    const ConditionCheck = { TableName, Key: other, ConditionExpression: 'attribute_exists(pk)' }
    await outcomeOf(transact([{ Put: { TableName, Item: key } }, { ConditionCheck }]))
    expect(changes).toEqual([])
  })
})

describe('time to live', () => {
  test('rows go when it has passed, and the stream tells', async () => {
    const changes: Change[] = []
    const { store, put } = open({ onChange: (change) => changes.push(change) })
    await put({ ttl: 100 })
    expect(store.expireTtl(99)).toBe(0)
    expect(store.expireTtl(100)).toBe(1)
    expect([...store.items()]).toEqual([])
    expect(changes.at(-1)).toEqual({ ...key, oldItem: { ...key, ttl: 100 }, newItem: undefined })
    expect(store.expireTtl(1000)).toBe(0)
  })

  test('rows whose time was taken away stay', async () => {
    const { store, put } = open()
    await put({ ttl: 100 })
    await put({})
    expect(store.expireTtl(1000)).toBe(0)
  })
})

test('what PushPop never asks for is refused, not ignored', async () => {
  const { dynamodb } = open()
  const command = new GetCommand({ TableName, Key: key, ProjectionExpression: 'n' })
  await expect(async () => dynamodb.send(command)).rejects.toThrow(
    'Cannot simulate ProjectionExpression because the store does not know it',
  )
})

test('tokens are forgotten after ten minutes', async () => {
  let nowMs = 0
  const { transact, store } = open({ nowMs: () => nowMs })
  const add = () => transact([{ Update: addition(1) }], { ClientRequestToken: 'token' })
  await add()
  nowMs = 599_999
  await add()
  expect(store.item(key.pk, key.sk)?.n).toBe(1)
  nowMs = 600_000
  await add()
  expect(store.item(key.pk, key.sk)?.n).toBe(2)
})

describe('a transaction that takes its time', () => {
  const transaction = (ConditionExpression?: string) => ({
    service: 'dynamodb' as const,
    name: 'TransactWriteCommand',
    input: {
      TransactItems: [
        { Put: { TableName, Item: { ...key, n: 9 } } },
        { Put: { TableName, Item: other, ...(ConditionExpression && { ConditionExpression }) } },
      ],
    },
  })

  test('refuses every other write of its items, and shows none of its own, until it is done', async () => {
    const { store, put, add, get, remove } = open()
    await put({ n: 1 })
    const finish = store.begin(transaction())
    expect(await outcomeOf(add())).toBe('TransactionConflictException')
    expect(await outcomeOf(remove(other))).toBe('TransactionConflictException')
    expect(await get(true)).toMatchObject({ n: 1 })
    finish()
    expect(await get(true)).toMatchObject({ n: 9 })
    await add()
    expect(await get(true)).toMatchObject({ n: 10 })
  })

  test('leaves writes of its items unprocessed in a batch, so that it overwrites none of them', async () => {
    const { store, dynamodb, get } = open()
    const finish = store.begin(transaction())
    const third = { ...key, sk: 'third' }
    const requests = [{ ...key, n: 5 }, third].map((Item) => ({ PutRequest: { Item } }))
    const batch = (RequestItems: object) =>
      dynamodb.send(new BatchWriteCommand({ RequestItems: RequestItems as never }))
    const { UnprocessedItems = {} } = await batch({ [TableName]: requests })
    expect(UnprocessedItems[TableName]).toEqual([{ PutRequest: { Item: { ...key, n: 5 } } }])
    // No lack of capacity, so that is no error, even if it is all.
    expect((await batch(UnprocessedItems)).UnprocessedItems).toEqual(UnprocessedItems)
    finish()
    await batch(UnprocessedItems)
    expect(await get(true)).toMatchObject({ n: 5 })
  })

  test('tells a copy of itself, by its token, that it is still at work', async () => {
    const { store } = open()
    const { input, ...request } = transaction()
    const copy = { ...request, input: { ...input, ClientRequestToken: 'token' } }
    const finish = store.begin(copy)
    expect(() => store.apply(copy)).toThrow(
      expect.objectContaining({ name: 'TransactionInProgressException' }),
    )
    finish()
    expect(store.apply(copy)).toBeDefined()
  })

  test('cancels another that meets it, and says at which item', async () => {
    const { store } = open()
    const finish = store.begin(transaction())
    expect(() => store.apply(transaction())).toThrow('[TransactionConflict, TransactionConflict]')
    finish()
    expect(store.apply(transaction())).toBeDefined()
  })

  test('is cancelled if a plain write is still at work on one of its items', async () => {
    let nowMs = 0
    const { store, add, put } = open({ nowMs: () => nowMs, plainWriteMs: () => 5 })
    await add()
    nowMs = 4
    expect(() => store.apply(transaction())).toThrow('[TransactionConflict, None]')
    // Plain writes queue up behind each other.
    expect(await outcomeOf(put({ n: 1 }))).toBe('ok')
    nowMs = 9
    expect(store.apply(transaction())).toBeDefined()
  })

  test('holds nothing when its conditions do not', async () => {
    const { store, add } = open()
    expect(() => store.begin(transaction('attribute_exists(pk)'))).toThrow('ConditionalCheckFailed')
    await add()
    expect(() => store.begin({ service: 'dynamodb', name: 'PutCommand', input: {} })).toThrow(
      'only transactions take time',
    )
  })
})
