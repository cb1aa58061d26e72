import { GetCommand } from '@aws-sdk/lib-dynamodb'
import { expect } from 'vitest'
import { type Case, conformance } from './conformance.ts'
import { type Attributes, outcomeOf, type Place, text } from './place.ts'

interface QueryCase extends Case {
  readonly rows?: readonly Attributes[]
  /** About the sort key; `:pk` and the partition are given. */
  readonly key?: string
  readonly filter?: string
  readonly project?: string
  readonly values?: Attributes
  readonly more?: Parameters<Place['query']>[0]
  /** The sort keys found, in order, or `invalid`. */
  readonly expected: readonly string[] | 'invalid'
  readonly last?: string
}

const letters: readonly Attributes[] = ['d', 'b', 'a', 'c', 'e'].map((sk) => ({ sk }))
const segments: readonly Attributes[] = ['0000-0040', '0040-0100', '0100-0150', '1', 'z'].map(
  (sk) => ({ sk }),
)

const cases: readonly QueryCase[] = [
  { says: 'A query finds a partition in the order of its sort keys.', expected: [...'abcde'] },
  { says: 'A query of an empty partition finds nothing.', rows: [], expected: [] },
  {
    says: 'A query can run backwards.',
    more: { ScanIndexForward: false },
    expected: [...'edcba'],
  },
  { says: 'A sort key can be asked for.', key: 'sk = :c', values: { ':c': 'c' }, expected: ['c'] },
  {
    says: 'Sort keys can be asked for from a value on.',
    key: 'sk >= :c',
    values: { ':c': 'c' },
    expected: [...'cde'],
  },
  {
    says: 'Sort keys can be asked for after a value.',
    key: 'sk > :c',
    values: { ':c': 'c' },
    expected: [...'de'],
  },
  {
    says: 'Sort keys can be asked for before a value, backwards.',
    key: 'sk < :c',
    values: { ':c': 'c' },
    more: { ScanIndexForward: false },
    expected: [...'ba'],
  },
  {
    says: 'Sort keys can be asked for up to a value that is not there.',
    key: 'sk <= :c',
    values: { ':c': 'cc' },
    expected: [...'abc'],
  },
  {
    says: 'Sort keys can be asked for between two values, both included.',
    key: 'sk BETWEEN :b AND :d',
    values: { ':b': 'b', ':d': 'd' },
    expected: [...'bcd'],
  },
  {
    says: 'Sort keys can be asked for between two values, backwards.',
    key: 'sk BETWEEN :b AND :d',
    values: { ':b': 'b', ':d': 'd' },
    more: { ScanIndexForward: false },
    expected: [...'dcb'],
  },
  {
    says: 'Sort keys can be asked for by their beginning.',
    rows: segments,
    key: 'begins_with(sk, :zero)',
    values: { ':zero': '00' },
    expected: ['0000-0040', '0040-0100'],
  },
  {
    says: 'Sort keys can be asked for by their beginning, backwards.',
    rows: segments,
    key: 'begins_with(sk, :zero)',
    values: { ':zero': '0' },
    more: { ScanIndexForward: false, Limit: 2 },
    expected: ['0100-0150', '0040-0100'],
    last: '0040-0100',
  },
  {
    says: 'Sort keys beyond the basic plane come last.',
    rows: ['\u{1f600}', '\uffee', 'ü', 'z'].map((sk) => ({ sk })),
    expected: ['z', 'ü', '\uffee', '\u{1f600}'],
  },
  {
    says: 'The order of the two conditions does not matter.',
    more: { KeyConditionExpression: 'sk > :c AND pk = :pk' },
    values: { ':c': 'c' },
    expected: [...'de'],
  },
  {
    says: 'A limit ends the page, and tells where.',
    more: { Limit: 2 },
    expected: [...'ab'],
    last: 'b',
  },
  {
    says: 'A limit that is met by the last row tells where as well.',
    more: { Limit: 5 },
    expected: [...'abcde'],
    last: 'e',
  },
  { says: 'A limit that is not met tells nothing.', more: { Limit: 6 }, expected: [...'abcde'] },
  {
    says: 'A filter drops rows after they are read.',
    rows: [
      { sk: 'a', n: 1 },
      { sk: 'b', n: 2 },
      { sk: 'c', n: 1 },
    ],
    filter: 'n = :one',
    values: { ':one': 1 },
    expected: ['a', 'c'],
  },
  {
    says: 'A limit counts what is read, not what the filter leaves.',
    rows: [
      { sk: 'a', n: 1 },
      { sk: 'b', n: 2 },
      { sk: 'c', n: 1 },
    ],
    filter: 'n = :one',
    values: { ':one': 1 },
    more: { Limit: 2 },
    expected: ['a'],
    last: 'b',
  },
  {
    says: 'A filter on a key is refused.',
    filter: 'sk = :c',
    values: { ':c': 'c' },
    expected: 'invalid',
  },
  {
    says: 'A page ends at 1 MB.',
    rows: ['a', 'b', 'c', 'd', 'e'].map((sk) => ({ sk, a: text(300_000) })),
    expected: [...'abc'],
    last: 'c',
  },
  {
    says: 'A query without the partition is refused.',
    more: { KeyConditionExpression: 'sk = :pk' },
    expected: 'invalid',
  },
  {
    says: 'A query of a partition by comparison is refused.',
    more: { KeyConditionExpression: 'pk > :pk' },
    expected: 'invalid',
  },
  {
    says: 'A query by OR is refused.',
    key: 'sk = :c OR sk = :d',
    values: { ':c': 'c', ':d': 'd' },
    expected: 'invalid',
  },
  {
    says: 'A query by an attribute that is no key is refused.',
    key: 'n = :one',
    values: { ':one': 1 },
    expected: 'invalid',
  },
  {
    says: 'A query by two conditions on the sort key is refused.',
    key: 'sk > :b AND sk < :d',
    values: { ':b': 'b', ':d': 'd' },
    expected: 'invalid',
  },
  {
    says: 'A query by a sort key of the wrong type is refused.',
    key: 'sk = :one',
    values: { ':one': 1 },
    expected: 'invalid',
    differs: { embedded: 'dynoxide finds nothing instead of refusing' },
  },
  {
    says: 'A query by unlikeness is refused.',
    key: 'sk <> :c',
    values: { ':c': 'c' },
    expected: 'invalid',
  },
  { says: 'A limit of nothing is refused.', more: { Limit: 0 }, expected: 'invalid' },
  {
    says: 'A query of a missing index is refused.',
    more: { IndexName: 'missing' },
    expected: 'invalid',
  },
]

async function run(place: Place, one: QueryCase): Promise<void> {
  const pk = place.partition('rows')
  for (const row of one.rows ?? letters) await place.put({ pk, ...row })
  await place.put({ pk: `${pk}0`, sk: 'stranger' })
  const page = place.query({
    KeyConditionExpression: one.key === undefined ? 'pk = :pk' : `pk = :pk AND ${one.key}`,
    ExpressionAttributeValues: { ':pk': pk, ...one.values },
    ConsistentRead: true,
    ...(one.filter && { FilterExpression: one.filter }),
    ...(one.project && { ProjectionExpression: one.project }),
    ...one.more,
  })
  if (one.expected === 'invalid') {
    expect(await outcomeOf(page)).toBe('ValidationException')
    return
  }
  const { Items = [], LastEvaluatedKey, Count } = await page
  expect(Items.map((item) => item.sk)).toEqual(one.expected)
  expect(Count).toBe(one.expected.length)
  expect(LastEvaluatedKey).toEqual(one.last === undefined ? undefined : { pk, sk: one.last })
}

conformance('queries', cases, run, [
  {
    by: 'forgets the direction',
    network: {
      async deliver({ input }, apply) {
        delete (input as { ScanIndexForward?: boolean }).ScanIndexForward
        return apply()
      },
    },
    noticedBy: 'A query can run backwards.',
  },
])

interface ReadCase extends Case {
  readonly check: (place: Place) => Promise<void>
}

/** An index catches up a moment after the table on AWS. */
async function inIndex(
  place: Place,
  index: 'check' | 'directory',
  more: Parameters<Place['query']>[0] & { values?: Attributes; key?: string } = {},
) {
  const { values, key, ...input } = more
  return place.query({
    IndexName: index,
    KeyConditionExpression: key === undefined ? '#shard = :shard' : `#shard = :shard AND ${key}`,
    ExpressionAttributeNames: { '#shard': 'shard' },
    ExpressionAttributeValues: { ':shard': place.shard, ...values },
    ...input,
  })
}

async function eventually(check: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await check()
    } catch (error) {
      if (attempt >= 20 || process.env.PUSHPOP_CONFORMANCE_AWS !== '1') throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}

async function putTimers(place: Place, ...times: readonly number[]): Promise<void> {
  for (const checkAt of times) await place.put({ sk: `t${checkAt}`, shard: place.shard, checkAt })
}

const reads: readonly ReadCase[] = [
  {
    says: 'A query goes on where the last page ended.',
    async check(place) {
      for (const sk of 'abcde') await place.put({ sk })
      const found: unknown[] = []
      let ExclusiveStartKey: Attributes | undefined
      do {
        const page = await place.query({
          KeyConditionExpression: 'pk = :pk',
          ExpressionAttributeValues: { ':pk': place.pk },
          Limit: 2,
          ...(ExclusiveStartKey && { ExclusiveStartKey }),
        })
        found.push(...(page.Items ?? []).map((item) => item.sk))
        ExclusiveStartKey = page.LastEvaluatedKey
      } while (ExclusiveStartKey !== undefined)
      expect(found).toEqual([...'abcde'])
    },
  },
  {
    says: 'A query goes on backwards after a row that has been deleted.',
    async check(place) {
      for (const sk of 'abde') await place.put({ sk })
      const { Items } = await place.query({
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': place.pk },
        ExclusiveStartKey: place.key('c'),
        ScanIndexForward: false,
        ConsistentRead: true,
      })
      expect(Items?.map((item) => item.sk)).toEqual(['b', 'a'])
    },
  },
  {
    says: 'COUNT counts without items.',
    async check(place) {
      for (const sk of 'abc') await place.put({ sk })
      const { Items, Count } = await place.query({
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': place.pk },
        Select: 'COUNT',
        ConsistentRead: true,
      })
      expect([Items, Count]).toEqual([undefined, 3])
    },
  },
  {
    says: 'An index holds only rows that have both of its keys.',
    async check(place) {
      await place.put({ sk: 'both', shard: place.shard, checkAt: 7 })
      await place.put({ sk: 'half', shard: place.shard })
      await place.put({ sk: 'none' })
      await eventually(async () => {
        const { Items } = await inIndex(place, 'check')
        expect(Items?.map((item) => item.sk)).toEqual(['both'])
      })
      const { Items = [] } = await inIndex(place, 'directory')
      expect(Items.map((item) => item.sk).sort()).toEqual(['both', 'half'])
    },
  },
  {
    says: 'An index of keys holds nothing but keys.',
    async check(place) {
      await place.put({ shard: place.shard, checkAt: 7, more: 'and more' })
      await eventually(async () => {
        const { Items } = await inIndex(place, 'check')
        expect(Items).toEqual([{ ...place.key(), shard: place.shard, checkAt: 7 }])
      })
    },
  },
  {
    says: 'An index orders numbers as numbers.',
    async check(place) {
      await putTimers(place, 10, 9, 100, -1)
      await eventually(async () => {
        const { Items } = await inIndex(place, 'check')
        expect(Items?.map((item) => item.checkAt)).toEqual([-1, 9, 10, 100])
      })
    },
  },
  {
    says: 'An index can be asked for what is due.',
    async check(place) {
      await putTimers(place, 10, 20, 30)
      await eventually(async () => {
        const more = { key: 'checkAt <= :now', values: { ':now': 20 } }
        const { Items } = await inIndex(place, 'check', more)
        expect(Items?.map((item) => item.checkAt)).toEqual([10, 20])
      })
    },
  },
  {
    says: 'A row moves in an index when its key changes, and leaves when its key goes.',
    async check(place) {
      await putTimers(place, 10, 20)
      const Key = place.key('t10')
      const ExpressionAttributeValues = { ':at': 30 }
      await place.update({ Key, UpdateExpression: 'SET checkAt = :at', ExpressionAttributeValues })
      await eventually(async () => {
        const { Items } = await inIndex(place, 'check')
        expect(Items?.map((item) => item.sk)).toEqual(['t20', 't10'])
      })
      await place.update({ Key, UpdateExpression: 'REMOVE checkAt' })
      await eventually(async () => {
        const { Items } = await inIndex(place, 'check')
        expect(Items?.map((item) => item.sk)).toEqual(['t20'])
      })
    },
  },
  {
    says: 'A page of an index ends with all four keys, and the next goes on there.',
    async check(place) {
      await putTimers(place, 1, 2, 3)
      await eventually(async () => {
        const first = await inIndex(place, 'check', { Limit: 2 })
        expect(first.LastEvaluatedKey).toEqual({
          ...place.key('t2'),
          shard: place.shard,
          checkAt: 2,
        })
        const ExclusiveStartKey = first.LastEvaluatedKey ?? {}
        const second = await inIndex(place, 'check', { ExclusiveStartKey })
        expect(second.Items?.map((item) => item.sk)).toEqual(['t3'])
        expect(second.LastEvaluatedKey).toBeUndefined()
      })
    },
  },
  {
    says: 'An index cannot be read consistently.',
    async check(place) {
      const outcome = await outcomeOf(inIndex(place, 'check', { ConsistentRead: true }))
      expect(outcome).toBe('ValidationException')
    },
  },
  {
    says: 'An index of keys has no other attributes to select.',
    async check(place) {
      const outcome = await outcomeOf(inIndex(place, 'check', { Select: 'ALL_ATTRIBUTES' }))
      expect(outcome).toBe('ValidationException')
    },
  },
  {
    says: 'A read of a missing item has no item.',
    async check(place) {
      expect(await place.get('missing')).toBeUndefined()
    },
  },
  {
    says: 'A projection picks attributes and parts of them.',
    async check(place) {
      await place.put({ a: 1, b: 2, m: { x: 1, y: 2 }, l: ['a', 'b', 'c'] })
      const { Item } = await place.dynamodb.send(
        new GetCommand({
          TableName: place.table,
          Key: place.key(),
          ProjectionExpression: 'a, m.#y, l[1], gone',
          ExpressionAttributeNames: { '#y': 'y' },
          ConsistentRead: true,
        }),
      )
      expect(Item).toEqual({ a: 1, m: { y: 2 }, l: ['b'] })
    },
  },
  {
    says: 'A projection of a missing attribute is an empty item.',
    async check(place) {
      await place.put({ a: 1 })
      const { Item } = await place.dynamodb.send(
        new GetCommand({
          TableName: place.table,
          Key: place.key(),
          ProjectionExpression: 'gone',
          ConsistentRead: true,
        }),
      )
      expect(Item).toEqual({})
    },
  },
  {
    says: 'A projection in which paths overlap is refused.',
    async check(place) {
      const command = new GetCommand({
        TableName: place.table,
        Key: place.key(),
        ProjectionExpression: 'm, m.x',
      })
      expect(await outcomeOf(place.dynamodb.send(command))).toBe('ValidationException')
    },
  },
]

conformance('reads', reads, (place, one) => one.check(place))
