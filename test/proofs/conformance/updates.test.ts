import { expect } from 'vitest'
import { type Case, conformance, tampering } from './conformance.ts'
import { type Attributes, expressionInput, outcomeOf, type Place } from './place.ts'

interface UpdateCase extends Case {
  /** The row before; without it there is none. */
  readonly item?: Attributes
  readonly update: string
  readonly names?: Record<string, string>
  readonly values?: Attributes
  /** The row after; `missing` if there is none; `invalid`, which leaves it as it was. */
  readonly expected: Attributes | 'invalid' | 'missing'
}

const cases: readonly UpdateCase[] = [
  // SET
  {
    says: 'SET makes an attribute.',
    item: { a: 1 },
    update: 'SET b = :b',
    values: { ':b': 'two' },
    expected: { a: 1, b: 'two' },
  },
  {
    says: 'SET replaces an attribute by one of another type.',
    item: { a: 1 },
    update: 'SET a = :a',
    values: { ':a': ['one'] },
    expected: { a: ['one'] },
  },
  {
    says: 'SET on a missing item makes the item.',
    update: 'SET a = :a',
    values: { ':a': 1 },
    expected: { a: 1 },
  },
  {
    says: 'SET stores every type of value as it was.',
    item: {},
    update: 'SET a = :a',
    values: { ':a': { s: 'ü', n: -1.5, t: true, x: null, l: [[], {}], b: new Uint8Array([0]) } },
    expected: { a: { s: 'ü', n: -1.5, t: true, x: null, l: [[], {}], b: new Uint8Array([0]) } },
  },
  {
    says: 'SET stores an empty string outside the keys.',
    item: {},
    update: 'SET a = :a',
    values: { ':a': '' },
    expected: { a: '' },
  },
  {
    says: 'SET copies another attribute.',
    item: { a: { x: 1 } },
    update: 'SET b = a',
    expected: { a: { x: 1 }, b: { x: 1 } },
  },
  {
    says: 'SET refuses to copy a missing attribute.',
    item: { a: 1 },
    update: 'SET b = gone',
    expected: 'invalid',
  },
  {
    says: 'Every right-hand side reads the item as it was before.',
    item: { a: 1, b: 2 },
    update: 'SET a = b, b = a',
    expected: { a: 2, b: 1 },
  },
  {
    says: 'SET adds to a number.',
    item: { n: 5 },
    update: 'SET n = n + :one',
    values: { ':one': 1 },
    expected: { n: 6 },
  },
  {
    says: 'SET subtracts an attribute from a value.',
    item: { n: 5 },
    update: 'SET m = :ten - n',
    values: { ':ten': 10 },
    expected: { n: 5, m: 5 },
  },
  {
    says: 'Decimals are added exactly.',
    item: { n: 0.1 },
    update: 'SET n = n + :n',
    values: { ':n': 0.2 },
    expected: { n: 0.3 },
  },
  {
    says: 'Arithmetic on text is refused.',
    item: { s: 'a' },
    update: 'SET s = s + :one',
    values: { ':one': 1 },
    expected: 'invalid',
  },
  {
    says: 'Arithmetic with a text value is refused.',
    item: { n: 1 },
    update: 'SET n = n + :text',
    values: { ':text': '1' },
    expected: 'invalid',
  },
  {
    says: 'Arithmetic on a missing number is refused.',
    item: {},
    update: 'SET n = n + :one',
    values: { ':one': 1 },
    expected: 'invalid',
  },
  {
    says: 'if_not_exists heals a missing number.',
    item: {},
    update: 'SET n = if_not_exists(n, :zero) + :one',
    values: { ':zero': 0, ':one': 1 },
    expected: { n: 1 },
  },
  {
    says: 'if_not_exists leaves a number that is there.',
    item: { n: 7 },
    update: 'SET n = if_not_exists(n, :zero)',
    values: { ':zero': 0 },
    expected: { n: 7 },
  },
  {
    says: 'if_not_exists takes null for a value.',
    item: { n: null },
    update: 'SET n = if_not_exists(n, :zero)',
    values: { ':zero': 0 },
    expected: { n: null },
  },
  {
    says: 'if_not_exists may look at another attribute.',
    item: { a: 1 },
    update: 'SET b = if_not_exists(a, :zero)',
    values: { ':zero': 0 },
    expected: { a: 1, b: 1 },
  },
  {
    says: 'SET reaches into a map.',
    item: { lanes: { '5': { head: 1, tail: [] } } },
    update: 'SET lanes.#five.head = :two',
    names: { '#five': '5' },
    values: { ':two': 2 },
    expected: { lanes: { '5': { head: 2, tail: [] } } },
  },
  {
    says: 'SET makes a missing name in a map.',
    item: { lanes: {} },
    update: 'SET lanes.#five = :lane',
    names: { '#five': '5' },
    values: { ':lane': { head: 0 } },
    expected: { lanes: { '5': { head: 0 } } },
  },
  {
    says: 'SET below a missing map is refused.',
    item: {},
    update: 'SET lanes.#five = :lane',
    names: { '#five': '5' },
    values: { ':lane': {} },
    expected: 'invalid',
  },
  {
    says: 'SET below a number is refused.',
    item: { lanes: 5 },
    update: 'SET lanes.#five = :lane',
    names: { '#five': '5' },
    values: { ':lane': {} },
    expected: 'invalid',
  },
  {
    says: 'SET below a null is refused.',
    item: { lanes: null },
    update: 'SET lanes.#five = :lane',
    names: { '#five': '5' },
    values: { ':lane': {} },
    expected: 'invalid',
    differs: { embedded: 'dynoxide makes a map of it' },
  },
  {
    says: 'ADD below a missing map is refused.',
    item: {},
    update: 'ADD m.n :one',
    values: { ':one': 1 },
    expected: 'invalid',
  },
  {
    says: 'SET below a map made in the same update is refused.',
    item: {},
    update: 'SET a = :map, b.c = :map',
    values: { ':map': {} },
    expected: 'invalid',
  },
  {
    says: 'SET of two names in one map keeps the others.',
    item: { m: { a: 1, b: 2, c: 3 } },
    update: 'SET m.a = :ten, m.b = :ten',
    values: { ':ten': 10 },
    expected: { m: { a: 10, b: 10, c: 3 } },
  },
  {
    says: 'SET replaces an entry of a list.',
    item: { l: ['a', 'b', 'c'] },
    update: 'SET l[1] = :x',
    values: { ':x': 'x' },
    expected: { l: ['a', 'x', 'c'] },
  },
  {
    says: 'SET beyond the end of a list appends.',
    item: { l: ['a'] },
    update: 'SET l[9] = :x',
    values: { ':x': 'x' },
    expected: { l: ['a', 'x'] },
    differs: { embedded: 'dynoxide pads the list with nulls' },
  },
  {
    says: 'SET right at the end of a list appends.',
    item: { l: ['a'] },
    update: 'SET l[1] = :x',
    values: { ':x': 'x' },
    expected: { l: ['a', 'x'] },
  },
  {
    says: 'SET reaches into a map in a list.',
    item: { held: [{ to: 1 }, { to: 2 }] },
    update: 'SET held[1].done = :yes',
    values: { ':yes': true },
    expected: { held: [{ to: 1 }, { to: 2, done: true }] },
  },
  {
    says: 'SET through an index into a map is refused.',
    item: { m: {} },
    update: 'SET m[0] = :x',
    values: { ':x': 1 },
    expected: 'invalid',
  },

  // list_append
  {
    says: 'list_append adds at the end.',
    item: { l: ['a'] },
    update: 'SET l = list_append(l, :more)',
    values: { ':more': ['b', 'c'] },
    expected: { l: ['a', 'b', 'c'] },
  },
  {
    says: 'list_append adds at the front.',
    item: { l: ['a'] },
    update: 'SET l = list_append(:more, l)',
    values: { ':more': ['b'] },
    expected: { l: ['b', 'a'] },
  },
  {
    says: 'list_append works below a map.',
    item: { lanes: { '5': { tail: ['a'] } } },
    update: 'SET lanes.#five.tail = list_append(lanes.#five.tail, :more)',
    names: { '#five': '5' },
    values: { ':more': ['b'] },
    expected: { lanes: { '5': { tail: ['a', 'b'] } } },
  },
  {
    says: 'list_append to a missing list is refused.',
    item: {},
    update: 'SET l = list_append(l, :more)',
    values: { ':more': ['b'] },
    expected: 'invalid',
  },
  {
    says: 'list_append with if_not_exists heals a missing list.',
    item: {},
    update: 'SET l = list_append(if_not_exists(l, :none), :more)',
    values: { ':none': [], ':more': ['b'] },
    expected: { l: ['b'] },
  },
  {
    says: 'if_not_exists does not heal a missing map above the list.',
    item: {},
    update: 'SET m.l = list_append(if_not_exists(m.l, :none), :more)',
    values: { ':none': [], ':more': ['b'] },
    expected: 'invalid',
  },
  {
    says: 'list_append to text is refused.',
    item: { l: 'a' },
    update: 'SET l = list_append(l, :more)',
    values: { ':more': ['b'] },
    expected: 'invalid',
  },
  {
    says: 'list_append of text is refused.',
    item: { l: ['a'] },
    update: 'SET l = list_append(l, :more)',
    values: { ':more': 'b' },
    expected: 'invalid',
  },
  {
    says: 'list_append of a list to itself doubles it.',
    item: { l: ['a', 'b'] },
    update: 'SET l = list_append(l, l)',
    expected: { l: ['a', 'b', 'a', 'b'] },
  },

  // REMOVE
  {
    says: 'REMOVE takes an attribute away.',
    item: { a: 1, b: 2 },
    update: 'REMOVE a',
    expected: { b: 2 },
  },
  {
    says: 'REMOVE of a missing attribute changes nothing.',
    item: { a: 1 },
    update: 'REMOVE gone',
    expected: { a: 1 },
  },
  {
    says: 'REMOVE on a missing item makes no item.',
    update: 'REMOVE a',
    expected: 'missing',
    differs: { embedded: 'dynoxide makes an item of nothing but its key' },
  },
  {
    says: 'REMOVE takes a name out of a map.',
    item: { m: { a: 1, b: 2 } },
    update: 'REMOVE m.a',
    expected: { m: { b: 2 } },
  },
  {
    says: 'REMOVE below a missing map is refused.',
    item: { a: 1 },
    update: 'REMOVE m.a',
    expected: 'invalid',
    differs: { embedded: 'dynoxide changes nothing' },
  },
  {
    says: 'REMOVE takes an entry out of a list, and the others move up.',
    item: { l: ['a', 'b', 'c'] },
    update: 'REMOVE l[1]',
    expected: { l: ['a', 'c'] },
  },
  {
    says: 'REMOVE beyond the end of a list changes nothing.',
    item: { l: ['a'] },
    update: 'REMOVE l[3]',
    expected: { l: ['a'] },
  },
  {
    says: 'REMOVE of several indexes, highest first, takes the entries of these indexes.',
    item: { l: ['a', 'b', 'c', 'd', 'e'] },
    update: 'REMOVE l[2], l[1], l[0]',
    expected: { l: ['d', 'e'] },
  },
  {
    says: 'REMOVE of several indexes, lowest first, means the places before the update.',
    item: { l: [0, 1, 2, 3, 4] },
    update: 'REMOVE l[0], l[1]',
    expected: { l: [2, 3, 4] },
    differs: { embedded: 'dynoxide removes one after another' },
  },
  {
    says: 'REMOVE of the last entry leaves an empty list.',
    item: { l: ['a'] },
    update: 'REMOVE l[0]',
    expected: { l: [] },
  },
  {
    says: 'SET and REMOVE in one list mean the places before the update.',
    item: { l: ['a', 'b', 'c'] },
    update: 'SET l[2] = :x REMOVE l[0]',
    values: { ':x': 'x' },
    expected: { l: ['b', 'x'] },
  },

  // ADD
  {
    says: 'ADD adds to a number.',
    item: { n: 5 },
    update: 'ADD n :minus',
    values: { ':minus': -7 },
    expected: { n: -2 },
  },
  {
    says: 'ADD makes a missing number.',
    item: {},
    update: 'ADD n :n',
    values: { ':n': 3 },
    expected: { n: 3 },
  },
  {
    says: 'ADD on a missing item makes the item.',
    update: 'ADD n :n, m :n',
    values: { ':n': 3 },
    expected: { n: 3, m: 3 },
  },
  {
    says: 'ADD to text is refused.',
    item: { s: 'a' },
    update: 'ADD s :n',
    values: { ':n': 3 },
    expected: 'invalid',
  },
  {
    says: 'ADD to null is refused.',
    item: { s: null },
    update: 'ADD s :n',
    values: { ':n': 3 },
    expected: 'invalid',
  },
  {
    says: 'ADD of text is refused.',
    item: { n: 1 },
    update: 'ADD n :n',
    values: { ':n': '3' },
    expected: 'invalid',
  },

  // Together
  {
    says: 'Sections stand in any order.',
    item: { a: 1, b: 2, n: 3 },
    update: 'ADD n :one REMOVE a SET b = :one',
    values: { ':one': 1 },
    expected: { b: 1, n: 4 },
  },
  {
    says: 'A section may stand only once.',
    item: { a: 1, b: 2 },
    update: 'SET a = :x SET b = :x',
    values: { ':x': 0 },
    expected: 'invalid',
  },
  {
    says: 'The same path twice is refused.',
    item: { a: 1 },
    update: 'SET a = :x, a = :x',
    values: { ':x': 0 },
    expected: 'invalid',
  },
  {
    says: 'The same path under two aliases is refused.',
    item: { a: 1 },
    update: 'SET #a = :x REMOVE #b',
    names: { '#a': 'a', '#b': 'a' },
    values: { ':x': 0 },
    expected: 'invalid',
  },
  {
    says: 'A path and what it contains overlap.',
    item: { m: { a: 1 } },
    update: 'SET m = :x, m.a = :x',
    values: { ':x': 0 },
    expected: 'invalid',
  },
  {
    says: 'A map and a list in one place conflict.',
    item: { m: { a: 1 } },
    update: 'SET m.a = :x, m[0] = :x',
    values: { ':x': 0 },
    expected: 'invalid',
  },
  {
    says: 'The partition key cannot be updated.',
    item: {},
    update: 'SET pk = :x',
    values: { ':x': 'other' },
    expected: 'invalid',
  },
  {
    says: 'The sort key cannot be removed.',
    item: {},
    update: 'REMOVE sk',
    expected: 'invalid',
  },
  {
    says: 'An update that fails halfway changes nothing.',
    item: { a: 1 },
    update: 'SET a = :x, b = gone',
    values: { ':x': 2 },
    expected: 'invalid',
  },
]

async function run(place: Place, one: UpdateCase): Promise<void> {
  if (one.item !== undefined) await place.put(one.item)
  const outcome = await outcomeOf(
    place.update({ UpdateExpression: one.update, ...expressionInput(one) }),
  )
  expect(outcome).toBe(one.expected === 'invalid' ? 'ValidationException' : 'ok')
  expect(await place.attributes()).toEqual(rowAfter(one))
}

function rowAfter({ expected, item }: UpdateCase): Attributes | undefined {
  if (expected === 'missing') return undefined
  return expected === 'invalid' ? item : expected
}

conformance('updates', cases, run, [
  {
    by: 'takes an ADD for a SET',
    network: tampering((input) => {
      if (input.UpdateExpression === 'ADD n :minus') input.UpdateExpression = 'SET n = :minus'
    }),
    noticedBy: 'ADD adds to a number.',
  },
])

interface ReturnCase extends Case {
  readonly item?: Attributes
  readonly update?: string
  readonly values?: Attributes
  readonly returns: 'ALL_OLD' | 'ALL_NEW' | 'UPDATED_OLD' | 'UPDATED_NEW' | 'NONE'
  /** Without the key, which ALL_… adds. */
  readonly expected: Attributes | undefined
}

const before = { a: 1, m: { x: 1, y: 2 }, l: ['a', 'b', 'c'] }

const returns: readonly ReturnCase[] = [
  {
    says: 'ALL_NEW returns the whole item after.',
    item: { a: 1, b: 2 },
    update: 'SET a = :x',
    values: { ':x': 5 },
    returns: 'ALL_NEW',
    expected: { a: 5, b: 2 },
  },
  {
    says: 'ALL_OLD returns the whole item before.',
    item: { a: 1, b: 2 },
    update: 'SET a = :x',
    values: { ':x': 5 },
    returns: 'ALL_OLD',
    expected: { a: 1, b: 2 },
  },
  {
    says: 'ALL_OLD of a missing item returns nothing.',
    update: 'SET a = :x',
    values: { ':x': 5 },
    returns: 'ALL_OLD',
    expected: undefined,
    differs: { embedded: 'dynoxide returns the key' },
  },
  {
    says: 'ALL_NEW without an update expression returns the item as it is.',
    item: { a: 1 },
    returns: 'ALL_NEW',
    expected: { a: 1 },
  },
  {
    says: 'NONE returns nothing.',
    item: { a: 1 },
    update: 'SET a = :x',
    values: { ':x': 5 },
    returns: 'NONE',
    expected: undefined,
  },
  {
    says: 'UPDATED_NEW returns what was set.',
    item: before,
    update: 'SET a = :x, b = :x',
    values: { ':x': 5 },
    returns: 'UPDATED_NEW',
    expected: { a: 5, b: 5 },
  },
  {
    says: 'UPDATED_OLD returns what was there before.',
    item: before,
    update: 'SET a = :x, b = :x',
    values: { ':x': 5 },
    returns: 'UPDATED_OLD',
    expected: { a: 1 },
  },
  {
    says: 'UPDATED_NEW of a name in a map returns no other names.',
    item: before,
    update: 'SET m.x = :x',
    values: { ':x': 5 },
    returns: 'UPDATED_NEW',
    expected: { m: { x: 5 } },
  },
  {
    says: 'UPDATED_OLD of what was removed returns it.',
    item: before,
    update: 'REMOVE a',
    returns: 'UPDATED_OLD',
    expected: { a: 1 },
  },
  {
    says: 'UPDATED_NEW of what was removed returns nothing.',
    item: before,
    update: 'REMOVE a',
    returns: 'UPDATED_NEW',
    expected: undefined,
  },
  {
    says: 'UPDATED_NEW of an entry of a list returns no other entries.',
    item: before,
    update: 'SET l[1] = :x',
    values: { ':x': 5 },
    returns: 'UPDATED_NEW',
    expected: { l: [5] },
    differs: { embedded: 'dynoxide returns the whole list' },
  },
  {
    says: 'UPDATED_OLD of a removed entry of a list returns it.',
    item: before,
    update: 'REMOVE l[1], l[3]',
    returns: 'UPDATED_OLD',
    expected: { l: ['b'] },
    differs: { embedded: 'dynoxide returns the whole list' },
  },
  {
    says: 'UPDATED_OLD of what was not there returns nothing.',
    item: before,
    update: 'SET b = :x',
    values: { ':x': 5 },
    returns: 'UPDATED_OLD',
    expected: undefined,
  },
  {
    says: 'UPDATED_NEW on a missing item returns what was set, without the key.',
    update: 'SET a = :x',
    values: { ':x': 5 },
    returns: 'UPDATED_NEW',
    expected: { a: 5 },
  },
  {
    says: 'ALL_NEW of a REMOVE on a missing item returns nothing.',
    update: 'REMOVE a',
    returns: 'ALL_NEW',
    expected: undefined,
    differs: { embedded: 'dynoxide makes the item' },
  },
  {
    says: 'UPDATED_NEW of an ADD returns the sum.',
    item: before,
    update: 'ADD a :x',
    values: { ':x': 5 },
    returns: 'UPDATED_NEW',
    expected: { a: 6 },
  },
]

conformance('what an update returns', returns, async (place, one) => {
  if (one.item !== undefined) await place.put(one.item)
  const { Attributes } = await place.update({
    ReturnValues: one.returns,
    ...(one.update !== undefined && { UpdateExpression: one.update }),
    ...expressionInput(one),
  })
  const whole = one.returns === 'ALL_NEW' || one.returns === 'ALL_OLD'
  const key = whole && one.expected !== undefined ? place.key() : {}
  expect(Attributes).toEqual(one.expected === undefined ? undefined : { ...key, ...one.expected })
})
