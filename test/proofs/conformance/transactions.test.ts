import {
  IdempotentParameterMismatchException,
  TransactionCanceledException,
} from '@aws-sdk/client-dynamodb'
import type { TransactWriteCommandInput } from '@aws-sdk/lib-dynamodb'
import { expect } from 'vitest'
import { accepts, type Case, check, conformance, refuses } from './conformance.ts'
import { x } from './expression.ts'
import { type Actions, type Attributes, errorOf, outcomeOf, type Place, text } from './place.ts'

type Action = Actions[number]

const transact = (place: Place, actions: Actions, ClientRequestToken?: string) =>
  place.transact(actions, ClientRequestToken === undefined ? {} : { ClientRequestToken })

const put = (place: Place, sk: string, more: Attributes = {}): Action => ({
  Put: { TableName: place.table, Item: { ...place.key(sk), ...more } },
})

const putNew = (place: Place, sk: string, returnsItem = false): Action => ({
  Put: {
    TableName: place.table,
    Item: { ...place.key(sk), made: true },
    ConditionExpression: 'attribute_not_exists(pk)',
    ...(returnsItem && { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const }),
  },
})

// The same text each time, so that the same token may come with it again.
const one = x`ADD n ${1}`
const addOne = (place: Place, sk: string): Action => place.updateAction(sk, one)

const remove = (place: Place, sk: string): Action => ({
  Delete: { TableName: place.table, Key: place.key(sk) },
})

const exists = (place: Place, sk: string, condition = 'attribute_exists(pk)'): Action => ({
  ConditionCheck: { TableName: place.table, Key: place.key(sk), ConditionExpression: condition },
})

const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])

const rows = (count: number) => Array.from({ length: count }, (_, i) => `row${i}`)

async function cancellation(request: Promise<unknown>): Promise<TransactionCanceledException> {
  const error = await errorOf(request)
  expect(error).toBeInstanceOf(TransactionCanceledException)
  return error as TransactionCanceledException
}

const codes = (error: TransactionCanceledException) =>
  error.CancellationReasons?.map((reason) => reason.Code)

const cases: readonly Case[] = [
  check('A transaction puts, updates, deletes and checks at once.', async (place) => {
    await place.put({ sk: 'updated', n: 1 })
    await place.put({ sk: 'deleted' })
    await place.put({ sk: 'checked' })
    await transact(place, [
      put(place, 'new', { a: 1 }),
      addOne(place, 'updated'),
      remove(place, 'deleted'),
      exists(place, 'checked'),
    ])
    expect(await place.attributes('new')).toEqual({ a: 1 })
    expect(await place.attributes('updated')).toEqual({ n: 2 })
    expect(await place.get('deleted')).toBeUndefined()
    expect(await place.get('checked')).toEqual(place.key('checked'))
  }),
  check('A transaction with one refused condition changes nothing.', async (place) => {
    await place.put({ sk: 'there' })
    const error = await cancellation(
      transact(place, [put(place, 'a'), putNew(place, 'there'), addOne(place, 'b')]),
    )
    expect(codes(error)).toEqual(['None', 'ConditionalCheckFailed', 'None'])
    expect(await place.get('a')).toBeUndefined()
    expect(await place.get('b')).toBeUndefined()
  }),
  check('A cancelled transaction names every refused condition.', async (place) => {
    await place.put({ sk: 'there' })
    const error = await cancellation(
      transact(place, [putNew(place, 'there'), put(place, 'a'), exists(place, 'missing')]),
    )
    expect(codes(error)).toEqual(['ConditionalCheckFailed', 'None', 'ConditionalCheckFailed'])
  }),
  check(
    'A cancelled transaction hands over the items asked for, as raw attribute values.',
    async (place) => {
      await place.put({ sk: 'one', n: 1 })
      await place.put({ sk: 'two', n: 2 })
      const error = await cancellation(
        transact(place, [putNew(place, 'one', true), putNew(place, 'two'), put(place, 'a')]),
      )
      const items = error.CancellationReasons?.map((reason) => reason.Item)
      expect(items).toEqual([
        { pk: { S: place.pk }, sk: { S: 'one' }, n: { N: '1' } },
        undefined,
        undefined,
      ])
    },
  ),
  check('An update that does not fit the item cancels the transaction.', async (place) => {
    await place.put({ sk: 'a', s: 'text' })
    const action = place.updateAction('a', x`ADD s ${1}`)
    const error = await cancellation(transact(place, [put(place, 'b'), action]))
    expect(codes(error)).toEqual(['None', 'ValidationError'])
    expect(await place.get('b')).toBeUndefined()
  }),
  refuses(
    'An expression that is never right makes the transaction invalid.',
    (place) => transact(place, [place.updateAction('a', 'SET a')]),
    { embedded: 'dynoxide cancels the transaction instead' },
  ),
  ...(
    [
      ['An item that is too large', { a: text(400 * 1024) }],
      ['An item that is nested too deep', { a: nested(32) }],
      ['An empty key', { sk: '' }],
      ['A number that is too small to store', { a: 1e-140 }],
    ] as const
  ).map(([what, attributes]) =>
    refuses(
      `${what} makes the transaction invalid.`,
      (place) => transact(place, [put(place, 'a'), put(place, 'b', attributes)]),
      what.includes('nested') ? { embedded: 'dynoxide cancels the transaction instead' } : {},
    ),
  ),
  check('An update that makes an item too large cancels the transaction.', async (place) => {
    await place.put({ sk: 'a', a: text(300 * 1024) })
    const action = place.updateAction('a', x`SET b = ${text(100 * 1024)}`)
    const error = await cancellation(transact(place, [put(place, 'b'), action]))
    expect(codes(error)).toEqual(['None', 'ValidationError'])
  }),
  check(
    'A key of the wrong type cancels the transaction, before any condition is tried.',
    async (place) => {
      await place.put({ sk: 'there' })
      const wrong = (sk: number): Action => ({
        Put: { TableName: place.table, Item: { pk: place.pk, sk } },
      })
      const error = await cancellation(
        transact(place, [wrong(7), wrong(8), putNew(place, 'there')]),
      )
      expect(codes(error)).toEqual(['ValidationError', 'None', 'None'])
    },
    { embedded: 'dynoxide looks at every action' },
  ),
  refuses(
    'A placeholder that is not given makes the transaction invalid.',
    (place) => transact(place, [exists(place, 'a', 'n = :missing')]),
    { embedded: 'dynoxide cancels the transaction instead' },
  ),
  refuses(
    'A placeholder that is not used makes the transaction invalid, whatever the item holds.',
    (place) => {
      const condition = { ExpressionAttributeValues: { ':unused': 1 } }
      const action = { ...exists(place, 'missing').ConditionCheck!, ...condition }
      return transact(place, [{ ConditionCheck: action }])
    },
    { embedded: 'dynoxide cancels the transaction instead' },
  ),
  check('A token has at most 36 characters.', async (place) => {
    const longest = String(place.shard).padEnd(36, 'x')
    expect(await outcomeOf(transact(place, [put(place, 'a')], longest))).toBe('ok')
    const tooLong = transact(place, [put(place, 'a')], `${longest}x`)
    expect(await outcomeOf(tooLong)).toBe('ValidationException')
  }),
  accepts('A small transaction may delete more than 4 MB.', async (place) => {
    for (const sk of rows(12)) await place.put({ sk, a: text(390 * 1024) })
    return place.transact(rows(12).map((sk) => remove(place, sk)))
  }),
  check('A transaction takes 100 items.', async (place) => {
    await place.transact(rows(100).map((sk) => put(place, sk)))
    expect(await place.get('row99')).toEqual(place.key('row99'))
  }),
  check('A transaction of 101 items is refused.', async (place) => {
    const actions = rows(101).map((sk) => put(place, sk))
    expect(await outcomeOf(transact(place, actions))).toBe('ValidationException')
    expect(await place.get('row0')).toBeUndefined()
  }),
  refuses('A transaction of nothing is refused.', (place) => transact(place, [])),
  refuses('A transaction cannot write one item twice.', (place) =>
    transact(place, [put(place, 'a'), addOne(place, 'a')]),
  ),
  check('A transaction cannot check an item it writes.', async (place) => {
    await place.put({ sk: 'a' })
    const actions = [exists(place, 'a'), addOne(place, 'a')]
    expect(await outcomeOf(transact(place, actions))).toBe('ValidationException')
  }),
  check('A transaction of more than 4 MB is refused.', async (place) => {
    const actions = rows(11).map((sk) => put(place, sk, { a: text(390 * 1024) }))
    expect(await outcomeOf(transact(place, actions))).toBe('ValidationException')
    expect(await place.get('row0')).toBeUndefined()
  }),
  check('A repeated token has one effect.', async (place) => {
    const token = `once${place.shard}`
    await transact(place, [addOne(place, 'a')], token)
    await transact(place, [addOne(place, 'a')], token)
    expect(await place.attributes('a')).toEqual({ n: 1 })
  }),
  check(
    'A repeated token answers with success although the condition would fail now.',
    async (place) => {
      const token = `again${place.shard}`
      await transact(place, [putNew(place, 'a')], token)
      expect(await outcomeOf(transact(place, [putNew(place, 'a')], token))).toBe('ok')
    },
  ),
  check('A repeated token with another transaction is refused.', async (place) => {
    const token = `other${place.shard}`
    await transact(place, [addOne(place, 'a')], token)
    const error = await errorOf(transact(place, [addOne(place, 'b')], token))
    expect(error).toBeInstanceOf(IdempotentParameterMismatchException)
    expect(await place.get('b')).toBeUndefined()
  }),
  check('A cancelled transaction may be tried again with its token.', async (place) => {
    const token = `retry${place.shard}`
    await place.put({ sk: 'a' })
    await cancellation(transact(place, [putNew(place, 'a')], token))
    await transact(place, [remove(place, 'a')])
    expect(await outcomeOf(transact(place, [putNew(place, 'a')], token))).toBe('ok')
    expect(await place.attributes('a')).toEqual({ made: true })
  }),
  check(
    'A transaction moves rows in the indexes.',
    async (place) => {
      await transact(place, [put(place, 'a', { shard: place.shard, checkAt: 3 })])
      const { Items } = await place.inIndex('check')
      expect(Items?.map((item) => item.sk)).toEqual(['a'])
    },
    { aws: 'an index follows a moment later' },
  ),
]

conformance('transactions', cases, [
  {
    by: 'forgets tokens',
    network: {
      async deliver(request, apply) {
        delete (request.input as TransactWriteCommandInput).ClientRequestToken
        return apply()
      },
    },
    noticedBy: 'A repeated token has one effect.',
  },
])
