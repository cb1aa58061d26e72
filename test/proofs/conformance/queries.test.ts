import type { QueryCommandInput } from '@aws-sdk/lib-dynamodb'
import { expect } from 'vitest'
import {
  type Case,
  check,
  conformance,
  type Differs,
  refuses as refusesRequest,
  tampering,
} from './conformance.ts'
import { name, type Written, x } from './expression.ts'
import { type Attributes, type Place, text } from './place.ts'

interface Asked
  extends Pick<Partial<QueryCommandInput>, 'Limit' | 'ScanIndexForward' | 'IndexName'> {
  readonly rows?: readonly Attributes[]
  /** About the sort key, beside the partition. */
  readonly key?: Written
  /** In place of both. */
  readonly whole?: (pk: string) => Written
}

const letters: readonly Attributes[] = [...'dbace'].map((sk) => ({ sk }))

async function ask(place: Place, { rows = letters, key, whole, ...more }: Asked) {
  const pk = place.partition('rows')
  for (const row of rows) await place.put({ pk, ...row })
  await place.put({ pk: `${pk}0`, sk: 'stranger' })
  const partition = x`pk = ${pk}`
  return place.query({
    KeyConditionExpression:
      whole?.(pk) ?? (key === undefined ? partition : x`${partition} AND ${key}`),
    ConsistentRead: true,
    ...more,
  })
}

/** The sort keys found, in order, and the one that the page says it ends with. */
function finds(
  says: string,
  asked: Asked,
  expected: readonly string[],
  last?: string,
  differs?: Differs,
): Case {
  const test = async (place: Place) => {
    const { Items = [], LastEvaluatedKey, Count } = await ask(place, asked)
    expect(Items.map(({ sk }) => sk)).toEqual(expected)
    expect(Count).toBe(expected.length)
    const pk = place.partition('rows')
    expect(LastEvaluatedKey).toEqual(last === undefined ? undefined : { pk, sk: last })
  }
  return check(says, test, differs)
}

const refuses = (says: string, asked: Asked, differs?: Differs) =>
  refusesRequest(says, (place) => ask(place, asked), differs)

const cases: readonly Case[] = [
  finds('A query finds a partition in the order of its sort keys.', {}, [...'abcde']),
  finds('A query of an empty partition finds nothing.', { rows: [] }, []),
  finds('A query can run backwards.', { ScanIndexForward: false }, [...'edcba']),
  finds('A sort key can be asked for.', { key: x`sk = ${'c'}` }, ['c']),
  finds(
    'Sort keys can be asked for before a value, backwards.',
    { key: x`sk < ${'c'}`, ScanIndexForward: false },
    [...'ba'],
  ),
  finds('Sort keys can be asked for up to a value that is not there.', { key: x`sk <= ${'cc'}` }, [
    ...'abc',
  ]),
  finds(
    'Sort keys can be asked for between two values, both included.',
    { key: x`sk BETWEEN ${'b'} AND ${'d'}` },
    [...'bcd'],
  ),
  finds(
    'Sort keys can be asked for between two values, backwards.',
    { key: x`sk BETWEEN ${'b'} AND ${'d'}`, ScanIndexForward: false },
    [...'dcb'],
  ),
  finds(
    'Sort keys beyond the basic plane come last.',
    { rows: ['\u{1f600}', '\uffee', 'ü', 'z'].map((sk) => ({ sk })) },
    ['z', 'ü', '\uffee', '\u{1f600}'],
  ),
  finds(
    'The order of the two conditions does not matter.',
    { whole: (pk) => x`sk < ${'c'} AND pk = ${pk}` },
    [...'ab'],
  ),
  finds(
    'A limit ends a page that runs backwards as well.',
    { ScanIndexForward: false, Limit: 2 },
    [...'ed'],
    'd',
  ),
  finds('A limit ends the page, and tells where.', { Limit: 2 }, [...'ab'], 'b'),
  finds(
    'A limit that is met by the last row tells where as well.',
    { Limit: 5 },
    [...'abcde'],
    'e',
  ),
  finds('A limit that is not met tells nothing.', { Limit: 6 }, [...'abcde']),
  finds(
    'A page ends after the row that passes 1 MB.',
    { rows: [...'abcde'].map((sk) => ({ sk, a: text(300_000) })) },
    [...'abcd'],
    'd',
    { embedded: 'dynoxide ends the page before that row' },
  ),
  refuses('A query without the partition is refused.', { whole: (pk) => x`sk = ${pk}` }),
  refuses('A query of a partition by comparison is refused.', { whole: (pk) => x`pk > ${pk}` }),
  refuses('A query by OR is refused.', { key: x`sk = ${'c'} OR sk = ${'d'}` }),
  refuses('A query by an attribute that is no key is refused.', { key: x`n = ${1}` }),
  refuses('A query by two conditions on the sort key is refused.', {
    key: x`sk <= ${'d'} AND sk < ${'e'}`,
  }),
  refuses(
    'A query by a sort key of the wrong type is refused.',
    { key: x`sk = ${1}` },
    { embedded: 'dynoxide finds nothing instead of refusing' },
  ),
  refuses('A query by unlikeness is refused.', { key: x`sk <> ${'c'}` }),
  refuses('A limit of nothing is refused.', { Limit: 0 }),
  refuses('A query of a missing index is refused.', { IndexName: 'missing' }),
]

conformance('queries', cases, [
  {
    by: 'forgets the direction',
    network: tampering((input) => delete input.ScanIndexForward),
    noticedBy: 'A query can run backwards.',
  },
])

/** An index catches up a moment after the table on AWS. */
async function eventually(check: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await check()
    } catch (error) {
      if (attempt >= 20 || process.env.PUSHPOP_CONFORMANCE_STORES !== 'aws') throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}

const indexShows = (place: Place, attribute: string, expected: readonly unknown[]) =>
  eventually(async () => {
    const { Items } = await place.inIndex('check')
    expect(Items?.map((item) => item[attribute])).toEqual(expected)
  })

async function putTimers(place: Place, ...times: readonly number[]): Promise<void> {
  for (const checkAt of times) await place.put({ sk: `t${checkAt}`, shard: place.shard, checkAt })
}

/** scylladb's test/alternator, run on AWS: "The provided starting key is outside query boundaries". */
const startKeysAreFree = 'dynoxide goes on from any start key'

const reads: readonly Case[] = [
  check('A query goes on where the last page ended.', async (place) => {
    for (const sk of 'abcde') await place.put({ sk })
    const found: unknown[] = []
    let ExclusiveStartKey: Attributes | undefined
    do {
      const page = await place.query({
        Limit: 2,
        ...(ExclusiveStartKey && { ExclusiveStartKey }),
      })
      found.push(...(page.Items ?? []).map((item) => item.sk))
      ExclusiveStartKey = page.LastEvaluatedKey
    } while (ExclusiveStartKey !== undefined)
    expect(found).toEqual([...'abcde'])
  }),
  check('A query goes on backwards after a row that has been deleted.', async (place) => {
    for (const sk of 'abde') await place.put({ sk })
    const { Items } = await place.query({
      ExclusiveStartKey: place.key('c'),
      ScanIndexForward: false,
      ConsistentRead: true,
    })
    expect(Items?.map((item) => item.sk)).toEqual(['b', 'a'])
  }),
  check('An index holds only rows that have both of its keys.', async (place) => {
    await place.put({ sk: 'both', shard: place.shard, checkAt: 7 })
    await place.put({ sk: 'half', shard: place.shard })
    await place.put({ sk: 'none' })
    await indexShows(place, 'sk', ['both'])
    const { Items = [] } = await place.inIndex('directory')
    expect(Items.map((item) => item.sk).sort()).toEqual(['both', 'half'])
  }),
  check('An index of keys holds nothing but keys.', async (place) => {
    await place.put({ shard: place.shard, checkAt: 7, more: 'and more' })
    await eventually(async () => {
      const { Items } = await place.inIndex('check')
      expect(Items).toEqual([{ ...place.key(), shard: place.shard, checkAt: 7 }])
    })
  }),
  check('An index orders numbers as numbers.', async (place) => {
    await putTimers(place, 10, 9, 100, -1)
    await indexShows(place, 'checkAt', [-1, 9, 10, 100])
  }),
  check('An index can be asked for what is due.', async (place) => {
    await putTimers(place, 10, 20, 30)
    await eventually(async () => {
      const KeyConditionExpression = x`${name('shard')} = ${place.shard} AND checkAt <= ${20}`
      const { Items } = await place.inIndex('check', { KeyConditionExpression })
      expect(Items?.map((item) => item.checkAt)).toEqual([10, 20])
    })
  }),
  check(
    'A row moves in an index when its key changes, and leaves when its key goes.',
    async (place) => {
      await putTimers(place, 10, 20)
      const Key = place.key('t10')
      await place.update({ Key, UpdateExpression: x`SET checkAt = ${30}` })
      await indexShows(place, 'sk', ['t20', 't10'])
      await place.update({ Key, UpdateExpression: 'REMOVE checkAt' })
      await indexShows(place, 'sk', ['t20'])
    },
  ),
  check(
    'A page of an index ends with all four keys, and the next goes on there.',
    async (place) => {
      await putTimers(place, 1, 2, 3)
      await eventually(async () => {
        const first = await place.inIndex('check', { Limit: 2 })
        const end = { ...place.key('t2'), shard: place.shard, checkAt: 2 }
        expect(first.LastEvaluatedKey).toEqual(end)
        const ExclusiveStartKey = first.LastEvaluatedKey ?? {}
        const second = await place.inIndex('check', { ExclusiveStartKey })
        expect(second.Items?.map((item) => item.sk)).toEqual(['t3'])
        expect(second.LastEvaluatedKey).toBeUndefined()
      })
    },
  ),
  check(
    'A page of an index by a key of the table ends with three keys, and the next goes on there.',
    async (place) => {
      for (const sk of 'abc') await place.put({ sk, shard: place.shard })
      await eventually(async () => {
        const { Items = [], LastEvaluatedKey = {} } = await place.inIndex('directory', { Limit: 2 })
        const [, last] = Items.map(({ sk }) => sk as string)
        expect(LastEvaluatedKey).toEqual({ ...place.key(last), shard: place.shard })
        const second = await place.inIndex('directory', { ExclusiveStartKey: LastEvaluatedKey })
        const found = [...Items, ...(second.Items ?? [])].map(({ sk }) => sk)
        expect(found.sort()).toEqual([...'abc'])
      })
    },
  ),
  refusesRequest(
    'A start key with an attribute more than the index has keys is refused.',
    (place) =>
      place.inIndex('directory', {
        ExclusiveStartKey: { ...place.key(), shard: place.shard, checkAt: 1 },
      }),
  ),
  refusesRequest(
    'A start key with an attribute less than the index has keys is refused.',
    (place) =>
      place.inIndex('check', { ExclusiveStartKey: { ...place.key(), shard: place.shard } }),
  ),
  ...(['a', 'd'] as const).map((sk) =>
    refusesRequest(
      `A start key ${sk === 'a' ? 'before' : 'behind'} the bounds of the query is refused.`,
      (place) =>
        place.query({
          KeyConditionExpression: x`pk = ${place.pk} AND sk BETWEEN ${'b'} AND ${'c'}`,
          ExclusiveStartKey: place.key(sk),
        }),
      { embedded: startKeysAreFree },
    ),
  ),
  refusesRequest(
    'A start key in another partition is refused.',
    (place) => place.query({ ExclusiveStartKey: { ...place.key(), pk: place.partition('other') } }),
    { embedded: startKeysAreFree },
  ),
  refusesRequest(
    'A start key behind the bounds of a query of an index is refused.',
    (place) =>
      place.inIndex('check', {
        KeyConditionExpression: x`${name('shard')} = ${place.shard} AND checkAt <= ${20}`,
        ExclusiveStartKey: { ...place.key(), shard: place.shard, checkAt: 21 },
      }),
    { embedded: startKeysAreFree },
  ),
  refusesRequest('An index cannot be read consistently.', (place) =>
    place.inIndex('check', { ConsistentRead: true }),
  ),
  check('A read of a missing item has no item.', async (place) => {
    expect(await place.get('missing')).toBeUndefined()
  }),
]

conformance('reads', reads)
