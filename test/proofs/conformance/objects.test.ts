import {
  DeleteObjectsCommand,
  GetObjectCommand,
  NoSuchBucket,
  NoSuchKey,
  PutObjectCommand,
  type PutObjectCommandInput,
} from '@aws-sdk/client-s3'
import { expect } from 'vitest'
import { type Case, check, conformance, type Differs } from './conformance.ts'
import { errorOf, outcomeOf, type Place } from './place.ts'

function objectsOf(place: Place) {
  const { s3, bucket: Bucket } = place.store
  const nameOf = (name: string) => place.objectKey(name)
  return {
    put: (name: string, Body: string | Uint8Array, more: Partial<PutObjectCommandInput> = {}) =>
      s3.send(new PutObjectCommand({ Bucket, Key: nameOf(name), Body, ...more })),
    async get(name: string, Range?: string) {
      const input = { Bucket, Key: nameOf(name), ...(Range !== undefined && { Range }) }
      const { Body } = await s3.send(new GetObjectCommand(input))
      return Body?.transformToByteArray()
    },
    deleteMany: (names: readonly string[]) => {
      const Objects = names.map((name) => ({ Key: nameOf(name) }))
      return s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }))
    },
    getElsewhere: () =>
      s3.send(new GetObjectCommand({ Bucket: `${Bucket}-elsewhere-9f3b`, Key: 'any' })),
    nameOf,
  }
}

const holds = (
  says: string,
  test: (objects: ReturnType<typeof objectsOf>) => Promise<void>,
  differs?: Differs,
) => check(says, (place) => test(objectsOf(place)), differs)

const bytes = (...values: number[]) => new Uint8Array(values)

const cases: readonly Case[] = [
  holds('An object comes back as the bytes it was.', async ({ put, get }) => {
    const every = Uint8Array.from({ length: 256 }, (_, i) => i)
    await put('every', every)
    expect(new Uint8Array((await get('every')) ?? [])).toEqual(every)
  }),
  holds('A string is stored as UTF-8.', async ({ put, get }) => {
    await put('text', 'ü')
    expect(new Uint8Array((await get('text')) ?? [])).toEqual(bytes(0xc3, 0xbc))
  }),
  holds('An empty object is an object.', async ({ put, get }) => {
    await put('empty', bytes())
    expect((await get('empty'))?.byteLength).toBe(0)
  }),
  holds('A missing object is NoSuchKey.', async ({ get }) => {
    const error = await errorOf(get('missing'))
    expect(error).toBeInstanceOf(NoSuchKey)
    expect((error as NoSuchKey).$metadata.httpStatusCode).toBe(404)
  }),
  holds('A missing bucket is NoSuchBucket.', async ({ getElsewhere }) => {
    const error = await errorOf(getElsewhere())
    expect([error instanceof NoSuchBucket, error.name]).toContain('NoSuchBucket')
  }),
  holds('A second put replaces the first.', async ({ put, get }) => {
    await put('twice', bytes(1, 2, 3))
    await put('twice', bytes(4))
    expect(new Uint8Array((await get('twice')) ?? [])).toEqual(bytes(4))
  }),
  holds('A deleted object is gone.', async (objects) => {
    await objects.put('gone', bytes(1))
    await objects.deleteMany(['gone'])
    expect(await outcomeOf(objects.get('gone'))).toBe('NoSuchKey')
  }),
  holds('Deleting a missing object succeeds.', async (objects) => {
    expect(await outcomeOf(objects.deleteMany(['missing']))).toBe('ok')
  }),
  holds('Several objects can be deleted at once, missing ones too.', async (objects) => {
    await objects.put('a', bytes(1))
    await objects.put('b', bytes(2))
    await objects.put('c', bytes(3))
    const { Deleted, Errors } = await objects.deleteMany(['a', 'b', 'missing'])
    expect(Errors ?? []).toEqual([])
    const deleted = Deleted?.map((one) => one.Key).sort()
    expect(deleted).toEqual(['a', 'b', 'missing'].map(objects.nameOf))
    expect(await outcomeOf(objects.get('a'))).toBe('NoSuchKey')
    expect(await outcomeOf(objects.get('c'))).toBe('ok')
  }),
  holds('Keys may hold what a queue name may not.', async ({ put, get }) => {
    for (const name of ['a b', 'ü', 'a%2Fb', 'a+b', 'dir', 'dir/child']) {
      await put(name, name)
      expect(Buffer.from((await get(name)) ?? []).toString()).toBe(name)
    }
  }),
  holds(
    'What is put is copied: changing the bytes later changes nothing.',
    async ({ put, get }) => {
      const body = bytes(1, 2, 3)
      await put('copied', body)
      body[0] = 9
      const read = (await get('copied')) ?? bytes()
      expect(read[0]).toBe(1)
      read[0] = 8
      expect((await get('copied'))?.[0]).toBe(1)
    },
  ),
  holds('A range is read by its first and its last byte.', async ({ put, get }) => {
    await put('ranged', bytes(0, 1, 2, 3, 4))
    expect(new Uint8Array((await get('ranged', 'bytes=1-3')) ?? [])).toEqual(bytes(1, 2, 3))
    expect(new Uint8Array((await get('ranged', 'bytes=3-9')) ?? [])).toEqual(bytes(3, 4))
  }),
  holds(
    'A range may be the first byte alone.',
    async ({ put, get }) => {
      await put('ranged', bytes(5, 6, 7))
      expect(new Uint8Array((await get('ranged', 'bytes=0-0')) ?? [])).toEqual(bytes(5))
    },
    { embedded: 's3rver returns the whole object' },
  ),
  holds('A range that begins at the end is InvalidRange.', async ({ put, get }) => {
    await put('ranged', bytes(5, 6, 7))
    expect(await outcomeOf(get('ranged', 'bytes=3-4'))).toBe('InvalidRange')
  }),
  holds(
    'A put that wants to be the first is refused if there is an object.',
    async ({ put, get }) => {
      await put('first', bytes(1), { IfNoneMatch: '*' })
      const second = put('first', bytes(2), { IfNoneMatch: '*' })
      expect(await outcomeOf(second)).toBe('PreconditionFailed')
      expect(new Uint8Array((await get('first')) ?? [])).toEqual(bytes(1))
    },
    { embedded: 's3rver ignores If-None-Match' },
  ),
  holds(
    'A body that does not match its checksum is refused.',
    async ({ put, get }) => {
      const wrong = put('checked', bytes(1), { ChecksumCRC32: 'AAAAAA==' })
      expect(await outcomeOf(wrong)).toBe('BadDigest')
      expect(await outcomeOf(get('checked'))).toBe('NoSuchKey')
    },
    { embedded: 's3rver checks no checksum', simulated: 'it knows none, and says so' },
  ),
  holds('A large object is stored whole.', async ({ put, get }) => {
    await put('large', new Uint8Array(3_000_000).fill(7))
    const read = await get('large')
    expect([read?.byteLength, read?.[2_999_999]]).toEqual([3_000_000, 7])
  }),
]

conformance('objects', cases, [
  {
    by: 'says that what it cannot find is empty',
    network: {
      async deliver(_request, apply) {
        try {
          return apply()
        } catch {
          return {} as ReturnType<typeof apply>
        }
      },
    },
    noticedBy: 'A missing object is NoSuchKey.',
  },
])
