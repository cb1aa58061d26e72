import type { BatchWriteCommandInput } from '@aws-sdk/lib-dynamodb'
import { expect } from 'vitest'
import { accepts, type Case, check, conformance, refuses } from './conformance.ts'
import { outcomeOf, type Place, text, type WriteRequests } from './place.ts'

const puts = (place: Place, count: number, attributes = {}): WriteRequests =>
  Array.from({ length: count }, (_, i) => ({
    PutRequest: { Item: { ...place.key(`row${i}`), ...attributes } },
  }))

const keys = (place: Place, count: number) =>
  Array.from({ length: count }, (_, i) => place.key(`row${i}`))

const cases: readonly Case[] = [
  check('A batch puts and deletes.', async (place) => {
    await place.put({ sk: 'old' })
    const { UnprocessedItems } = await place.batchWrite([
      { PutRequest: { Item: { ...place.key('new'), n: 1 } } },
      { DeleteRequest: { Key: place.key('old') } },
      { DeleteRequest: { Key: place.key('missing') } },
    ])
    expect(UnprocessedItems ?? {}).toEqual({})
    expect(await place.attributes('new')).toEqual({ n: 1 })
    expect(await place.get('old')).toBeUndefined()
  }),
  check('A batch writes up to 25 items.', async (place) => {
    await place.batchWrite(puts(place, 25))
    expect(await place.get('row24')).toEqual(place.key('row24'))
  }),
  check('A batch of 26 writes is refused whole.', async (place) => {
    expect(await outcomeOf(place.batchWrite(puts(place, 26)))).toBe('ValidationException')
    expect(await place.get('row0')).toBeUndefined()
  }),
  refuses('A batch of no writes is refused.', (place) => place.batchWrite([])),
  refuses('A batch that writes one item twice is refused.', (place) =>
    place.batchWrite([
      { PutRequest: { Item: place.key() } },
      { DeleteRequest: { Key: place.key() } },
    ]),
  ),
  check('A batch with one item that is too large is refused whole.', async (place) => {
    const requests: WriteRequests = [
      { PutRequest: { Item: place.key('small') } },
      { PutRequest: { Item: { ...place.key('large'), a: text(400 * 1024) } } },
    ]
    expect(await outcomeOf(place.batchWrite(requests))).toBe('ValidationException')
    expect(await place.get('small')).toBeUndefined()
  }),
  check('A batch with an empty key is refused whole.', async (place) => {
    const requests: WriteRequests = [
      { PutRequest: { Item: place.key('good') } },
      { PutRequest: { Item: { pk: place.pk, sk: '' } } },
    ]
    expect(await outcomeOf(place.batchWrite(requests))).toBe('ValidationException')
    expect(await place.get('good')).toBeUndefined()
  }),
  check('A batch replaces items whole.', async (place) => {
    await place.put({ a: 1 })
    await place.batchWrite([{ PutRequest: { Item: { ...place.key(), b: 2 } } }])
    expect(await place.attributes()).toEqual({ b: 2 })
  }),
  check('A batch reads what is there, and leaves out what is not.', async (place) => {
    await place.put({ sk: 'a', n: 1 })
    await place.put({ sk: 'b', n: 2 })
    const Keys = ['a', 'missing', 'b'].map((sk) => place.key(sk))
    const output = await place.batchGet({ Keys, ConsistentRead: true })
    const numbers = output.Responses?.[place.table]?.map((item) => item.n)
    expect(numbers?.sort()).toEqual([1, 2])
    expect(output.UnprocessedKeys ?? {}).toEqual({})
  }),
  accepts('A batch reads up to 100 items.', (place) => place.batchGet({ Keys: keys(place, 100) })),
  refuses('A batch of 101 reads is refused.', (place) =>
    place.batchGet({ Keys: keys(place, 101) }),
  ),
  refuses('A batch that reads one item twice is refused.', (place) =>
    place.batchGet({ Keys: [place.key(), place.key()] }),
  ),
  check('A batch reads no more than 16 MB, and names the rest.', async (place) => {
    const a = text(390 * 1024)
    for (let i = 0; i < 45; i++) await place.put({ sk: `row${i}`, a })
    const output = await place.batchGet({ Keys: keys(place, 45), ConsistentRead: true })
    const read = output.Responses?.[place.table]?.length ?? 0
    const left = output.UnprocessedKeys?.[place.table]?.Keys?.length ?? 0
    expect(read + left).toBe(45)
    expect(read).toBe(42) // 42 × 390 KB = 16,380 KB
  }),
]

conformance('batches', cases, [
  {
    by: 'loses a write of each batch',
    network: {
      async deliver(request, apply) {
        const { RequestItems } = request.input as BatchWriteCommandInput
        if (request.name === 'BatchWriteCommand') Object.values(RequestItems ?? {})[0]?.shift()
        return apply()
      },
    },
    noticedBy: 'A batch puts and deletes.',
  },
])
