import { PutCommand } from '@aws-sdk/lib-dynamodb'
import { describe, expect, test } from 'vitest'
import { ChangeStream } from '../../../testing/simulated/change-stream.ts'
import { createSimulatedClient } from '../../../testing/simulated/simulated-client.ts'
import { SimulatedStore } from '../../../testing/simulated/simulated-store.ts'

const HOUR_MS = 3_600_000

function open(lags: readonly number[] = []) {
  const clock = { ms: 5_500 }
  const left = [...lags]
  const stream = new ChangeStream({
    nowMs: () => clock.ms,
    lagMs: () => left.shift() ?? 0,
    shards: 2,
  })
  const store = new SimulatedStore({ nowMs: () => clock.ms, onChange: stream.observe })
  const { dynamodb } = createSimulatedClient(store)
  const put = (pk: string, more: object = {}) =>
    dynamodb.send(new PutCommand({ TableName: store.tableName, Item: { pk, sk: 'row', ...more } }))
  const shard = stream.shardOf('a')
  const read = (after?: string, max?: number) => stream.read(shard, after, max)
  const numbers = () => read().map(({ dynamodb }) => Number(dynamodb.NewImage?.n?.N))
  return { clock, store, stream, shard, put, read, numbers }
}

describe('a stream of a simulated table', () => {
  test('tells each write as Lambda does, with both images and whole seconds', async () => {
    const { put, read } = open()
    await put('a', { n: 1, d: new Uint8Array([1]) })
    await put('a', { l: ['x', null] })
    const [first, second] = read()
    const Keys = { pk: { S: 'a' }, sk: { S: 'row' } }
    const one = { ...Keys, n: { N: '1' }, d: { B: 'AQ==' } }
    expect(first).toMatchObject({ eventName: 'INSERT', dynamodb: { Keys, NewImage: one } })
    expect(first?.dynamodb).not.toHaveProperty('OldImage')
    expect(second).toMatchObject({
      eventName: 'MODIFY',
      dynamodb: {
        ApproximateCreationDateTime: 5,
        OldImage: one,
        NewImage: { ...Keys, l: { L: [{ S: 'x' }, { NULL: true }] } },
      },
    })
  })

  test('has nothing of a write that changes nothing', async () => {
    const { put, read } = open()
    await put('a', { n: 1, m: { a: [1] } })
    await put('a', { n: 1, m: { a: [1] } })
    expect(read()).toHaveLength(1)
  })

  test('shows a record once its time has come, and none before the one ahead of it', async () => {
    const { put, numbers, clock, stream, shard } = open([100, 1])
    await put('a', { n: 1 })
    await put('a', { n: 2 })
    clock.ms += 99
    expect(numbers()).toEqual([])
    expect(stream.nextMs(shard)).toBe(clock.ms + 1)
    clock.ms += 1
    expect(numbers()).toEqual([1, 2])
  })

  test('is read page by page from where a reader stopped', async () => {
    const { put, read } = open()
    for (let n = 1; n <= 12; n += 1) await put('a', { n })
    const found: unknown[] = []
    for (let page = read(undefined, 5); page.length > 0; ) {
      found.push(...page.map(({ dynamodb }) => dynamodb.NewImage?.n?.N))
      page = read(page.at(-1)?.dynamodb.SequenceNumber, 5)
    }
    expect(found).toEqual(Array.from({ length: 12 }, (_, n) => String(n + 1)))
  })

  test('has the writes of one partition in one shard, and those of others in another', async () => {
    const { put, stream, shard, read } = open()
    const others = Array.from({ length: 20 }, (_, n) => `p${n}`)
    for (const pk of ['a', ...others]) await put(pk)
    const away = others.filter((pk) => stream.shardOf(pk) !== shard)
    expect(away.length).toBeGreaterThan(0)
    expect(read()).toHaveLength(21 - away.length)
    expect(stream.read(1 - shard)).toHaveLength(away.length)
    expect(() => stream.read(2)).toThrow('Cannot read shard 2 because the stream has 2')
  })

  test('forgets a record after a day, whether somebody has read it or not', async () => {
    const { put, numbers, clock } = open()
    await put('a', { n: 1 })
    clock.ms += 23 * HOUR_MS
    await put('a', { n: 2 })
    expect(numbers()).toEqual([1, 2])
    clock.ms += HOUR_MS
    expect(numbers()).toEqual([2])
  })
})
