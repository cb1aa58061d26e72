import {
  IdempotentParameterMismatchException,
  TransactionCanceledException,
} from '@aws-sdk/client-dynamodb'
import { TransactWriteCommand, type TransactWriteCommandInput } from '@aws-sdk/lib-dynamodb'
import { expect } from 'vitest'
import { type Case, conformance } from './conformance.ts'
import { type Attributes, errorOf, outcomeOf, type Place, text } from './place.ts'

interface TransactionCase extends Case {
  readonly check: (place: Place) => Promise<void>
}

type Actions = NonNullable<TransactWriteCommandInput['TransactItems']>
type Action = Actions[number]

const transact = (place: Place, actions: Actions, token?: string) =>
  place.dynamodb.send(
    new TransactWriteCommand({
      TransactItems: actions,
      ...(token !== undefined && { ClientRequestToken: token }),
    }),
  )

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

const addOne = (place: Place, sk: string): Action => ({
  Update: {
    TableName: place.table,
    Key: place.key(sk),
    UpdateExpression: 'ADD n :one',
    ExpressionAttributeValues: { ':one': 1 },
  },
})

const remove = (place: Place, sk: string): Action => ({
  Delete: { TableName: place.table, Key: place.key(sk) },
})

const check = (place: Place, sk: string, condition: string): Action => ({
  ConditionCheck: {
    TableName: place.table,
    Key: place.key(sk),
    ConditionExpression: condition,
  },
})

async function cancellation(request: Promise<unknown>): Promise<TransactionCanceledException> {
  const error = await errorOf(request)
  expect(error).toBeInstanceOf(TransactionCanceledException)
  return error as TransactionCanceledException
}

const codes = (error: TransactionCanceledException) =>
  error.CancellationReasons?.map((reason) => reason.Code)

const cases: readonly TransactionCase[] = [
  {
    says: 'A transaction puts, updates, deletes and checks at once.',
    async check(place) {
      await place.put({ sk: 'updated', n: 1 })
      await place.put({ sk: 'deleted' })
      await place.put({ sk: 'checked' })
      await transact(place, [
        put(place, 'new', { a: 1 }),
        addOne(place, 'updated'),
        remove(place, 'deleted'),
        check(place, 'checked', 'attribute_exists(pk)'),
      ])
      expect(await place.attributes('new')).toEqual({ a: 1 })
      expect(await place.attributes('updated')).toEqual({ n: 2 })
      expect(await place.get('deleted')).toBeUndefined()
      expect(await place.get('checked')).toEqual(place.key('checked'))
    },
  },
  {
    says: 'A transaction with one refused condition changes nothing.',
    async check(place) {
      await place.put({ sk: 'there' })
      const error = await cancellation(
        transact(place, [put(place, 'a'), putNew(place, 'there'), addOne(place, 'b')]),
      )
      expect(codes(error)).toEqual(['None', 'ConditionalCheckFailed', 'None'])
      expect(await place.get('a')).toBeUndefined()
      expect(await place.get('b')).toBeUndefined()
    },
  },
  {
    says: 'A cancelled transaction names every refused condition.',
    async check(place) {
      await place.put({ sk: 'there' })
      const error = await cancellation(
        transact(place, [
          putNew(place, 'there'),
          put(place, 'a'),
          check(place, 'missing', 'attribute_exists(pk)'),
        ]),
      )
      expect(codes(error)).toEqual(['ConditionalCheckFailed', 'None', 'ConditionalCheckFailed'])
    },
  },
  {
    says: 'A cancelled transaction hands over the items asked for, as raw attribute values.',
    async check(place) {
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
  },
  {
    says: 'An update that does not fit the item cancels the transaction.',
    async check(place) {
      await place.put({ sk: 'a', s: 'text' })
      const action: Action = {
        Update: {
          TableName: place.table,
          Key: place.key('a'),
          UpdateExpression: 'ADD s :one',
          ExpressionAttributeValues: { ':one': 1 },
        },
      }
      const error = await cancellation(transact(place, [put(place, 'b'), action]))
      expect(codes(error)).toEqual(['None', 'ValidationError'])
      expect(await place.get('b')).toBeUndefined()
    },
  },
  {
    says: 'An expression that is never right makes the transaction invalid.',
    async check(place) {
      const action: Action = {
        Update: { TableName: place.table, Key: place.key('a'), UpdateExpression: 'SET a' },
      }
      expect(await outcomeOf(transact(place, [action]))).toBe('ValidationException')
    },
    differs: { embedded: 'dynoxide cancels the transaction instead' },
  },
  {
    says: 'A key of the wrong type cancels the transaction, before any condition is tried.',
    async check(place) {
      await place.put({ sk: 'there' })
      const wrong = (sk: number): Action => ({
        Put: { TableName: place.table, Item: { pk: place.pk, sk } },
      })
      const error = await cancellation(
        transact(place, [wrong(7), wrong(8), putNew(place, 'there')]),
      )
      expect(codes(error)).toEqual(['ValidationError', 'None', 'None'])
    },
    differs: { embedded: 'dynoxide looks at every action' },
  },
  {
    says: 'A placeholder that is not given makes the transaction invalid.',
    async check(place) {
      const action = check(place, 'a', 'n = :missing')
      expect(await outcomeOf(transact(place, [action]))).toBe('ValidationException')
    },
    differs: { embedded: 'dynoxide cancels the transaction instead' },
  },
  {
    says: 'A token has at most 36 characters.',
    async check(place) {
      const longest = String(place.shard).padEnd(36, 'x')
      expect(await outcomeOf(transact(place, [put(place, 'a')], longest))).toBe('ok')
      const tooLong = transact(place, [put(place, 'a')], `${longest}x`)
      expect(await outcomeOf(tooLong)).toBe('ValidationException')
    },
  },
  {
    says: 'A small transaction may delete more than 4 MB.',
    async check(place) {
      const rows = Array.from({ length: 12 }, (_, i) => `row${i}`)
      for (const sk of rows) await place.put({ sk, a: text(390 * 1024) })
      const outcome = await outcomeOf(
        transact(
          place,
          rows.map((sk) => remove(place, sk)),
        ),
      )
      expect(outcome).toBe('ok')
    },
  },
  {
    says: 'A transaction takes 100 items.',
    async check(place) {
      await transact(
        place,
        Array.from({ length: 100 }, (_, i) => put(place, `row${i}`)),
      )
      expect(await place.get('row99')).toEqual(place.key('row99'))
    },
  },
  {
    says: 'A transaction of 101 items is refused.',
    async check(place) {
      const actions = Array.from({ length: 101 }, (_, i) => put(place, `row${i}`))
      expect(await outcomeOf(transact(place, actions))).toBe('ValidationException')
      expect(await place.get('row0')).toBeUndefined()
    },
  },
  {
    says: 'A transaction of nothing is refused.',
    async check(place) {
      expect(await outcomeOf(transact(place, []))).toBe('ValidationException')
    },
  },
  {
    says: 'A transaction cannot write one item twice.',
    async check(place) {
      const actions = [put(place, 'a'), addOne(place, 'a')]
      expect(await outcomeOf(transact(place, actions))).toBe('ValidationException')
    },
  },
  {
    says: 'A transaction cannot check an item it writes.',
    async check(place) {
      await place.put({ sk: 'a' })
      const actions = [check(place, 'a', 'attribute_exists(pk)'), addOne(place, 'a')]
      expect(await outcomeOf(transact(place, actions))).toBe('ValidationException')
    },
  },
  {
    says: 'A transaction of more than 4 MB is refused.',
    async check(place) {
      const actions = Array.from({ length: 11 }, (_, i) =>
        put(place, `row${i}`, { a: text(390 * 1024) }),
      )
      expect(await outcomeOf(transact(place, actions))).toBe('ValidationException')
      expect(await place.get('row0')).toBeUndefined()
    },
  },
  {
    says: 'A repeated token has one effect.',
    async check(place) {
      const token = `once${place.shard}`
      await transact(place, [addOne(place, 'a')], token)
      await transact(place, [addOne(place, 'a')], token)
      expect(await place.attributes('a')).toEqual({ n: 1 })
    },
  },
  {
    says: 'A repeated token answers with success although the condition would fail now.',
    async check(place) {
      const token = `again${place.shard}`
      await transact(place, [putNew(place, 'a')], token)
      expect(await outcomeOf(transact(place, [putNew(place, 'a')], token))).toBe('ok')
    },
  },
  {
    says: 'A repeated token with another transaction is refused.',
    async check(place) {
      const token = `other${place.shard}`
      await transact(place, [addOne(place, 'a')], token)
      const error = await errorOf(transact(place, [addOne(place, 'b')], token))
      expect(error).toBeInstanceOf(IdempotentParameterMismatchException)
      expect(await place.get('b')).toBeUndefined()
    },
  },
  {
    says: 'A cancelled transaction may be tried again with its token.',
    async check(place) {
      const token = `retry${place.shard}`
      await place.put({ sk: 'a' })
      await cancellation(transact(place, [putNew(place, 'a')], token))
      await transact(place, [remove(place, 'a')])
      expect(await outcomeOf(transact(place, [putNew(place, 'a')], token))).toBe('ok')
      expect(await place.attributes('a')).toEqual({ made: true })
    },
  },
  {
    says: 'A transaction moves rows in the indexes.',
    async check(place) {
      await transact(place, [put(place, 'a', { shard: place.shard, checkAt: 3 })])
      const { Items } = await place.query({
        IndexName: 'check',
        KeyConditionExpression: '#shard = :shard',
        ExpressionAttributeNames: { '#shard': 'shard' },
        ExpressionAttributeValues: { ':shard': place.shard },
      })
      expect(Items?.map((item) => item.sk)).toEqual(['a'])
    },
    differs: { aws: 'an index follows a moment later' },
  },
]

conformance('transactions', cases, (place, one) => one.check(place), [
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
