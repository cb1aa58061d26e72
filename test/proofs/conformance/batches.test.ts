import {
  BatchGetCommand,
  type BatchGetCommandInput,
  BatchWriteCommand,
  type BatchWriteCommandInput,
} from '@aws-sdk/lib-dynamodb'
import { expect } from 'vitest'
import { type Case, conformance } from './conformance.ts'
import { outcomeOf, type Place, text } from './place.ts'

interface BatchCase extends Case {
  readonly check: (place: Place) => Promise<void>
}

type WriteRequests = NonNullable<BatchWriteCommandInput['RequestItems']>[string]
type KeysRequest = NonNullable<BatchGetCommandInput['RequestItems']>[string]

const write = (place: Place, requests: WriteRequests) =>
  place.dynamodb.send(new BatchWriteCommand({ RequestItems: { [place.table]: requests } }))

const get = (place: Place, request: KeysRequest) =>
  place.dynamodb.send(new BatchGetCommand({ RequestItems: { [place.table]: request } }))

const puts = (place: Place, count: number, attributes = {}): WriteRequests =>
  Array.from({ length: count }, (_, i) => ({
    PutRequest: { Item: { ...place.key(`row${i}`), ...attributes } },
  }))

const cases: readonly BatchCase[] = [
  {
    says: 'A batch puts and deletes.',
    async check(place) {
      await place.put({ sk: 'old' })
      const { UnprocessedItems } = await write(place, [
        { PutRequest: { Item: { ...place.key('new'), n: 1 } } },
        { DeleteRequest: { Key: place.key('old') } },
        { DeleteRequest: { Key: place.key('missing') } },
      ])
      expect(UnprocessedItems ?? {}).toEqual({})
      expect(await place.attributes('new')).toEqual({ n: 1 })
      expect(await place.get('old')).toBeUndefined()
    },
  },
  {
    says: 'A batch writes up to 25 items.',
    async check(place) {
      await write(place, puts(place, 25))
      expect(await place.get('row24')).toEqual(place.key('row24'))
    },
  },
  {
    says: 'A batch of 26 writes is refused whole.',
    async check(place) {
      expect(await outcomeOf(write(place, puts(place, 26)))).toBe('ValidationException')
      expect(await place.get('row0')).toBeUndefined()
    },
  },
  {
    says: 'A batch of no writes is refused.',
    async check(place) {
      expect(await outcomeOf(write(place, []))).toBe('ValidationException')
    },
  },
  {
    says: 'A batch that writes one item twice is refused.',
    async check(place) {
      const requests: WriteRequests = [
        { PutRequest: { Item: place.key() } },
        { DeleteRequest: { Key: place.key() } },
      ]
      expect(await outcomeOf(write(place, requests))).toBe('ValidationException')
    },
  },
  {
    says: 'A batch with one item that is too large is refused whole.',
    async check(place) {
      const requests: WriteRequests = [
        { PutRequest: { Item: place.key('small') } },
        { PutRequest: { Item: { ...place.key('large'), a: text(400 * 1024) } } },
      ]
      expect(await outcomeOf(write(place, requests))).toBe('ValidationException')
      expect(await place.get('small')).toBeUndefined()
    },
  },
  {
    says: 'A batch with an empty key is refused whole.',
    async check(place) {
      const requests: WriteRequests = [
        { PutRequest: { Item: place.key('good') } },
        { PutRequest: { Item: { pk: place.pk, sk: '' } } },
      ]
      expect(await outcomeOf(write(place, requests))).toBe('ValidationException')
      expect(await place.get('good')).toBeUndefined()
    },
  },
  {
    says: 'A batch replaces items whole.',
    async check(place) {
      await place.put({ a: 1 })
      await write(place, [{ PutRequest: { Item: { ...place.key(), b: 2 } } }])
      expect(await place.attributes()).toEqual({ b: 2 })
    },
  },
  {
    says: 'A batch reads what is there, and leaves out what is not.',
    async check(place) {
      await place.put({ sk: 'a', n: 1 })
      await place.put({ sk: 'b', n: 2 })
      const Keys = ['a', 'missing', 'b'].map((sk) => place.key(sk))
      const output = await get(place, { Keys, ConsistentRead: true })
      const numbers = output.Responses?.[place.table]?.map((item) => item.n)
      expect(numbers?.sort()).toEqual([1, 2])
      expect(output.UnprocessedKeys ?? {}).toEqual({})
    },
  },
  {
    says: 'A batch reads up to 100 items.',
    async check(place) {
      const Keys = Array.from({ length: 100 }, (_, i) => place.key(`row${i}`))
      expect(await outcomeOf(get(place, { Keys }))).toBe('ok')
    },
  },
  {
    says: 'A batch of 101 reads is refused.',
    async check(place) {
      const Keys = Array.from({ length: 101 }, (_, i) => place.key(`row${i}`))
      expect(await outcomeOf(get(place, { Keys }))).toBe('ValidationException')
    },
  },
  {
    says: 'A batch that reads one item twice is refused.',
    async check(place) {
      const Keys = [place.key(), place.key()]
      expect(await outcomeOf(get(place, { Keys }))).toBe('ValidationException')
    },
  },
  {
    says: 'A batch reads no more than 16 MB, and names the rest.',
    async check(place) {
      const a = text(390 * 1024)
      for (let i = 0; i < 45; i++) await place.put({ sk: `row${i}`, a })
      const Keys = Array.from({ length: 45 }, (_, i) => place.key(`row${i}`))
      const output = await get(place, { Keys, ConsistentRead: true })
      const read = output.Responses?.[place.table]?.length ?? 0
      const left = output.UnprocessedKeys?.[place.table]?.Keys?.length ?? 0
      expect(read + left).toBe(45)
      expect(read).toBe(42) // 42 × 390 KB = 16,380 KB
    },
  },
  {
    says: 'A batch reads parts of items.',
    async check(place) {
      await place.put({ a: 1, b: 2 })
      const output = await get(place, {
        Keys: [place.key()],
        ProjectionExpression: 'b',
        ConsistentRead: true,
      })
      expect(output.Responses?.[place.table]).toEqual([{ b: 2 }])
    },
  },
]

conformance('batches', cases, (place, one) => one.check(place), [
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
