import { expect, test } from 'vitest'
import { StreamReader } from '../../../local/streams/stream-reader.ts'
import { aRecord } from './a-record.ts'

/** One record, as a stream of DynamoDB Local 3 has it. */
const readerOf = (NewImage: object): StreamReader => {
  return new StreamReader(
    async (operation) =>
      operation === 'DescribeStream'
        ? { StreamDescription: { Shards: [{ ShardId: 'a' }] } }
        : { ShardIterator: 'a', NextShardIterator: 'a', Records: [aRecord(1, NewImage)] },
    'arn',
    undefined,
  )
}

const others = {
  text: { S: '' },
  bytes: { B: '' },
  nothing: { NULL: true },
  no: { BOOL: false },
  numbers: { NS: ['1'] },
  list: { L: [] },
}

test('An empty map that DynamoDB Local wrote as {} is one again, however deep; all else stays.', async () => {
  const reader = readerOf({
    ...others,
    map: {},
    deep: { M: { map: {}, list: { L: [{}, { S: 'a' }, { M: { map: {} } }] } } },
  })
  const [record] = (await reader.read()).records
  expect(record?.dynamodb.NewImage).toEqual({
    ...others,
    map: { M: {} },
    deep: {
      M: { map: { M: {} }, list: { L: [{ M: {} }, { S: 'a' }, { M: { map: { M: {} } } }] } },
    },
  })
})
