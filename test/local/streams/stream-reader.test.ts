import { describe, expect, test } from 'vitest'
import { type DynamodbApi, DynamodbError } from '../../../local/stores/store-api.ts'
import { StreamReader } from '../../../local/streams/stream-reader.ts'
import { aRecord } from './a-record.ts'

type Shards = Record<string, { readonly numbers: number[]; closed?: boolean; trimmedTo?: number }>

/** An iterator is the shard, the last number read, and when it was made. */
function streamOf(shards: Shards, age = { now: 0 }): DynamodbApi {
  return async (operation, input) => {
    switch (operation) {
      case 'DescribeStream':
        return {
          StreamDescription: { Shards: Object.keys(shards).map((ShardId) => ({ ShardId })) },
        }
      case 'GetShardIterator': {
        // As DynamoDB does for a shard that is not, or no longer, of this stream.
        if (shards[String(input.ShardId)] === undefined) {
          throw new DynamodbError(operation, 'ResourceNotFoundException', '')
        }
        const after = Number(input.SequenceNumber ?? 0)
        const isTrimmed = after > 0 && after < (shards[String(input.ShardId)]?.trimmedTo ?? 0)
        if (isTrimmed) throw new DynamodbError(operation, 'TrimmedDataAccessException', '')
        return { ShardIterator: `${input.ShardId} ${after} ${age.now}` }
      }
      case 'GetRecords': {
        const [shardId = '', after, madeAt] = String(input.ShardIterator).split(' ')
        if (Number(madeAt) < age.now) {
          throw new DynamodbError(operation, 'ExpiredIteratorException', '')
        }
        const { numbers, closed } = shards[shardId] ?? { numbers: [] }
        const found = numbers.filter((number) => number > Number(after)).slice(0, 2)
        const last = found.at(-1) ?? after
        const isEnd = closed && numbers.at(-1) === Number(last)
        return {
          Records: found.map((number) => aRecord(number)),
          ...(!isEnd && { NextShardIterator: `${shardId} ${last} ${madeAt}` }),
        }
      }
      default:
        throw new Error(operation)
    }
  }
}

async function readAll(reader: StreamReader, reads: number) {
  const numbers: number[] = []
  for (let read = 0; read < reads; read++) {
    const { records } = await reader.read()
    numbers.push(...records.map((record) => Number(record.dynamodb.SequenceNumber)))
  }
  return numbers
}

describe('a reader of a stream', () => {
  test('begins with the oldest record and goes on with what comes', async () => {
    const shards: Shards = { a: { numbers: [1, 2, 3] } }
    const reader = new StreamReader(streamOf(shards), 'arn', undefined)
    expect(await readAll(reader, 3)).toEqual([1, 2, 3])
    shards.a?.numbers.push(10)
    expect(await reader.read()).toMatchObject({ position: { shardId: 'a', sequenceNumber: '10' } })
  })

  test('begins behind where an earlier one was', async () => {
    const position = { shardId: 'a', sequenceNumber: '2' }
    const reader = new StreamReader(streamOf({ a: { numbers: [1, 2, 3] } }), 'arn', position)
    expect(await readAll(reader, 2)).toEqual([3])
  })

  test('reads shard after shard', async () => {
    const shards: Shards = {
      a: { numbers: [1, 2, 3], closed: true },
      b: { numbers: [4], closed: true },
      c: { numbers: [5, 6, 7] },
    }
    const reader = new StreamReader(streamOf(shards), 'arn', undefined)
    expect(await readAll(reader, 6)).toEqual([1, 2, 3, 4, 5, 6, 7])
  })

  test('waits at the end of a closed shard for the next, and repeats nothing', async () => {
    const shards: Shards = { a: { numbers: [1], closed: true } }
    const reader = new StreamReader(streamOf(shards), 'arn', undefined)
    expect(await readAll(reader, 3)).toEqual([1])
    shards.b = { numbers: [2] }
    expect(await readAll(reader, 3)).toEqual([2])
  })

  test('takes the oldest there is if its place has been trimmed', async () => {
    const position = { shardId: 'a', sequenceNumber: '2' }
    const api = streamOf({ a: { numbers: [8, 9], trimmedTo: 7 } })
    expect(await readAll(new StreamReader(api, 'arn', position), 1)).toEqual([8, 9])
  })

  test('begins with the first shard where its own is gone: the table was made again, or the shard is a day old', async () => {
    const position = { shardId: 'gone', sequenceNumber: '2' }
    const api = streamOf({ a: { numbers: [8], closed: true }, b: { numbers: [9] } })
    expect(await readAll(new StreamReader(api, 'arn', position), 3)).toEqual([8, 9])
  })

  test('asks for another iterator after an error', async () => {
    const age = { now: 0 }
    const reader = new StreamReader(streamOf({ a: { numbers: [1, 2, 3] } }, age), 'arn', undefined)
    expect(await readAll(reader, 1)).toEqual([1, 2])
    age.now = 1
    await expect(reader.read()).rejects.toThrow(/ExpiredIterator/)
    expect(await readAll(reader, 1)).toEqual([3])
  })
})
