import { expect } from 'vitest'
import { type Case, check, conformance, type Differs } from './conformance.ts'
import { type Expression, x } from './expression.ts'
import { type Attributes, type Place, text } from './place.ts'

/** The price of a request: the simulation prices every mechanism this way. */

interface Consumed {
  readonly CapacityUnits?: number | undefined
  readonly Table?: { readonly CapacityUnits?: number | undefined } | undefined
  readonly GlobalSecondaryIndexes?:
    | Record<string, { readonly CapacityUnits?: number | undefined }>
    | undefined
}

/** Of a single request, or of a batch or transaction on one table. */
interface Answer {
  readonly ConsumedCapacity?: Consumed | readonly Consumed[] | undefined
}

type Request = (place: Place) => Promise<Answer>
/** Of the table alone, or of the indexes as well. */
type Units =
  | number
  | { readonly table: number; readonly check?: number; readonly directory?: number }

function takes(says: string, units: Units, request: Request, differs?: Differs): Case {
  const {
    table,
    check: inCheck = 0,
    directory = 0,
  } = typeof units === 'number' ? { table: units } : units
  const test = async (place: Place) => {
    const { ConsumedCapacity } = await request(place)
    const [consumed]: readonly (Consumed | undefined)[] = [ConsumedCapacity].flat()
    const indexes = consumed?.GlobalSecondaryIndexes ?? {}
    expect({
      total: consumed?.CapacityUnits,
      table: consumed?.Table?.CapacityUnits ?? 0,
      check: indexes.check?.CapacityUnits ?? 0,
      directory: indexes.directory?.CapacityUnits ?? 0,
    }).toEqual({ total: table + inCheck + directory, table, check: inCheck, directory })
  }
  return check(says, test, differs)
}

/** Bytes of `pk`, `sk` and their values. */
const keyBytes = (place: Place): number => 2 + place.pk.length + 2 + 'row'.length

/** An attribute `a` that brings an item of the case's key to so many bytes. */
const filled = (place: Place, bytes: number, otherBytes = 0): Attributes => ({
  a: text(bytes - keyBytes(place) - otherBytes - 1),
})

const kilobyte = 1024
const wanted = { ReturnConsumedCapacity: 'INDEXES' as const }

const putWith = (place: Place, attributes: Attributes) => place.put(attributes, wanted)

const updateWith = (place: Place, UpdateExpression: Expression) =>
  place.update({ UpdateExpression, ...wanted })

/** One case for each way a value is measured: the item is exactly full, and one byte more is not. */
function measured(what: string, value: unknown, bytes: number): Case[] {
  const request = (over: number) => (place: Place) =>
    putWith(place, { v: value, ...filled(place, kilobyte + over, 1 + bytes) })
  return [
    takes(`${what} takes ${bytes} bytes and no more.`, 1, request(0)),
    takes(`${what} takes ${bytes} bytes and no less.`, 2, request(1)),
  ]
}

conformance('sizes', [
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
  ...measured('A number of six digits', 123456, 4),
  ...measured('A fraction above one', 1.5, 3),
  ...measured('A fraction of many digits', 4.14159, 5),
  ...measured('A time with half a millisecond', 1_795_157_471_494.5, 9),
  ...measured('An empty list', [], 3),
  ...measured('An empty map', {}, 3),
  ...measured('A list of two strings', ['ab', 'cde'], 10),
  ...measured('A map of two names', { ab: 'x', c: true }, 10),
  ...measured('A list of lists', [[], []], 11),
  ...measured('Bytes in a list in a map', { l: [new Uint8Array(5)] }, 14),
])

const requests: readonly Case[] = [
  // Writes
  takes('A small write takes one unit.', 1, (place) => putWith(place, { a: 1 })),
  takes('Attribute names count as well.', 2, (place) => {
    const { a } = filled(place, kilobyte, 99)
    return putWith(place, { ['n'.repeat(100)]: a, b: '' })
  }),
  takes('A put over a larger item is billed by the larger one.', 5, async (place) => {
    await place.put(filled(place, 5 * kilobyte))
    return putWith(place, { a: 1 })
  }),
  takes('An update is billed by the whole item, not by what it changes.', 3, async (place) => {
    await place.put({ n: 1, ...filled(place, 3 * kilobyte - 10) })
    return updateWith(place, x`SET n = ${2}`)
  }),
  takes('An update that shrinks an item is billed by the item before.', 4, async (place) => {
    await place.put(filled(place, 4 * kilobyte))
    return updateWith(place, 'REMOVE a')
  }),
  takes('An update that makes an item grow is billed by the item after.', 4, async (place) => {
    await place.put({})
    return updateWith(place, x`SET a = ${filled(place, 4 * kilobyte).a}`)
  }),
  takes('Appending to a list adds one byte an entry.', 1, async (place) => {
    await place.put({ l: [], ...filled(place, kilobyte - 10, 4) })
    return updateWith(place, x`SET l = list_append(l, ${['abcd', 'efgh']})`)
  }),
  takes('Appending one byte too much to a list takes another unit.', 2, async (place) => {
    await place.put({ l: [], ...filled(place, kilobyte - 10, 4) })
    return updateWith(place, x`SET l = list_append(l, ${['abcd', 'efghi']})`)
  }),
  takes('Appending many times is measured as appending at once.', 1, async (place) => {
    await place.put({ l: ['0'], ...filled(place, kilobyte - 20, 4 + 2) })
    for (let i = 1; i <= 10; i++) {
      await updateWith(place, x`SET l = list_append(l, ${[`${i % 10}`]})`)
    }
    await updateWith(place, 'REMOVE l[1], l[0]')
    await updateWith(place, x`SET l[0] = ${''}, m = ${{}}`)
    await updateWith(place, x`SET m.k = ${''} REMOVE l[0]`)
    return updateWith(place, x`REMOVE m SET z = ${'abc'}`)
  }),
  takes('A delete is billed by the item it deletes.', 3, async (place) => {
    await place.put(filled(place, 2 * kilobyte + 1))
    return place.delete(wanted)
  }),
  takes('A delete of a missing item takes one unit.', 1, (place) => place.delete(wanted)),

  // Index writes
  takes(
    'An item that enters both indexes takes a unit in each.',
    { table: 1, check: 1, directory: 1 },
    (place) => putWith(place, { shard: place.shard, checkAt: 5 }),
  ),
  takes(
    'An item with half of an index key does not enter that index.',
    { table: 1, directory: 1 },
    (place) => putWith(place, { shard: place.shard }),
  ),
  takes('An update that changes no index key takes no unit in an index.', 1, async (place) => {
    await place.put({ shard: place.shard, checkAt: 5 })
    return updateWith(place, x`SET a = ${1}`)
  }),
  takes(
    'An update that sets an index key to what it was takes no unit there.',
    1,
    async (place) => {
      await place.put({ shard: place.shard, checkAt: 5 })
      return updateWith(place, x`SET checkAt = ${5}`)
    },
  ),
  takes(
    'An update that changes an index key takes two units there.',
    { table: 1, check: 2 },
    async (place) => {
      await place.put({ shard: place.shard, checkAt: 5 })
      return updateWith(place, x`SET checkAt = ${6}`)
    },
  ),
  takes(
    'An update that completes an index key takes one unit there.',
    { table: 1, check: 1 },
    async (place) => {
      await place.put({ shard: place.shard })
      return updateWith(place, x`SET checkAt = ${6}`)
    },
  ),
  takes(
    'An update that removes an index key takes one unit there.',
    { table: 1, check: 1 },
    async (place) => {
      await place.put({ shard: place.shard, checkAt: 5 })
      return updateWith(place, 'REMOVE checkAt')
    },
  ),
  takes(
    'A delete takes one unit in each index the item was in.',
    { table: 1, check: 1, directory: 1 },
    async (place) => {
      await place.put({ shard: place.shard, checkAt: 5 })
      return place.delete(wanted)
    },
  ),
  takes('Large items take one unit in an index of keys.', { table: 10, directory: 1 }, (place) =>
    putWith(place, { shard: place.shard, ...filled(place, 9 * kilobyte) }),
  ),

  // Transactions
  takes(
    'A transaction takes twice the units in the table, not in the indexes.',
    { table: 2, directory: 1 },
    async (place) => {
      const Item = { ...place.key(), shard: place.shard, ...filled(place, kilobyte - 50) }
      return place.transact([{ Put: { TableName: place.table, Item } }], wanted)
    },
  ),
  takes('A transaction rounds each item by itself.', 8, (place) =>
    place.transact(
      ['a', 'b'].map((sk) => ({
        Put: { TableName: place.table, Item: { ...place.key(sk), a: text(kilobyte) } },
      })),
      wanted,
    ),
  ),

  // Reads
  takes('A strong read takes one unit for each 4 KB.', 1, async (place) => {
    await place.put(filled(place, 4 * kilobyte))
    return place.read('row', wanted)
  }),
  takes('A strong read of one byte more takes two.', 2, async (place) => {
    await place.put(filled(place, 4 * kilobyte + 1))
    return place.read('row', wanted)
  }),
  takes('An eventually consistent read takes half of that.', 1, async (place) => {
    await place.put(filled(place, 4 * kilobyte + 1))
    return place.read('row', { ConsistentRead: false, ...wanted })
  }),
  takes('A read of a missing item takes half a unit.', 0.5, (place) =>
    place.read('row', { ConsistentRead: false, ...wanted }),
  ),
  takes('A strong read of a missing item takes a unit.', 1, (place) => place.read('row', wanted)),
  takes('A query adds up its items before it rounds.', 1, async (place) => {
    for (const sk of ['a', 'b', 'c']) await place.put({ sk, a: text(1000) })
    return place.query({ ConsistentRead: true, ...wanted })
  }),
  takes('A query of nothing takes half a unit.', 0.5, (place) => place.query(wanted)),
  takes('An index query is billed in the index.', { table: 0, check: 0.5 }, async (place) => {
    await place.put({ shard: place.shard, checkAt: 5, ...filled(place, 9 * kilobyte) })
    return place.inIndex('check', wanted)
  }),

  // Batches
  takes('A batch write is billed item by item.', 4, async (place) => {
    const requests = ['a', 'b'].map((sk) => ({
      PutRequest: { Item: { ...place.key(sk), a: text(kilobyte) } },
    }))
    return place.batchWrite(requests, wanted)
  }),
  takes('A batch read is billed item by item.', 4, async (place) => {
    await place.put({ sk: 'a', a: text(100) })
    await place.put({ sk: 'b', a: text(5000) })
    const Keys = ['a', 'b', 'missing'].map((sk) => place.key(sk))
    return place.batchGet({ Keys, ConsistentRead: true }, wanted)
  }),
]

conformance('capacity', requests, [
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
