import { expect } from 'vitest'
import { type Case, check, conformance, type Differs, tampering } from './conformance.ts'
import { type Expression, name, x } from './expression.ts'
import { type Attributes, outcomeOf } from './place.ts'

/** In place of an item: there is none. */
const missing = undefined
type Row = Attributes | undefined

function update(
  says: string,
  before: Row,
  UpdateExpression: Expression,
  error: string,
  after: Row,
  differs?: Differs,
): Case {
  return check(
    says,
    async (place) => {
      if (before !== undefined) await place.put(before)
      expect(await outcomeOf(place.update({ UpdateExpression }))).toBe(error)
      expect(await place.attributes()).toEqual(after)
    },
    differs,
  )
}

const gives = (says: string, before: Row, expression: Expression, after: Row, differs?: Differs) =>
  update(says, before, expression, 'ok', after, differs)

const refuses = (says: string, before: Row, expression: Expression, differs?: Differs) =>
  update(says, before, expression, 'ValidationException', before, differs)

const cases: readonly Case[] = [
  // SET
  gives('SET makes an attribute.', { a: 1 }, x`SET b = ${'two'}`, { a: 1, b: 'two' }),
  gives('SET replaces an attribute by one of another type.', { a: 1 }, x`SET a = ${['one']}`, {
    a: ['one'],
  }),
  gives('SET on a missing item makes the item.', missing, x`SET a = ${1}`, { a: 1 }),
  gives(
    'SET stores every type of value as it was.',
    {},
    x`SET a = ${{ s: 'ü', n: -1.5, t: true, x: null, l: [[], {}], b: new Uint8Array([0]) }}`,
    { a: { s: 'ü', n: -1.5, t: true, x: null, l: [[], {}], b: new Uint8Array([0]) } },
  ),
  gives('SET stores an empty string outside the keys.', {}, x`SET a = ${''}`, { a: '' }),
  gives('SET copies another attribute.', { a: { x: 1 } }, 'SET b = a', {
    a: { x: 1 },
    b: { x: 1 },
  }),
  refuses('SET refuses to copy a missing attribute.', { a: 1 }, 'SET b = gone'),
  gives(
    'Every right-hand side reads the item as it was before.',
    { a: 1, b: 2 },
    'SET a = b, b = a',
    { a: 2, b: 1 },
  ),
  gives('SET adds to a number.', { n: 5 }, x`SET n = n + ${1}`, { n: 6 }),
  gives('SET subtracts an attribute from a value.', { n: 5 }, x`SET m = ${10} - n`, { n: 5, m: 5 }),
  refuses('Arithmetic on text is refused.', { s: 'a' }, x`SET s = s + ${1}`),
  refuses('Arithmetic with a text value is refused.', { n: 1 }, x`SET n = n + ${'1'}`),
  refuses('Arithmetic on a missing number is refused.', {}, x`SET n = n + ${1}`),
  gives('if_not_exists heals a missing number.', {}, x`SET n = if_not_exists(n, ${0}) + ${1}`, {
    n: 1,
  }),
  gives(
    'if_not_exists leaves a number that is there.',
    { n: 7 },
    x`SET n = if_not_exists(n, ${0})`,
    { n: 7 },
  ),
  gives('if_not_exists takes null for a value.', { n: null }, x`SET n = if_not_exists(n, ${0})`, {
    n: null,
  }),
  gives(
    'if_not_exists may look at another attribute.',
    { a: 1 },
    x`SET b = if_not_exists(a, ${0})`,
    { a: 1, b: 1 },
  ),
  gives(
    'SET reaches into a map.',
    { lanes: { '5': { head: 1, tail: [] } } },
    x`SET lanes.${name('5')}.head = ${2}`,
    { lanes: { '5': { head: 2, tail: [] } } },
  ),
  gives(
    'SET makes a missing name in a map.',
    { lanes: {} },
    x`SET lanes.${name('5')} = ${{ head: 0 }}`,
    { lanes: { '5': { head: 0 } } },
  ),
  gives(
    'SET makes an attribute whose alias begins with a dot, beside a map.',
    { lanes: { a: 1 } },
    x`SET ${name('.lanes.a')} = ${'x'}`,
    { lanes: { a: 1 }, '.lanes.a': 'x' },
  ),
  gives(
    'REMOVE takes an attribute whose alias begins with a dot.',
    { '.a': 1, a: 2 },
    x`REMOVE ${name('.a')}`,
    { a: 2 },
  ),
  refuses('SET below a missing map is refused.', {}, x`SET lanes.${name('5')} = ${{}}`),
  refuses('SET below a number is refused.', { lanes: 5 }, x`SET lanes.${name('5')} = ${{}}`),
  refuses('SET below a null is refused.', { lanes: null }, x`SET lanes.${name('5')} = ${{}}`, {
    embedded: 'dynoxide makes a map of it',
  }),
  refuses('ADD below a missing map is refused.', {}, x`ADD m.n ${1}`),
  refuses('SET below a map made in the same update is refused.', {}, x`SET a = ${{}}, b.c = ${{}}`),
  gives(
    'SET of two names in one map keeps the others.',
    { m: { a: 1, b: 2, c: 3 } },
    x`SET m.a = ${10}, m.b = ${10}`,
    { m: { a: 10, b: 10, c: 3 } },
  ),
  gives('SET replaces an entry of a list.', { l: ['a', 'b', 'c'] }, x`SET l[1] = ${'x'}`, {
    l: ['a', 'x', 'c'],
  }),
  gives(
    'SET beyond the end of a list appends.',
    { l: ['a'] },
    x`SET l[9] = ${'x'}`,
    { l: ['a', 'x'] },
    { embedded: 'dynoxide pads the list with nulls' },
  ),
  gives('SET right at the end of a list appends.', { l: ['a'] }, x`SET l[1] = ${'x'}`, {
    l: ['a', 'x'],
  }),
  gives(
    'SET reaches into a map in a list.',
    { held: [{ to: 1 }, { to: 2 }] },
    x`SET held[1].done = ${true}`,
    { held: [{ to: 1 }, { to: 2, done: true }] },
  ),
  refuses('SET through an index into a map is refused.', { m: {} }, x`SET m[0] = ${1}`),

  // list_append
  gives('list_append adds at the end.', { l: ['a'] }, x`SET l = list_append(l, ${['b', 'c']})`, {
    l: ['a', 'b', 'c'],
  }),
  gives('list_append adds at the front.', { l: ['a'] }, x`SET l = list_append(${['b']}, l)`, {
    l: ['b', 'a'],
  }),
  gives(
    'list_append works below a map.',
    { lanes: { '5': { tail: ['a'] } } },
    x`SET lanes.${name('5')}.tail = list_append(lanes.${name('5')}.tail, ${['b']})`,
    { lanes: { '5': { tail: ['a', 'b'] } } },
  ),
  refuses('list_append to a missing list is refused.', {}, x`SET l = list_append(l, ${['b']})`),
  gives(
    'list_append with if_not_exists heals a missing list.',
    {},
    x`SET l = list_append(if_not_exists(l, ${[]}), ${['b']})`,
    { l: ['b'] },
  ),
  refuses(
    'if_not_exists does not heal a missing map above the list.',
    {},
    x`SET m.l = list_append(if_not_exists(m.l, ${[]}), ${['b']})`,
  ),
  refuses('list_append to text is refused.', { l: 'a' }, x`SET l = list_append(l, ${['b']})`),
  refuses('list_append of text is refused.', { l: ['a'] }, x`SET l = list_append(l, ${'b'})`),
  gives(
    'list_append of a list to itself doubles it.',
    { l: ['a', 'b'] },
    'SET l = list_append(l, l)',
    { l: ['a', 'b', 'a', 'b'] },
  ),

  // REMOVE
  gives('REMOVE takes an attribute away.', { a: 1, b: 2 }, 'REMOVE a', { b: 2 }),
  gives('REMOVE of a missing attribute changes nothing.', { a: 1 }, 'REMOVE gone', { a: 1 }),
  gives('REMOVE on a missing item makes no item.', missing, 'REMOVE a', missing, {
    embedded: 'dynoxide makes an item of nothing but its key',
  }),
  gives('REMOVE takes a name out of a map.', { m: { a: 1, b: 2 } }, 'REMOVE m.a', { m: { b: 2 } }),
  gives('REMOVE below a missing item changes nothing.', missing, 'REMOVE m.a', missing, {
    embedded: 'dynoxide makes an item of nothing but its key',
  }),
  refuses('REMOVE below a missing map is refused.', { a: 1 }, 'REMOVE m.a', {
    embedded: 'dynoxide changes nothing',
  }),
  gives(
    'REMOVE takes an entry out of a list, and the others move up.',
    { l: ['a', 'b', 'c'] },
    'REMOVE l[1]',
    { l: ['a', 'c'] },
  ),
  gives('REMOVE beyond the end of a list changes nothing.', { l: ['a'] }, 'REMOVE l[3]', {
    l: ['a'],
  }),
  gives(
    'REMOVE of several indexes, highest first, takes the entries of these indexes.',
    { l: ['a', 'b', 'c', 'd', 'e'] },
    'REMOVE l[2], l[1], l[0]',
    { l: ['d', 'e'] },
  ),
  gives(
    'REMOVE of several indexes, lowest first, means the places before the update.',
    { l: [0, 1, 2, 3, 4] },
    'REMOVE l[0], l[1]',
    { l: [2, 3, 4] },
    { embedded: 'dynoxide removes one after another' },
  ),
  gives('REMOVE of the last entry leaves an empty list.', { l: ['a'] }, 'REMOVE l[0]', { l: [] }),
  gives(
    'SET and REMOVE in one list mean the places before the update.',
    { l: ['a', 'b', 'c'] },
    x`SET l[2] = ${'x'} REMOVE l[0]`,
    { l: ['b', 'x'] },
  ),

  // ADD
  gives('ADD adds to a number.', { n: 5 }, x`ADD n ${-7}`, { n: -2 }),
  gives('ADD makes a missing number.', {}, x`ADD n ${3}`, { n: 3 }),
  gives('ADD on a missing item makes the item.', missing, x`ADD n ${3}, m ${3}`, { n: 3, m: 3 }),
  refuses('ADD to text is refused.', { s: 'a' }, x`ADD s ${3}`),
  refuses('ADD to null is refused.', { s: null }, x`ADD s ${3}`),
  refuses('ADD of text is refused.', { n: 1 }, x`ADD n ${'3'}`),

  // Together
  gives('Sections stand in any order.', { a: 1, b: 2, n: 3 }, x`ADD n ${1} REMOVE a SET b = ${1}`, {
    b: 1,
    n: 4,
  }),
  refuses('A section may stand only once.', { a: 1, b: 2 }, x`SET a = ${0} SET b = ${0}`),
  refuses('The same path twice is refused.', { a: 1 }, x`SET a = ${0}, a = ${0}`),
  refuses(
    'The same path under two aliases is refused.',
    { a: 1 },
    x`SET ${name('a')} = ${0} REMOVE ${name('a')}`,
  ),
  refuses('A path and what it contains overlap.', { m: { a: 1 } }, x`SET m = ${0}, m.a = ${0}`),
  refuses(
    'A map and a list in one place conflict.',
    { m: { a: 1 } },
    x`SET m.a = ${0}, m[0] = ${0}`,
  ),
  refuses('The partition key cannot be updated.', {}, x`SET pk = ${'other'}`),
  refuses('The sort key cannot be removed.', {}, 'REMOVE sk'),
  refuses('An update that fails halfway changes nothing.', { a: 1 }, x`SET a = ${2}, b = gone`),
]

conformance('updates', cases, [
  {
    by: 'takes an ADD for a SET',
    network: tampering((input) => {
      if (typeof input.UpdateExpression !== 'string') return
      input.UpdateExpression = input.UpdateExpression.replace('ADD n ', 'SET n = ')
    }),
    noticedBy: 'ADD adds to a number.',
  },
])

/** Write what you expect without the key; ALL_… adds it. */
function returns(
  says: string,
  item: Row,
  UpdateExpression: Expression | undefined,
  ReturnValues: 'ALL_NEW' | 'NONE',
  expected: Row,
  differs?: Differs,
): Case {
  return check(
    says,
    async (place) => {
      if (item !== undefined) await place.put(item)
      const { Attributes } = await place.update({ ReturnValues, UpdateExpression })
      const key = ReturnValues.startsWith('ALL_') ? place.key() : {}
      expect(Attributes).toEqual(expected && { ...key, ...expected })
    },
    differs,
  )
}

conformance('what an update returns', [
  returns('ALL_NEW returns the whole item after.', { a: 1, b: 2 }, x`SET a = ${5}`, 'ALL_NEW', {
    a: 5,
    b: 2,
  }),
  returns(
    'ALL_NEW without an update expression returns the item as it is.',
    { a: 1 },
    undefined,
    'ALL_NEW',
    { a: 1 },
  ),
  returns('NONE returns nothing.', { a: 1 }, x`SET a = ${5}`, 'NONE', undefined),
  returns(
    'ALL_NEW of a REMOVE on a missing item returns nothing.',
    missing,
    'REMOVE a',
    'ALL_NEW',
    undefined,
    { embedded: 'dynoxide makes the item' },
  ),
])
