import {
  DeleteCommand,
  GetCommand,
  PutCommand,
  QueryCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb'
import { expect } from 'vitest'
import { type Case, conformance, tampering } from './conformance.ts'
import { type Attributes, outcomeOf, type Place, text } from './place.ts'

/** What is refused before anything happens. */

interface LimitCase extends Case {
  readonly request: (place: Place) => Promise<unknown>
  readonly expected: 'ok' | 'ValidationException' | 'ResourceNotFoundException' | 'Error'
}

const put = (place: Place, item: Attributes) =>
  place.dynamodb.send(new PutCommand({ TableName: place.table, Item: item }))

const get = (place: Place, key: Attributes) =>
  place.dynamodb.send(new GetCommand({ TableName: place.table, Key: key }))

const keyBytes = (place: Place) => 2 + place.pk.length + 2 + 'row'.length

const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])

/** `n = :n AND n = :n AND …`: each comparison and each AND is an operator. */
const comparisons = (count: number) =>
  Array.from({ length: count }, (_, i) => `n${i} <> :n`).join(' AND ')

const condition = (place: Place, expression: string, values: Attributes = { ':n': 1 }) =>
  place.put(
    {},
    {
      ConditionExpression: expression,
      ExpressionAttributeValues: values,
    },
  )

const cases: readonly LimitCase[] = [
  // Items
  {
    says: 'An item may have 400 KB.',
    request: (place) => place.put({ a: text(400 * 1024 - keyBytes(place) - 1) }),
    expected: 'ok',
  },
  {
    says: 'An item may not have one byte more.',
    request: (place) => place.put({ a: text(400 * 1024 - keyBytes(place)) }),
    expected: 'ValidationException',
  },
  {
    says: 'An update may not make an item grow over 400 KB.',
    async request(place) {
      await place.put({ a: text(300 * 1024) })
      return place.update({
        UpdateExpression: 'SET b = :b',
        ExpressionAttributeValues: { ':b': text(100 * 1024) },
      })
    },
    expected: 'ValidationException',
  },
  {
    says: 'Values may be nested 31 deep.',
    request: (place) => place.put({ a: nested(31) }),
    expected: 'ok',
  },
  {
    says: 'Values may not be nested 32 deep.',
    request: (place) => place.put({ a: nested(32) }),
    expected: 'ValidationException',
  },
  {
    says: 'An undefined attribute is left out by the client.',
    request: (place) => place.put({ a: undefined }),
    expected: 'ok',
  },
  {
    says: 'An undefined value further down is refused by the client.',
    request: (place) => place.put({ a: [undefined] }),
    expected: 'Error',
  },
  {
    says: 'A number beyond the safe integers is refused by the client.',
    request: (place) => place.put({ a: 2 ** 53 }),
    expected: 'Error',
  },
  {
    says: 'Not a number is refused by the client.',
    request: (place) => place.put({ a: Number.NaN }),
    expected: 'Error',
  },
  {
    says: 'A number too small to store is refused.',
    request: (place) => place.put({ a: 1e-140 }),
    expected: 'ValidationException',
  },

  // Keys
  {
    says: 'A partition key may have 2,048 bytes.',
    request: (place) => get(place, { pk: text(2048), sk: 'a' }),
    expected: 'ok',
  },
  {
    says: 'A partition key may not have 2,049 bytes.',
    request: (place) => put(place, { pk: text(2049), sk: 'a' }),
    expected: 'ValidationException',
  },
  {
    says: 'A sort key may have 1,024 bytes.',
    request: (place) => put(place, place.key(text(1024))),
    expected: 'ok',
  },
  {
    says: 'A sort key may not have 1,025 bytes.',
    request: (place) => put(place, place.key(text(1025))),
    expected: 'ValidationException',
  },
  {
    says: 'A sort key is measured in bytes.',
    request: (place) => put(place, place.key('ü'.repeat(513))),
    expected: 'ValidationException',
  },
  {
    says: 'An empty partition key is refused.',
    request: (place) => put(place, { pk: '', sk: 'a' }),
    expected: 'ValidationException',
  },
  {
    says: 'An empty sort key is refused.',
    request: (place) => put(place, place.key('')),
    expected: 'ValidationException',
  },
  {
    says: 'An empty key is refused by a read.',
    request: (place) => get(place, place.key('')),
    expected: 'ValidationException',
  },
  {
    says: 'An empty key is refused by an update.',
    request: (place) => place.update({ Key: place.key('') }),
    expected: 'ValidationException',
  },
  {
    says: 'An item without its sort key is refused.',
    request: (place) => put(place, { pk: place.pk }),
    expected: 'ValidationException',
  },
  {
    says: 'A number as a key is refused.',
    request: (place) => put(place, { pk: place.pk, sk: 5 }),
    expected: 'ValidationException',
  },
  {
    says: 'A read by half a key is refused.',
    request: (place) => get(place, { pk: place.pk }),
    expected: 'ValidationException',
  },
  {
    says: 'A read by more than a key is refused.',
    request: (place) => get(place, { ...place.key(), more: 1 }),
    expected: 'ValidationException',
  },
  {
    says: 'A delete by a key of the wrong type is refused.',
    request: (place) =>
      place.dynamodb.send(
        new DeleteCommand({ TableName: place.table, Key: { pk: place.pk, sk: 1 } }),
      ),
    expected: 'ValidationException',
  },
  {
    says: 'A put of an index key of the wrong type is refused.',
    request: (place) => place.put({ checkAt: 'soon' }),
    expected: 'ValidationException',
  },
  {
    says: 'An update of an index key to the wrong type is refused.',
    request: (place) =>
      place.update({
        UpdateExpression: 'SET checkAt = :at',
        ExpressionAttributeValues: { ':at': 'soon' },
      }),
    expected: 'ValidationException',
  },

  // Expressions
  {
    says: 'An expression may have 4 KB.',
    request: (place) => condition(place, `n <> :n${' '.repeat(4096 - 7)}`),
    expected: 'ok',
  },
  {
    says: 'An expression may not have more than 4 KB.',
    request: (place) => condition(place, `n <> :n${' '.repeat(4097 - 7)}`),
    expected: 'ValidationException',
  },
  {
    says: 'A condition of 150 comparisons has 299 operators, which is allowed.',
    request: (place) => condition(place, comparisons(150)),
    expected: 'ok',
  },
  {
    says: 'A condition of 151 comparisons has 301 operators, which is refused.',
    request: (place) => condition(place, comparisons(151)),
    expected: 'ValidationException',
    differs: { embedded: 'dynoxide does not count the operators of a condition' },
  },
  {
    says: 'An update may not have more than 300 operators.',
    request: (place) =>
      place.update({
        UpdateExpression: `SET ${Array.from({ length: 301 }, (_, i) => `a${i} = :n + :n`).join(',')}`,
        ExpressionAttributeValues: { ':n': 1 },
      }),
    expected: 'ValidationException',
  },
  {
    says: 'An empty expression is refused.',
    request: (place) => condition(place, '', { ':n': 1 }),
    expected: 'ValidationException',
  },
  {
    says: 'An expression that breaks off is refused.',
    request: (place) => condition(place, 'n <> :n AND'),
    expected: 'ValidationException',
  },
  {
    says: 'An expression with a stray character is refused.',
    request: (place) => condition(place, 'n <> :n;'),
    expected: 'ValidationException',
  },
  {
    says: 'A condition cannot calculate.',
    request: (place) => condition(place, 'n <> :n + :n'),
    expected: 'ValidationException',
  },
  {
    says: 'A literal number in a condition is refused.',
    request: (place) => place.put({}, { ConditionExpression: 'n <> 5' }),
    expected: 'ValidationException',
  },
  {
    says: 'A reserved word as a name is refused.',
    request: (place) => condition(place, 'shard <> :n'),
    expected: 'ValidationException',
  },
  {
    says: 'A reserved word in lower case inside a path is refused.',
    request: (place) => condition(place, 'm.count <> :n'),
    expected: 'ValidationException',
  },
  {
    says: 'A reserved word behind an alias is allowed.',
    request: (place) =>
      place.put(
        {},
        {
          ConditionExpression: '#status <> :n',
          ExpressionAttributeNames: { '#status': 'status' },
          ExpressionAttributeValues: { ':n': 1 },
        },
      ),
    expected: 'ok',
  },
  {
    says: 'A name that begins with a digit is refused.',
    request: (place) => condition(place, 'm.5 <> :n'),
    expected: 'ValidationException',
  },

  // Placeholders
  {
    says: 'A value that is not used is refused.',
    request: (place) => condition(place, 'n <> :n', { ':n': 1, ':more': 2 }),
    expected: 'ValidationException',
  },
  {
    says: 'A value that is not given is refused.',
    request: (place) => condition(place, 'n <> :n AND n <> :more'),
    expected: 'ValidationException',
  },
  {
    says: 'A name that is not used is refused.',
    request: (place) =>
      place.update({
        UpdateExpression: 'REMOVE a',
        ExpressionAttributeNames: { '#b': 'b' },
      }),
    expected: 'ValidationException',
  },
  {
    says: 'A name that is not given is refused.',
    request: (place) => place.update({ UpdateExpression: 'REMOVE #a' }),
    expected: 'ValidationException',
  },
  {
    says: 'An empty list of values is refused.',
    request: (place) =>
      place.update({ UpdateExpression: 'REMOVE a', ExpressionAttributeValues: {} }),
    expected: 'ValidationException',
  },
  {
    says: 'An empty list of names is refused.',
    request: (place) =>
      place.update({ UpdateExpression: 'REMOVE a', ExpressionAttributeNames: {} }),
    expected: 'ValidationException',
  },
  {
    says: 'Values without an expression are refused.',
    request: (place) => place.put({}, { ExpressionAttributeValues: { ':n': 1 } }),
    expected: 'ValidationException',
  },
  {
    says: 'A value used by the condition alone counts as used.',
    request: (place) =>
      place.update({
        UpdateExpression: 'REMOVE a',
        ConditionExpression: 'n <> :n',
        ExpressionAttributeValues: { ':n': 1 },
      }),
    expected: 'ok',
  },

  // Requests
  {
    says: 'A put cannot return what is new.',
    request: (place) => place.put({}, { ReturnValues: 'ALL_NEW' }),
    expected: 'ValidationException',
  },
  {
    says: 'An update in no section is refused.',
    request: (place) =>
      place.update({ UpdateExpression: 'a = :n', ExpressionAttributeValues: { ':n': 1 } }),
    expected: 'ValidationException',
  },
  {
    says: 'A section of nothing is refused.',
    request: (place) => place.update({ UpdateExpression: 'SET' }),
    expected: 'ValidationException',
  },
  {
    says: 'A missing table is not found.',
    request: (place) =>
      place.dynamodb.send(new GetCommand({ TableName: 'missing-table', Key: place.key() })),
    expected: 'ResourceNotFoundException',
  },
  {
    says: 'An update of a missing table is not found.',
    request: (place) =>
      place.dynamodb.send(new UpdateCommand({ TableName: 'missing-table', Key: place.key() })),
    expected: 'ResourceNotFoundException',
  },
  {
    says: 'A query without a condition is refused.',
    request: (place) => place.dynamodb.send(new QueryCommand({ TableName: place.table })),
    expected: 'ValidationException',
  },
]

conformance(
  'limits',
  cases,
  async (place, one) => {
    expect(await outcomeOf(one.request(place))).toBe(one.expected)
  },
  [
    {
      by: 'takes reserved words',
      network: tampering((input) => {
        if (input.ConditionExpression === 'shard <> :n') {
          input.ConditionExpression = 'thing <> :n'
        }
      }),
      noticedBy: 'A reserved word as a name is refused.',
    },
  ],
)
