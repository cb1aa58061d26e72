import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb'
import { DeleteCommand } from '@aws-sdk/lib-dynamodb'
import { expect } from 'vitest'
import { type Case, conformance, tampering } from './conformance.ts'
import { type Attributes, errorOf, expressionInput, outcomeOf, type Place } from './place.ts'

interface ConditionCase extends Case {
  /** The row before; without it there is none. */
  readonly item?: Attributes
  readonly condition: string
  readonly names?: Record<string, string>
  readonly values?: Attributes
  readonly expected: 'holds' | 'fails' | 'invalid'
}

const bytes = (...values: number[]) => new Uint8Array(values)

const cases: readonly ConditionCase[] = [
  // Comparisons
  {
    says: 'A number equals the same number.',
    item: { n: 5 },
    condition: 'n = :n',
    values: { ':n': 5 },
    expected: 'holds',
  },
  {
    says: 'A number does not equal another number.',
    item: { n: 5 },
    condition: 'n = :n',
    values: { ':n': 6 },
    expected: 'fails',
  },
  {
    says: 'A number does not equal the string that looks like it.',
    item: { n: 5 },
    condition: 'n = :n',
    values: { ':n': '5' },
    expected: 'fails',
  },
  {
    says: 'A number is unlike the string that looks like it.',
    item: { n: 5 },
    condition: 'n <> :n',
    values: { ':n': '5' },
    expected: 'holds',
  },
  {
    says: 'A number written as a fraction equals itself.',
    item: { n: 0.5 },
    condition: 'n = :n',
    values: { ':n': 0.5 },
    expected: 'holds',
  },
  {
    says: 'A missing attribute equals nothing.',
    item: {},
    condition: 'gone = :n',
    values: { ':n': 5 },
    expected: 'fails',
  },
  {
    says: 'A missing attribute is unlike everything.',
    item: {},
    condition: 'gone <> :n',
    values: { ':n': 5 },
    expected: 'holds',
  },
  {
    says: 'In a missing item every attribute is unlike everything.',
    condition: 'pk <> :pk',
    values: { ':pk': 'q' },
    expected: 'holds',
  },
  {
    says: 'A missing attribute is not less than a number.',
    item: {},
    condition: 'gone < :n',
    values: { ':n': 5 },
    expected: 'fails',
  },
  {
    says: 'A missing attribute is not at least a number.',
    item: {},
    condition: 'gone >= :n',
    values: { ':n': 5 },
    expected: 'fails',
  },
  {
    says: 'Less than is strict.',
    item: { n: 5 },
    condition: 'n < :n',
    values: { ':n': 5 },
    expected: 'fails',
  },
  {
    says: 'Less than or equal admits the same.',
    item: { n: 5 },
    condition: 'n <= :n',
    values: { ':n': 5 },
    expected: 'holds',
  },
  {
    says: 'Numbers are compared as numbers, not as text.',
    item: { n: 9 },
    condition: 'n < :n',
    values: { ':n': 10 },
    expected: 'holds',
  },
  {
    says: 'Negative numbers are below zero.',
    item: { n: -3 },
    condition: 'n < :n',
    values: { ':n': 0 },
    expected: 'holds',
  },
  {
    says: 'A string is not less than a number.',
    item: { s: 'a' },
    condition: 's < :n',
    values: { ':n': 10 },
    expected: 'fails',
  },
  {
    says: 'Strings are ordered as text.',
    item: { s: '10' },
    condition: 's < :s',
    values: { ':s': '9' },
    expected: 'holds',
  },
  {
    says: 'Strings are ordered by their UTF-8 bytes.',
    item: { s: '\uffee' },
    condition: 's < :s',
    values: { ':s': '\u{1f600}' },
    expected: 'holds',
  },
  {
    says: 'A string is above its own prefix.',
    item: { s: 'abc' },
    condition: 's > :s',
    values: { ':s': 'ab' },
    expected: 'holds',
  },
  {
    says: 'Bytes are ordered without a sign.',
    item: { b: bytes(0xff) },
    condition: 'b > :b',
    values: { ':b': bytes(0x01) },
    expected: 'holds',
  },
  {
    says: 'Bytes equal the same bytes.',
    item: { b: bytes(1, 2, 3) },
    condition: 'b = :b',
    values: { ':b': bytes(1, 2, 3) },
    expected: 'holds',
  },
  {
    says: 'Lists are equal entry by entry.',
    item: { l: [1, 'a', { x: null }] },
    condition: 'l = :l',
    values: { ':l': [1, 'a', { x: null }] },
    expected: 'holds',
  },
  {
    says: 'Lists in another order are not equal.',
    item: { l: [1, 2] },
    condition: 'l = :l',
    values: { ':l': [2, 1] },
    expected: 'fails',
  },
  {
    says: 'Maps are equal in whatever order their names were given.',
    item: { m: { a: 1, b: true } },
    condition: 'm = :m',
    values: { ':m': { b: true, a: 1 } },
    expected: 'holds',
  },
  {
    says: 'A null equals null.',
    item: { x: null },
    condition: 'x = :x',
    values: { ':x': null },
    expected: 'holds',
  },
  {
    says: 'Two attributes of one item can be compared.',
    item: { a: 1, b: 2 },
    condition: 'a < b',
    expected: 'holds',
  },
  {
    says: 'A value may stand on the left.',
    item: { n: 5 },
    condition: ':n < n',
    values: { ':n': 4 },
    expected: 'holds',
  },
  {
    says: 'Only strings, numbers and bytes can be ordered.',
    item: { n: 5 },
    condition: 'n < :t',
    values: { ':t': true },
    expected: 'invalid',
    differs: { embedded: 'dynoxide answers false instead of refusing' },
  },
  {
    says: 'An attribute cannot be compared with itself.',
    item: { n: 5 },
    condition: 'n = n',
    expected: 'invalid',
    differs: { embedded: 'dynoxide compares it' },
  },

  // BETWEEN and IN
  {
    says: 'BETWEEN includes its lower bound.',
    item: { n: 5 },
    condition: 'n BETWEEN :low AND :high',
    values: { ':low': 5, ':high': 9 },
    expected: 'holds',
  },
  {
    says: 'BETWEEN includes its upper bound.',
    item: { n: 9 },
    condition: 'n BETWEEN :low AND :high',
    values: { ':low': 5, ':high': 9 },
    expected: 'holds',
  },
  {
    says: 'BETWEEN is false beyond its bounds.',
    item: { n: 10 },
    condition: 'n BETWEEN :low AND :high',
    values: { ':low': 5, ':high': 9 },
    expected: 'fails',
  },
  {
    says: 'BETWEEN refuses bounds in the wrong order.',
    item: { n: 6 },
    condition: 'n BETWEEN :low AND :high',
    values: { ':low': 9, ':high': 5 },
    expected: 'invalid',
  },
  {
    says: 'BETWEEN refuses bounds of two types.',
    item: { n: 6 },
    condition: 'n BETWEEN :low AND :high',
    values: { ':low': 5, ':high': '9' },
    expected: 'invalid',
  },
  {
    says: 'BETWEEN binds closer than AND.',
    item: { n: 5, m: 1 },
    condition: 'n BETWEEN :low AND :high AND m = :low',
    values: { ':low': 1, ':high': 9 },
    expected: 'holds',
  },
  {
    says: 'IN finds a value among several.',
    item: { s: 'b' },
    condition: 's IN (:a, :b)',
    values: { ':a': 'a', ':b': 'b' },
    expected: 'holds',
  },
  {
    says: 'IN is false for a missing attribute.',
    item: {},
    condition: 'gone IN (:a)',
    values: { ':a': 'a' },
    expected: 'fails',
  },
  {
    says: 'IN compares values of several types.',
    item: { s: 'b' },
    condition: 's IN (:one, :b)',
    values: { ':one': 1, ':b': 'b' },
    expected: 'holds',
  },
  {
    says: 'IN takes 99 values.',
    item: { n: 98 },
    condition: `n IN (${Array.from({ length: 99 }, (_, i) => `:v${i}`).join(', ')})`,
    values: Object.fromEntries(Array.from({ length: 99 }, (_, i) => [`:v${i}`, i])),
    expected: 'holds',
  },
  {
    says: 'IN takes no more than 100 values.',
    item: { n: 1 },
    condition: `n IN (${Array.from({ length: 101 }, (_, i) => `:v${i}`).join(', ')})`,
    values: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`:v${i}`, i])),
    expected: 'invalid',
    differs: { embedded: 'dynoxide has no limit' },
  },

  // Logic
  {
    says: 'AND binds closer than OR.',
    item: { n: 1 },
    condition: 'n = :one OR n = :one AND n = :two',
    values: { ':one': 1, ':two': 2 },
    expected: 'holds',
  },
  {
    says: 'Parentheses bind closest.',
    item: { n: 1 },
    condition: '(n = :one OR n = :one) AND n = :two',
    values: { ':one': 1, ':two': 2 },
    expected: 'fails',
  },
  {
    says: 'NOT binds closer than AND.',
    item: { n: 1 },
    condition: 'NOT n = :two AND n = :one',
    values: { ':one': 1, ':two': 2 },
    expected: 'holds',
  },
  {
    says: 'NOT turns the comparison with a missing attribute into true.',
    item: {},
    condition: 'NOT gone > :n',
    values: { ':n': 0 },
    expected: 'holds',
  },
  {
    says: 'Keywords may be written in lower case.',
    item: { n: 1 },
    condition: 'not n = :two and (n between :one and :two or n in (:two))',
    values: { ':one': 1, ':two': 2 },
    expected: 'holds',
  },
  {
    says: 'A single pair of parentheses around everything is allowed.',
    item: { n: 1 },
    condition: '(n = :one)',
    values: { ':one': 1 },
    expected: 'holds',
  },
  {
    says: 'Parentheses around parentheses are refused.',
    item: { n: 1 },
    condition: '((n = :one))',
    values: { ':one': 1 },
    expected: 'invalid',
  },
  {
    says: 'Two groups in parentheses may stand in a third.',
    item: { n: 1 },
    condition: '((n = :one) AND (n = :one OR n = :two))',
    values: { ':one': 1, ':two': 2 },
    expected: 'holds',
  },

  // Functions
  {
    says: 'attribute_exists sees a null.',
    item: { x: null },
    condition: 'attribute_exists(x)',
    expected: 'holds',
  },
  {
    says: 'attribute_exists fails for a missing item.',
    condition: 'attribute_exists(pk)',
    expected: 'fails',
  },
  {
    says: 'attribute_not_exists holds for a missing item.',
    condition: 'attribute_not_exists(pk)',
    expected: 'holds',
  },
  {
    says: 'attribute_not_exists holds below a missing map.',
    item: {},
    condition: 'attribute_not_exists(m.part.deeper)',
    expected: 'holds',
  },
  {
    says: 'attribute_exists takes a path, not a value.',
    item: {},
    condition: 'attribute_exists(:v)',
    values: { ':v': 1 },
    expected: 'invalid',
  },
  {
    says: 'attribute_type knows a list.',
    item: { l: [] },
    condition: 'attribute_type(l, :type)',
    values: { ':type': 'L' },
    expected: 'holds',
  },
  {
    says: 'attribute_type tells bytes from text.',
    item: { b: bytes(65) },
    condition: 'attribute_type(b, :type)',
    values: { ':type': 'S' },
    expected: 'fails',
  },
  {
    says: 'attribute_type refuses a type that does not exist.',
    item: { l: [] },
    condition: 'attribute_type(l, :type)',
    values: { ':type': 'LIST' },
    expected: 'invalid',
    differs: { embedded: 'dynoxide answers false instead of refusing' },
  },
  {
    says: 'attribute_type takes its type from a value only.',
    item: { l: [], type2: 'L' },
    condition: 'attribute_type(l, type2)',
    expected: 'invalid',
    differs: { embedded: 'dynoxide takes it from an attribute as well' },
  },
  {
    says: 'begins_with compares two attributes.',
    item: { s: 'hello', p: 'he' },
    condition: 'begins_with(s, p)',
    expected: 'holds',
  },
  {
    says: 'begins_with compares the beginning of a string.',
    item: { s: 'queue#7' },
    condition: 'begins_with(s, :prefix)',
    values: { ':prefix': 'queue#' },
    expected: 'holds',
  },
  {
    says: 'begins_with fails for a number.',
    item: { s: 77 },
    condition: 'begins_with(s, :prefix)',
    values: { ':prefix': '7' },
    expected: 'fails',
  },
  {
    says: 'begins_with refuses a number as prefix.',
    item: { s: '77' },
    condition: 'begins_with(s, :prefix)',
    values: { ':prefix': 7 },
    expected: 'invalid',
  },
  {
    says: 'contains finds part of a string.',
    item: { s: 'abcd' },
    condition: 'contains(s, :part)',
    values: { ':part': 'bc' },
    expected: 'holds',
  },
  {
    says: 'contains finds an entry of a list.',
    item: { l: ['a', 7] },
    condition: 'contains(l, :entry)',
    values: { ':entry': 7 },
    expected: 'holds',
  },
  {
    says: 'contains does not find part of an entry.',
    item: { l: ['abc'] },
    condition: 'contains(l, :entry)',
    values: { ':entry': 'ab' },
    expected: 'fails',
  },
  {
    says: 'contains fails for a missing attribute.',
    item: {},
    condition: 'contains(gone, :entry)',
    values: { ':entry': 'ab' },
    expected: 'fails',
  },
  {
    says: 'size counts the entries of a list.',
    item: { l: [1, 2, 3] },
    condition: 'size(l) = :three',
    values: { ':three': 3 },
    expected: 'holds',
  },
  {
    says: 'size counts the names of a map.',
    item: { m: { a: 1, b: 2 } },
    condition: 'size(m) = :two',
    values: { ':two': 2 },
    expected: 'holds',
  },
  {
    says: 'size counts the bytes of bytes.',
    item: { b: bytes(1, 2, 3) },
    condition: 'size(b) BETWEEN :three AND :three',
    values: { ':three': 3 },
    expected: 'holds',
  },
  {
    says: 'size counts the characters of plain text.',
    item: { s: 'four' },
    condition: 'size(s) = :four',
    values: { ':four': 4 },
    expected: 'holds',
  },
  {
    says: 'size of a missing list compares as false.',
    item: {},
    condition: 'size(gone) < :n',
    values: { ':n': 5 },
    expected: 'fails',
  },
  {
    says: 'NOT size of a missing list is true, whatever it is compared with.',
    item: {},
    condition: 'NOT size(gone) > :n',
    values: { ':n': 0 },
    expected: 'holds',
  },
  {
    says: 'size of a number compares as false.',
    item: { n: 12345 },
    condition: 'size(n) >= :n',
    values: { ':n': 0 },
    expected: 'fails',
  },
  {
    says: 'size is no condition by itself.',
    item: { l: [] },
    condition: 'size(l)',
    expected: 'invalid',
  },
  {
    says: 'attribute_exists cannot be compared.',
    item: { n: 1 },
    condition: 'attribute_exists(n) = :yes',
    values: { ':yes': true },
    expected: 'invalid',
  },
  {
    says: 'An attribute is no condition by itself.',
    item: { t: true },
    condition: 't',
    expected: 'invalid',
  },
  {
    says: 'Function names are told apart by case.',
    item: { n: 1 },
    condition: 'ATTRIBUTE_EXISTS(n)',
    expected: 'invalid',
    differs: { embedded: 'dynoxide takes any case' },
  },
  {
    says: 'An unknown function is refused.',
    item: { n: 1 },
    condition: 'length(n)',
    expected: 'invalid',
  },

  // Paths
  {
    says: 'A path leads through maps.',
    item: { m: { '5': { head: 7 } } },
    condition: 'm.#five.head = :seven',
    names: { '#five': '5' },
    values: { ':seven': 7 },
    expected: 'holds',
  },
  {
    says: 'A path leads through lists.',
    item: { l: [{ from: 1 }, { from: 4 }] },
    condition: 'l[1].#from = :four',
    names: { '#from': 'from' },
    values: { ':four': 4 },
    expected: 'holds',
  },
  {
    says: 'A list has nothing beyond its end.',
    item: { l: [1] },
    condition: 'attribute_exists(l[1])',
    expected: 'fails',
  },
  {
    says: 'An index into a map leads nowhere.',
    item: { m: { '0': 1 } },
    condition: 'attribute_exists(m[0])',
    expected: 'fails',
  },
  {
    says: 'A name in a list leads nowhere.',
    item: { l: [1] },
    condition: 'attribute_exists(l.#zero)',
    names: { '#zero': '0' },
    expected: 'fails',
  },
  {
    says: 'An alias may hold a dot, which is then part of the name.',
    item: { 'a.b': 1, a: { b: 2 } },
    condition: '#ab = :one',
    names: { '#ab': 'a.b' },
    values: { ':one': 1 },
    expected: 'holds',
  },
  {
    says: 'Names that every JavaScript object has are missing like any other.',
    item: { m: {} },
    condition: 'attribute_not_exists(#c) AND attribute_not_exists(m.toString)',
    names: { '#c': 'constructor' },
    expected: 'holds',
  },
  {
    says: 'A condition may name the key.',
    item: {},
    condition: 'sk = :sk',
    values: { ':sk': 'row' },
    expected: 'holds',
  },
]

async function run(place: Place, one: ConditionCase): Promise<void> {
  if (one.item !== undefined) await place.put(one.item)
  const before = await place.get()
  const outcome = await outcomeOf(
    place.update({
      UpdateExpression: 'SET touched = :touched',
      ConditionExpression: one.condition,
      ...expressionInput({ ...one, values: { ':touched': true, ...one.values } }),
    }),
  )
  const outcomes = {
    holds: 'ok',
    fails: 'ConditionalCheckFailedException',
    invalid: 'ValidationException',
  }
  expect(outcome).toBe(outcomes[one.expected])
  const after = one.expected === 'holds' ? { ...place.key(), ...before, touched: true } : before
  expect(await place.get()).toEqual(after)
}

conformance('conditions', cases, run, [
  {
    by: 'ignores conditions',
    network: tampering((input) => {
      if (input.UpdateExpression !== undefined) delete input.ConditionExpression
    }),
    noticedBy: 'Less than is strict.',
  },
])

interface RequestCase extends Case {
  readonly check: (place: Place) => Promise<void>
}

const requests: readonly RequestCase[] = [
  {
    says: 'A refused condition hands over the item as raw attribute values.',
    async check(place) {
      await place.put({ n: 5, l: ['a', null, true], m: { b: new Uint8Array([1]) } })
      const error = await errorOf(
        place.update({
          UpdateExpression: 'SET n = :n',
          ConditionExpression: 'n = :other',
          ExpressionAttributeValues: { ':n': 1, ':other': 4 },
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        }),
      )
      expect(error).toBeInstanceOf(ConditionalCheckFailedException)
      expect((error as ConditionalCheckFailedException).Item).toEqual({
        pk: { S: place.pk },
        sk: { S: 'row' },
        n: { N: '5' },
        l: { L: [{ S: 'a' }, { NULL: true }, { BOOL: true }] },
        m: { M: { b: { B: new Uint8Array([1]) } } },
      })
    },
  },
  {
    says: 'A refused condition hands over nothing unless asked.',
    async check(place) {
      await place.put({ n: 5 })
      const error = await errorOf(
        place.put({ n: 6 }, { ConditionExpression: 'attribute_not_exists(pk)' }),
      )
      expect((error as ConditionalCheckFailedException).Item).toBeUndefined()
      expect(await place.attributes()).toEqual({ n: 5 })
    },
  },
  {
    says: 'A refused condition on a missing item has no item to hand over.',
    async check(place) {
      const error = await errorOf(
        place.update({
          UpdateExpression: 'SET n = :n',
          ConditionExpression: 'attribute_exists(pk)',
          ExpressionAttributeValues: { ':n': 1 },
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        }),
      )
      expect(error.name).toBe('ConditionalCheckFailedException')
      expect((error as ConditionalCheckFailedException).Item).toBeUndefined()
    },
  },
  {
    says: 'A put replaces the whole item where its condition holds.',
    async check(place) {
      await place.put({ a: 1, b: 2 })
      await place.put(
        { c: 3 },
        {
          ConditionExpression: 'a = :one',
          ExpressionAttributeValues: { ':one': 1 },
        },
      )
      expect(await place.attributes()).toEqual({ c: 3 })
    },
  },
  {
    says: 'A delete is refused by its condition.',
    async check(place) {
      await place.put({ a: 1 })
      const outcome = await outcomeOf(
        place.dynamodb.send(
          new DeleteCommand({
            TableName: place.table,
            Key: place.key(),
            ConditionExpression: 'a = :two',
            ExpressionAttributeValues: { ':two': 2 },
          }),
        ),
      )
      expect(outcome).toBe('ConditionalCheckFailedException')
      expect(await place.attributes()).toEqual({ a: 1 })
    },
  },
  {
    says: 'A delete answers with the old item if asked.',
    async check(place) {
      await place.put({ a: 1 })
      const { Attributes } = await place.dynamodb.send(
        new DeleteCommand({ TableName: place.table, Key: place.key(), ReturnValues: 'ALL_OLD' }),
      )
      expect(Attributes).toEqual({ ...place.key(), a: 1 })
      expect(await place.get()).toBeUndefined()
    },
  },
  {
    says: 'Deleting a missing item succeeds without attributes.',
    async check(place) {
      const { Attributes } = await place.dynamodb.send(
        new DeleteCommand({ TableName: place.table, Key: place.key(), ReturnValues: 'ALL_OLD' }),
      )
      expect(Attributes).toBeUndefined()
    },
  },
  {
    says: 'A put answers with the item it replaced if asked.',
    async check(place) {
      await place.put({ a: 1 })
      const { Attributes } = await place.put({ b: 2 }, { ReturnValues: 'ALL_OLD' })
      expect(Attributes).toEqual({ ...place.key(), a: 1 })
    },
  },
]

conformance('conditional requests', requests, (place, one) => one.check(place))
