import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb'
import { expect } from 'vitest'
import { type Case, check, conformance, type Differs, tampering } from './conformance.ts'
import { type Expression, name, x } from './expression.ts'
import { type Attributes, errorOf, outcomeOf, type Place } from './place.ts'

const bytes = (...values: number[]) => new Uint8Array(values)

/** In place of an item: there is none. */
const missing = undefined

const condition =
  (error: string) =>
  (says: string, item: Attributes | undefined, condition: Expression, differs?: Differs): Case => {
    async function test(place: Place) {
      if (item !== undefined) await place.put(item)
      const before = await place.get()
      const UpdateExpression = x`SET touched = ${true}`
      const update = place.update({ UpdateExpression, ConditionExpression: condition })
      expect(await outcomeOf(update)).toBe(error)
      const after = error === 'ok' ? { ...place.key(), ...before, touched: true } : before
      expect(await place.get()).toEqual(after)
    }
    return check(says, test, differs)
  }

const holds = condition('ok')
const fails = condition('ConditionalCheckFailedException')
const invalid = condition('ValidationException')

const cases: readonly Case[] = [
  // Comparisons
  holds('A number equals the same number.', { n: 5 }, x`n = ${5}`),
  fails('A number does not equal another number.', { n: 5 }, x`n = ${6}`),
  fails('A number does not equal the string that looks like it.', { n: 5 }, x`n = ${'5'}`),
  holds('A number is unlike the string that looks like it.', { n: 5 }, x`n <> ${'5'}`),
  holds('A number written as a fraction equals itself.', { n: 0.5 }, x`n = ${0.5}`),
  fails('A missing attribute equals nothing.', {}, x`gone = ${5}`),
  holds('A missing attribute is unlike everything.', {}, x`gone <> ${5}`),
  holds('In a missing item every attribute is unlike everything.', missing, x`pk <> ${'q'}`),
  fails('A missing attribute is not less than a number.', {}, x`gone < ${5}`),
  fails('A missing attribute is not at least a number.', {}, x`gone >= ${5}`),
  fails('Less than is strict.', { n: 5 }, x`n < ${5}`),
  holds('Less than or equal admits the same.', { n: 5 }, x`n <= ${5}`),
  holds('Numbers are compared as numbers, not as text.', { n: 9 }, x`n < ${10}`),
  holds('Negative numbers are below zero.', { n: -3 }, x`n < ${0}`),
  fails('A string is not less than a number.', { s: 'a' }, x`s < ${10}`),
  holds('Strings are ordered as text.', { s: '10' }, x`s < ${'9'}`),
  holds('Strings are ordered by their UTF-8 bytes.', { s: '\uffee' }, x`s < ${'\u{1f600}'}`),
  holds('A string is above its own prefix.', { s: 'abc' }, x`s > ${'ab'}`),
  holds('Bytes are ordered without a sign.', { b: bytes(0xff) }, x`b > ${bytes(0x01)}`),
  holds('Bytes equal the same bytes.', { b: bytes(1, 2, 3) }, x`b = ${bytes(1, 2, 3)}`),
  holds(
    'Lists are equal entry by entry.',
    { l: [1, 'a', { x: null }] },
    x`l = ${[1, 'a', { x: null }]}`,
  ),
  fails('Lists in another order are not equal.', { l: [1, 2] }, x`l = ${[2, 1]}`),
  holds(
    'Maps are equal in whatever order their names were given.',
    { m: { a: 1, b: true } },
    x`m = ${{ b: true, a: 1 }}`,
  ),
  holds('A null equals null.', { x: null }, x`x = ${null}`),
  holds('Two attributes of one item can be compared.', { a: 1, b: 2 }, 'a < b'),
  holds('A value may stand on the left.', { n: 5 }, x`${4} < n`),
  invalid('Only strings, numbers and bytes can be ordered.', { n: 5 }, x`n < ${true}`, {
    embedded: 'dynoxide answers false instead of refusing',
  }),
  invalid('An attribute cannot be compared with itself.', { n: 5 }, 'n = n', {
    embedded: 'dynoxide compares it',
  }),

  // BETWEEN
  holds('BETWEEN includes its lower bound.', { n: 5 }, x`n BETWEEN ${5} AND ${9}`),
  holds('BETWEEN includes its upper bound.', { n: 9 }, x`n BETWEEN ${5} AND ${9}`),
  fails('BETWEEN is false beyond its bounds.', { n: 10 }, x`n BETWEEN ${5} AND ${9}`),
  invalid('BETWEEN refuses bounds in the wrong order.', { n: 6 }, x`n BETWEEN ${9} AND ${5}`),
  invalid('BETWEEN refuses bounds of two types.', { n: 6 }, x`n BETWEEN ${5} AND ${'9'}`),
  holds('BETWEEN binds closer than AND.', { n: 5, m: 1 }, x`n BETWEEN ${1} AND ${9} AND m = ${1}`),

  // Logic
  holds('AND binds closer than OR.', { n: 1 }, x`n = ${1} OR n = ${1} AND n = ${2}`),
  fails('Parentheses bind closest.', { n: 1 }, x`(n = ${1} OR n = ${1}) AND n = ${2}`),
  holds('NOT binds closer than AND.', { n: 1 }, x`NOT n = ${2} AND n = ${1}`),
  holds('NOT turns the comparison with a missing attribute into true.', {}, x`NOT gone > ${0}`),
  holds(
    'Keywords may be written in lower case.',
    { n: 1 },
    x`not n = ${2} and (n between ${1} and ${2} or n = ${2})`,
  ),
  holds('A single pair of parentheses around everything is allowed.', { n: 1 }, x`(n = ${1})`),
  invalid('Parentheses around parentheses are refused.', { n: 1 }, x`((n = ${1}))`),
  holds(
    'Two groups in parentheses may stand in a third.',
    { n: 1 },
    x`((n = ${1}) AND (n = ${1} OR n = ${2}))`,
  ),

  // Functions
  holds('attribute_exists sees a null.', { x: null }, 'attribute_exists(x)'),
  fails('attribute_exists fails for a missing item.', missing, 'attribute_exists(pk)'),
  holds('attribute_not_exists holds for a missing item.', missing, 'attribute_not_exists(pk)'),
  holds(
    'attribute_not_exists holds below a missing map.',
    {},
    'attribute_not_exists(m.part.deeper)',
  ),
  invalid('attribute_exists takes a path, not a value.', {}, x`attribute_exists(${1})`),
  holds('contains finds part of a string.', { s: 'abcd' }, x`contains(s, ${'bc'})`),
  holds('contains finds an entry of a list.', { l: ['a', 7] }, x`contains(l, ${7})`),
  fails('contains does not find part of an entry.', { l: ['abc'] }, x`contains(l, ${'ab'})`),
  fails('contains fails for a missing attribute.', {}, x`contains(gone, ${'ab'})`),
  holds('NOT contains holds for a missing attribute.', {}, x`NOT contains(gone, ${'ab'})`),
  fails('NOT contains fails for part of a string.', { s: 'abcd' }, x`NOT contains(s, ${'bc'})`),
  holds('size counts the entries of a list.', { l: [1, 2, 3] }, x`size(l) = ${3}`),
  holds('size counts the names of a map.', { m: { a: 1, b: 2 } }, x`size(m) = ${2}`),
  holds('size counts the bytes of bytes.', { b: bytes(1, 2, 3) }, x`size(b) BETWEEN ${3} AND ${3}`),
  holds('size counts the characters of plain text.', { s: 'four' }, x`size(s) = ${4}`),
  fails('size of a missing list compares as false.', {}, x`size(gone) < ${5}`),
  holds(
    'NOT size of a missing list is true, whatever it is compared with.',
    {},
    x`NOT size(gone) > ${0}`,
  ),
  fails('size of a number compares as false.', { n: 12345 }, x`size(n) >= ${0}`),
  invalid('size is no condition by itself.', { l: [] }, 'size(l)'),
  invalid('attribute_exists cannot be compared.', { n: 1 }, x`attribute_exists(n) = ${true}`),
  invalid('An attribute is no condition by itself.', { t: true }, 't'),
  invalid('Function names are told apart by case.', { n: 1 }, 'ATTRIBUTE_EXISTS(n)', {
    embedded: 'dynoxide takes any case',
  }),
  invalid('An unknown function is refused.', { n: 1 }, 'length(n)'),

  // Paths
  holds('A path leads through maps.', { m: { '5': { head: 7 } } }, x`m.${name('5')}.head = ${7}`),
  holds(
    'A path leads through lists.',
    { l: [{ from: 1 }, { from: 4 }] },
    x`l[1].${name('from')} = ${4}`,
  ),
  fails('A list has nothing beyond its end.', { l: [1] }, 'attribute_exists(l[1])'),
  fails('An index into a map leads nowhere.', { m: { '0': 1 } }, 'attribute_exists(m[0])'),
  fails('A name in a list leads nowhere.', { l: [1] }, x`attribute_exists(l.${name('0')})`),
  holds(
    'An alias may hold a dot, which is then part of the name.',
    { 'a.b': 1, a: { b: 2 } },
    x`${name('a.b')} = ${1}`,
  ),
  holds(
    'Names that every JavaScript object has are missing like any other.',
    { m: {} },
    x`attribute_not_exists(${name('constructor')}) AND attribute_not_exists(m.toString)`,
  ),
  holds('A condition may name the key.', {}, x`sk = ${'row'}`),
]

conformance('conditions', cases, [
  {
    by: 'ignores conditions',
    network: tampering((input) => {
      if (input.UpdateExpression !== undefined) delete input.ConditionExpression
    }),
    noticedBy: 'Less than is strict.',
  },
])

const requests: readonly Case[] = [
  check('A refused condition hands over the item as raw attribute values.', async (place) => {
    await place.put({ n: 5, l: ['a', null, true], m: { b: bytes(1) } })
    const error = await errorOf(
      place.update({
        UpdateExpression: x`SET n = ${1}`,
        ConditionExpression: x`n = ${4}`,
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      }),
    )
    expect(error).toBeInstanceOf(ConditionalCheckFailedException)
    expect((error as ConditionalCheckFailedException).Item).toEqual({
      pk: { S: place.pk },
      sk: { S: 'row' },
      n: { N: '5' },
      l: { L: [{ S: 'a' }, { NULL: true }, { BOOL: true }] },
      m: { M: { b: { B: bytes(1) } } },
    })
  }),
  check('A refused condition hands over nothing unless asked.', async (place) => {
    await place.put({ n: 5 })
    const ConditionExpression = 'attribute_not_exists(pk)'
    const error = await errorOf(place.put({ n: 6 }, { ConditionExpression }))
    expect((error as ConditionalCheckFailedException).Item).toBeUndefined()
    expect(await place.attributes()).toEqual({ n: 5 })
  }),
  check('A refused condition on a missing item has no item to hand over.', async (place) => {
    const error = await errorOf(
      place.update({
        UpdateExpression: x`SET n = ${1}`,
        ConditionExpression: 'attribute_exists(pk)',
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      }),
    )
    expect(error.name).toBe('ConditionalCheckFailedException')
    expect((error as ConditionalCheckFailedException).Item).toBeUndefined()
  }),
  check('A put replaces the whole item where its condition holds.', async (place) => {
    await place.put({ a: 1, b: 2 })
    await place.put({ c: 3 }, { ConditionExpression: x`a = ${1}` })
    expect(await place.attributes()).toEqual({ c: 3 })
  }),
  check('A delete is refused by its condition.', async (place) => {
    await place.put({ a: 1 })
    const outcome = await outcomeOf(place.delete({ ConditionExpression: x`a = ${2}` }))
    expect(outcome).toBe('ConditionalCheckFailedException')
    expect(await place.attributes()).toEqual({ a: 1 })
  }),
  check('Deleting a missing item succeeds without attributes.', async (place) => {
    const { Attributes } = await place.delete()
    expect(Attributes).toBeUndefined()
  }),
]

conformance('conditional requests', requests)
