import { afterAll, beforeAll, expect, test } from 'vitest'
import { Random } from '../../../testing/random.ts'
import type { Item } from '../../../testing/simulated/dynamodb/values.ts'
import { itemSize } from '../../../testing/simulated/dynamodb/values.ts'
import { type Attributes, Place } from './place.ts'
import { type OpenStore, openStore, realStore } from './stores.ts'

/**
 * Both stores answer alike: we put together thousands of small updates and conditions at random
 * from parts that the engine uses, except those that the tables excuse. The
 * sequence is the same in every run; another seed can be given in PUSHPOP_SEED.
 */

const requestsMax = 1500
const seed = Number(process.env.PUSHPOP_SEED ?? 1)

const numberPaths = ['n', 'm.n', 'm.#five.n', 'gone', 'm.gone', 'list[0]', 'list[1].n']
const listPaths = ['list', 'm.list', 'm.#five.list', 'gone', 's']
const mapPaths = ['m', 'm.#five', 'm.#six', 'list[1]']
const allPaths = [...numberPaths, ...listPaths, ...mapPaths, 's', 'm.s', 't', 'x']
const comparators = ['=', '<>', '<', '<=', '>', '>=']
const values: Attributes = {
  ':one': 1,
  ':two': 2,
  ':minus': -30,
  ':text': 'text ü',
  ':more': ['more', 17],
  ':none': [],
  ':map': { n: 100, list: ['entry'], s: '' },
  ':bytes': new Uint8Array([1, 2, 3]),
}
const ordered = [':one', ':two', ':minus', ':text', ':bytes']
const names = { '#five': '5', '#six': '6' }

function randomCondition(random: Random, depth = 0): string {
  const inner = () => randomCondition(random, depth + 1)
  const kinds = depth > 1 ? 7 : 10
  switch (random.integer(kinds)) {
    case 0:
      return `attribute_exists(${random.pick(allPaths)})`
    case 1:
      return `attribute_not_exists(${random.pick(allPaths)})`
    case 2:
      return `size(${random.pick(listPaths)}) ${random.pick(comparators)} ${random.pick([':one', ':two'])}`
    case 3:
      return `${random.pick(allPaths)} BETWEEN :minus AND :two`
    case 4:
      return `contains(${random.pick(['list', 's', 'm.list', 'gone'])}, ${random.pick([':one', ':text'])})`
    case 5:
      return `${random.pick(allPaths)} = ${random.pick(Object.keys(values))}`
    case 6:
      return `${random.pick(allPaths)} ${random.pick(comparators)} ${random.pick(ordered)}`
    case 7:
      return `NOT ${inner()}`
    case 8:
      return `(${inner()} OR ${inner()})`
    default:
      return `${inner()} AND ${inner()}`
  }
}

function randomAction(random: Random): readonly ['SET' | 'REMOVE' | 'ADD', string] {
  const number = random.pick(numberPaths)
  const list = random.pick(listPaths)
  const path = random.pick(allPaths)
  switch (random.integer(11)) {
    case 0:
      return ['SET', `${number} = ${number} + :one`]
    case 1:
      return ['SET', `${number} = if_not_exists(${number}, :two) - :minus`]
    case 2:
      return ['SET', `${list} = list_append(${list}, :more)`]
    case 3:
      return ['SET', `${list} = list_append(if_not_exists(${list}, :none), :more)`]
    case 4:
      return ['SET', `${list} = list_append(:more, ${list})`]
    case 5:
      return ['SET', `${path} = ${random.pick(Object.keys(values))}`]
    case 6:
      return ['SET', `${path} = ${random.pick(allPaths)}`]
    case 7:
      return ['SET', `${random.pick(mapPaths)} = :map`]
    case 8:
      return ['REMOVE', random.pick(['n', 's', 't', 'x', 'list[0]', 'list[2]', 'gone'])]
    case 9:
      return ['ADD', `${random.pick(['n', 's', 'gone', 't'])} :two`]
    default:
      return ['SET', `m = :map`]
  }
}

function randomUpdate(random: Random): string {
  const sections = new Map<string, string[]>()
  const actions = random.pick([1, 1, 2, 3])
  for (let i = 0; i < actions; i++) {
    const [section, action] = randomAction(random)
    sections.set(section, [...(sections.get(section) ?? []), action])
  }
  return [...sections].map(([section, parts]) => `${section} ${parts.join(', ')}`).join(' ')
}

/** Only the placeholders the expressions use: others would be refused. */
function used(expressions: string, all: Attributes): Attributes | undefined {
  const entries = Object.entries(all).filter(([name]) =>
    new RegExp(`${name}(?![a-z])`).test(expressions),
  )
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

async function answerOf(place: Place, update: string, condition: string) {
  const both = `${update} ${condition}`
  const usedNames = used(both, names) as Record<string, string> | undefined
  const usedValues = used(both, values)
  try {
    const output = await place.update({
      UpdateExpression: update,
      ConditionExpression: condition,
      ReturnValues: 'ALL_NEW',
      ReturnConsumedCapacity: 'TOTAL',
      ...(usedNames && { ExpressionAttributeNames: usedNames }),
      ...(usedValues && { ExpressionAttributeValues: usedValues }),
    })
    const { pk: _pk, ...attributes } = output.Attributes ?? {}
    return { attributes, units: output.ConsumedCapacity?.CapacityUnits }
  } catch (error) {
    return { error: (error as Error).name }
  }
}

const stores: OpenStore[] = []
beforeAll(async () => {
  stores.push(await openStore('simulated'), await openStore(realStore))
})
afterAll(async () => {
  for (const store of stores) await store.close()
})

test(`both stores answer ${requestsMax} random updates alike (seed ${seed})`, async () => {
  const random = new Random(seed)
  const places = stores.map((store) => new Place(store))
  const beginning = {
    n: 1,
    s: 'text',
    t: true,
    list: [5, { n: 1 }, 'c'],
    m: { n: 2, list: [], '5': { n: 3, list: ['a'] } },
  }
  const outcomes = new Map<string, number>()
  for (let i = 0; i < requestsMax; i++) {
    if (i % 10 === 0) for (const place of places) await place.put(beginning)
    const update = randomUpdate(random)
    const condition = i % 2 === 0 ? randomCondition(random) : 'attribute_exists(sk)'
    const [simulated, embedded] = await Promise.all(
      places.map((place) => answerOf(place, update, condition)),
    )
    expect(simulated, `${update} IF ${condition}`).toEqual(embedded)
    const outcome = simulated?.error ?? 'ok'
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }
  // A generator that only makes nonsense would prove nothing.
  for (const outcome of ['ok', 'ConditionalCheckFailedException', 'ValidationException']) {
    expect(outcomes.get(outcome), outcome).toBeGreaterThan(requestsMax / 20)
  }
})

test('the size carried along is the size measured', async () => {
  const [simulated] = stores
  if (simulated === undefined) throw new Error('The store has not opened')
  const random = new Random(seed + 1)
  const place = new Place(simulated)
  const paddingMin = 1000
  for (let i = 0; i < 3000; i++) {
    if (i % 20 === 0) await place.put({ n: 1, list: [0, { n: 1 }], m: { '5': { list: [] } } })
    await answerOf(place, randomUpdate(random), 'attribute_exists(sk)')
    // Padding to exactly 4 KB takes 4 units, a byte more takes 5.
    const item = (await place.get()) as Item
    const { padding: _padding, ...bare } = item
    const room = 4 * 1024 - itemSize(bare) - 'padding'.length
    if (room < paddingMin) continue
    for (const [more, units] of [
      [0, 4],
      [1, 5],
    ] as const) {
      const { ConsumedCapacity } = await place.update({
        UpdateExpression: 'SET padding = :padding',
        ExpressionAttributeValues: { ':padding': 'x'.repeat(room + more) },
        ReturnConsumedCapacity: 'TOTAL',
      })
      expect(ConsumedCapacity?.CapacityUnits).toBe(units)
      await place.update({ UpdateExpression: 'REMOVE padding' })
    }
  }
})
