import {
  BatchGetCommand,
  BatchWriteCommand,
  DeleteCommand,
  GetCommand,
  TransactWriteCommand,
} from '@aws-sdk/lib-dynamodb'
import { expect } from 'vitest'
import { type Case, conformance } from './conformance.ts'
import { type Attributes, type Place, text } from './place.ts'

/** What a request costs: the simulation prices every mechanism with these. */

interface Consumed {
  readonly CapacityUnits?: number | undefined
  readonly Table?: { readonly CapacityUnits?: number | undefined } | undefined
  readonly GlobalSecondaryIndexes?:
    | Record<string, { readonly CapacityUnits?: number | undefined }>
    | undefined
}

interface Units {
  readonly table: number
  readonly check?: number
  readonly directory?: number
}

interface CapacityCase extends Case {
  readonly request: (place: Place) => Promise<Consumed | undefined>
  readonly units: Units
}

/** Bytes of `pk`, `sk` and their values. */
const keyBytes = (place: Place): number => 2 + place.pk.length + 2 + 'row'.length

/** An attribute `a` that brings an item of the case's key to so many bytes. */
const filled = (place: Place, bytes: number, otherBytes = 0): Attributes => ({
  a: text(bytes - keyBytes(place) - otherBytes - 1),
})

const kilobyte = 1024
const wanted = { ReturnConsumedCapacity: 'INDEXES' as const }

async function putConsumed(place: Place, attributes: Attributes): Promise<Consumed | undefined> {
  return (await place.put(attributes, wanted)).ConsumedCapacity
}

async function getConsumed(place: Place, ConsistentRead: boolean): Promise<Consumed | undefined> {
  const input = { TableName: place.table, Key: place.key(), ConsistentRead, ...wanted }
  return (await place.dynamodb.send(new GetCommand(input))).ConsumedCapacity
}

async function updateConsumed(
  place: Place,
  update: string,
  values?: Attributes,
): Promise<Consumed | undefined> {
  const output = await place.update({
    UpdateExpression: update,
    ...(values && { ExpressionAttributeValues: values }),
    ...wanted,
  })
  return output.ConsumedCapacity
}

/** One case for each way a value is measured: the item is exactly full, and one byte more is not. */
function measured(what: string, value: unknown, bytes: number, more: Partial<Case> = {}) {
  const says = (end: string) => `${what} takes ${bytes} bytes${end}`
  const request = (over: number) => (place: Place) =>
    putConsumed(place, { v: value, ...filled(place, kilobyte + over, 1 + bytes) })
  return [
    { says: says(' and no more.'), request: request(0), units: { table: 1 }, ...more },
    { says: says(' and no less.'), request: request(1), units: { table: 2 }, ...more },
  ]
}

const sizes: readonly CapacityCase[] = [
  ...measured('Plain text', 'abcd', 4),
  ...measured('Text beyond ASCII', 'üñ€', 7),
  ...measured('Text beyond the basic plane', '\u{1f600}', 4),
  ...measured('An empty string', '', 0),
  ...measured('Bytes', new Uint8Array(7), 7),
  ...measured('A boolean', true, 1),
  ...measured('A null', null, 1),
  ...measured('A zero', 0, 1),
  ...measured('A number of one digit', 7, 2),
  ...measured('A number of two digits', 42, 2),
  ...measured('A number of four digits', 1234, 3),
  ...measured('A negative number', -42, 3),
  ...measured('A number with zeros at its end', 120000, 2),
  ...measured('A time in milliseconds', 1_790_000_000_123, 8),
  ...measured('A fraction', 0.25, 2),
  ...measured('An empty list', [], 3),
  ...measured('An empty map', {}, 3),
  ...measured('A list of two strings', ['ab', 'cde'], 10),
  ...measured('A map of two names', { ab: 'x', c: true }, 10),
  ...measured('A list of lists', [[], []], 11),
  ...measured('Bytes in a list in a map', { l: [new Uint8Array(5)] }, 14),
]

const requests: readonly CapacityCase[] = [
  // Writes
  {
    says: 'A small write takes one unit.',
    request: (place) => putConsumed(place, { a: 1 }),
    units: { table: 1 },
  },
  {
    says: 'Attribute names count as well.',
    request: (place) => {
      const { a } = filled(place, kilobyte, 99)
      return putConsumed(place, { ['n'.repeat(100)]: a, b: '' })
    },
    units: { table: 2 },
  },
  {
    says: 'A put over a larger item is billed by the larger one.',
    async request(place) {
      await place.put(filled(place, 5 * kilobyte))
      return putConsumed(place, { a: 1 })
    },
    units: { table: 5 },
  },
  {
    says: 'An update is billed by the whole item, not by what it changes.',
    async request(place) {
      await place.put({ n: 1, ...filled(place, 3 * kilobyte - 10) })
      return updateConsumed(place, 'SET n = :n', { ':n': 2 })
    },
    units: { table: 3 },
  },
  {
    says: 'An update that shrinks an item is billed by the item before.',
    async request(place) {
      await place.put(filled(place, 4 * kilobyte))
      return updateConsumed(place, 'REMOVE a')
    },
    units: { table: 4 },
  },
  {
    says: 'An update that makes an item grow is billed by the item after.',
    async request(place) {
      await place.put({})
      return updateConsumed(place, 'SET a = :a', { ':a': filled(place, 4 * kilobyte).a })
    },
    units: { table: 4 },
  },
  {
    says: 'Appending to a list adds one byte an entry.',
    async request(place) {
      await place.put({ l: [], ...filled(place, kilobyte - 10, 4) })
      return updateConsumed(place, 'SET l = list_append(l, :more)', { ':more': ['abcd', 'efgh'] })
    },
    units: { table: 1 },
  },
  {
    says: 'Appending one byte too much to a list takes another unit.',
    async request(place) {
      await place.put({ l: [], ...filled(place, kilobyte - 10, 4) })
      return updateConsumed(place, 'SET l = list_append(l, :more)', { ':more': ['abcd', 'efghi'] })
    },
    units: { table: 2 },
  },
  {
    says: 'Appending many times is measured as appending at once.',
    async request(place) {
      await place.put({ l: ['0'], ...filled(place, kilobyte - 20, 4 + 2) })
      for (let i = 1; i <= 10; i++) {
        await updateConsumed(place, 'SET l = list_append(l, :more)', { ':more': [`${i % 10}`] })
      }
      await updateConsumed(place, 'REMOVE l[1], l[0]')
      await updateConsumed(place, 'SET l[0] = :x, m = :m', { ':x': '', ':m': {} })
      await updateConsumed(place, 'SET m.k = :k REMOVE l[0]', { ':k': '' })
      return updateConsumed(place, 'REMOVE m SET z = :z', { ':z': 'abc' })
    },
    units: { table: 1 },
  },
  {
    says: 'A delete is billed by the item it deletes.',
    async request(place) {
      await place.put(filled(place, 2 * kilobyte + 1))
      const Key = place.key()
      const command = new DeleteCommand({ TableName: place.table, Key, ...wanted })
      return (await place.dynamodb.send(command)).ConsumedCapacity
    },
    units: { table: 3 },
  },
  {
    says: 'A delete of a missing item takes one unit.',
    async request(place) {
      const Key = place.key()
      const command = new DeleteCommand({ TableName: place.table, Key, ...wanted })
      return (await place.dynamodb.send(command)).ConsumedCapacity
    },
    units: { table: 1 },
  },

  // Index writes
  {
    says: 'An item that enters both indexes takes a unit in each.',
    request: (place) => putConsumed(place, { shard: place.shard, checkAt: 5 }),
    units: { table: 1, check: 1, directory: 1 },
  },
  {
    says: 'An item with half of an index key does not enter that index.',
    request: (place) => putConsumed(place, { shard: place.shard }),
    units: { table: 1, directory: 1 },
  },
  {
    says: 'An update that changes no index key takes no unit in an index.',
    async request(place) {
      await place.put({ shard: place.shard, checkAt: 5 })
      return updateConsumed(place, 'SET a = :a', { ':a': 1 })
    },
    units: { table: 1 },
  },
  {
    says: 'An update that sets an index key to what it was takes no unit there.',
    async request(place) {
      await place.put({ shard: place.shard, checkAt: 5 })
      return updateConsumed(place, 'SET checkAt = :at', { ':at': 5 })
    },
    units: { table: 1 },
  },
  {
    says: 'An update that changes an index key takes two units there.',
    async request(place) {
      await place.put({ shard: place.shard, checkAt: 5 })
      return updateConsumed(place, 'SET checkAt = :at', { ':at': 6 })
    },
    units: { table: 1, check: 2 },
  },
  {
    says: 'An update that completes an index key takes one unit there.',
    async request(place) {
      await place.put({ shard: place.shard })
      return updateConsumed(place, 'SET checkAt = :at', { ':at': 6 })
    },
    units: { table: 1, check: 1 },
  },
  {
    says: 'An update that removes an index key takes one unit there.',
    async request(place) {
      await place.put({ shard: place.shard, checkAt: 5 })
      return updateConsumed(place, 'REMOVE checkAt')
    },
    units: { table: 1, check: 1 },
  },
  {
    says: 'A delete takes one unit in each index the item was in.',
    async request(place) {
      await place.put({ shard: place.shard, checkAt: 5 })
      const Key = place.key()
      const command = new DeleteCommand({ TableName: place.table, Key, ...wanted })
      return (await place.dynamodb.send(command)).ConsumedCapacity
    },
    units: { table: 1, check: 1, directory: 1 },
  },
  {
    says: 'Large items take one unit in an index of keys.',
    request: (place) => putConsumed(place, { shard: place.shard, ...filled(place, 9 * kilobyte) }),
    units: { table: 10, directory: 1 },
  },

  // Transactions
  {
    says: 'A transaction takes twice the units in the table, not in the indexes.',
    async request(place) {
      const Item = { ...place.key(), shard: place.shard, ...filled(place, kilobyte - 50) }
      return transacted(place, [{ Put: { TableName: place.table, Item } }])
    },
    units: { table: 2, directory: 1 },
  },
  {
    says: 'A transaction rounds each item by itself.',
    request: (place) =>
      transacted(
        place,
        ['a', 'b'].map((sk) => ({
          Put: { TableName: place.table, Item: { ...place.key(sk), a: text(kilobyte) } },
        })),
      ),
    units: { table: 8 },
  },

  // Reads
  {
    says: 'A strong read takes one unit for each 4 KB.',
    async request(place) {
      await place.put(filled(place, 4 * kilobyte))
      return getConsumed(place, true)
    },
    units: { table: 1 },
  },
  {
    says: 'A strong read of one byte more takes two.',
    async request(place) {
      await place.put(filled(place, 4 * kilobyte + 1))
      return getConsumed(place, true)
    },
    units: { table: 2 },
  },
  {
    says: 'An eventually consistent read takes half of that.',
    async request(place) {
      await place.put(filled(place, 4 * kilobyte + 1))
      return getConsumed(place, false)
    },
    units: { table: 1 },
  },
  {
    says: 'A read of a missing item takes half a unit.',
    request: (place) => getConsumed(place, false),
    units: { table: 0.5 },
  },
  {
    says: 'A strong read of a missing item takes a unit.',
    request: (place) => getConsumed(place, true),
    units: { table: 1 },
  },
  {
    says: 'A projection is billed as the whole item.',
    async request(place) {
      await place.put(filled(place, 9 * kilobyte))
      const input = { TableName: place.table, Key: place.key(), ConsistentRead: true, ...wanted }
      const command = new GetCommand({ ...input, ProjectionExpression: 'sk' })
      return (await place.dynamodb.send(command)).ConsumedCapacity
    },
    units: { table: 3 },
    differs: { embedded: 'dynoxide bills what is returned' },
  },
  {
    says: 'A query adds up its items before it rounds.',
    async request(place) {
      for (const sk of ['a', 'b', 'c']) await place.put({ sk, a: text(1000) })
      return queried(place, { ConsistentRead: true })
    },
    units: { table: 1 },
  },
  {
    says: 'A query of nothing takes half a unit.',
    request: (place) => queried(place, {}),
    units: { table: 0.5 },
  },
  {
    says: 'A query is billed for what its filter drops.',
    async request(place) {
      for (const sk of ['a', 'b', 'c']) await place.put({ sk, a: text(5000), n: 1 })
      return queried(place, {
        FilterExpression: 'n = :two',
        ExpressionAttributeValues: { ':pk': place.pk, ':two': 2 },
      })
    },
    units: { table: 2 },
  },
  {
    says: 'An index query is billed in the index.',
    async request(place) {
      await place.put({ shard: place.shard, checkAt: 5, ...filled(place, 9 * kilobyte) })
      const output = await place.query({
        IndexName: 'check',
        KeyConditionExpression: '#shard = :shard',
        ExpressionAttributeNames: { '#shard': 'shard' },
        ExpressionAttributeValues: { ':shard': place.shard },
        ...wanted,
      })
      return output.ConsumedCapacity
    },
    units: { table: 0, check: 0.5 },
  },

  // Batches
  {
    says: 'A batch write is billed item by item.',
    async request(place) {
      const requests = ['a', 'b'].map((sk) => ({
        PutRequest: { Item: { ...place.key(sk), a: text(kilobyte) } },
      }))
      const RequestItems = { [place.table]: requests }
      const command = new BatchWriteCommand({ RequestItems, ...wanted })
      return (await place.dynamodb.send(command)).ConsumedCapacity?.[0]
    },
    units: { table: 4 },
  },
  {
    says: 'A batch read is billed item by item.',
    async request(place) {
      await place.put({ sk: 'a', a: text(100) })
      await place.put({ sk: 'b', a: text(5000) })
      const Keys = ['a', 'b', 'missing'].map((sk) => place.key(sk))
      const RequestItems = { [place.table]: { Keys, ConsistentRead: true } }
      const command = new BatchGetCommand({ RequestItems, ...wanted })
      return (await place.dynamodb.send(command)).ConsumedCapacity?.[0]
    },
    units: { table: 4 },
  },
]

type Actions = ConstructorParameters<typeof TransactWriteCommand>[0]['TransactItems']

async function transacted(place: Place, actions: Actions): Promise<Consumed | undefined> {
  const command = new TransactWriteCommand({ TransactItems: actions, ...wanted })
  return (await place.dynamodb.send(command)).ConsumedCapacity?.[0]
}

async function queried(
  place: Place,
  more: Parameters<Place['query']>[0],
): Promise<Consumed | undefined> {
  const output = await place.query({
    KeyConditionExpression: 'pk = :pk',
    ExpressionAttributeValues: { ':pk': place.pk },
    ...more,
    ...wanted,
  })
  return output.ConsumedCapacity
}

async function run(place: Place, one: CapacityCase): Promise<void> {
  const consumed = await one.request(place)
  const { table, check = 0, directory = 0 } = one.units
  const indexes = consumed?.GlobalSecondaryIndexes ?? {}
  expect({
    total: consumed?.CapacityUnits,
    table: consumed?.Table?.CapacityUnits ?? 0,
    check: indexes.check?.CapacityUnits ?? 0,
    directory: indexes.directory?.CapacityUnits ?? 0,
  }).toEqual({ total: table + check + directory, table, check, directory })
}

conformance('sizes', sizes, run)
conformance('capacity', requests, run, [
  {
    by: 'bills transactions like plain writes',
    network: {
      async deliver(request, apply) {
        const output = apply()
        if (request.name === 'TransactWriteCommand') halve(output)
        return output
      },
    },
    noticedBy: 'A transaction rounds each item by itself.',
  },
])

function halve(output: unknown): void {
  const { ConsumedCapacity = [] } = output as { ConsumedCapacity?: { CapacityUnits: number }[] }
  for (const capacity of ConsumedCapacity) capacity.CapacityUnits /= 2
}
