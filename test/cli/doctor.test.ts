import { PutObjectCommand } from '@aws-sdk/client-s3'
import {
  DeleteCommand,
  DynamoDBDocumentClient,
  PutCommand,
  ScanCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb'
import { beforeAll, describe, expect, test } from 'vitest'
import { wrongWalk } from '../../cli/doctor/examine.ts'
import { straysOf } from '../../cli/doctor/strays.ts'
import { readProgress } from '../../cli/lines/line-file.ts'
import { encodeReference } from '../../engine/core/item.ts'
import { patternsWalkKey } from '../../engine/core/keys.ts'
import { encodeScheduled } from '../../engine/core/later.ts'
import type { Queues } from '../../engine/queues.ts'
import { pack } from '../../engine/requests/segment-rows.ts'
import { startStore, usePlace } from './places.ts'

const { place, queue: newQueue, pushpop } = usePlace(startStore)
let documents: DynamoDBDocumentClient
let queues: Queues
beforeAll(() => {
  documents = DynamoDBDocumentClient.from(place().store.dynamodb)
  queues = place().store.queues
})

async function examine(queue: string, ...options: string[]) {
  const { code, stdout, stderr } = await pushpop(['doctor', queue, '--json', ...options])
  expect(stderr).toBe('')
  const examination: Record<string, unknown> = JSON.parse(stdout)
  return { code, examination }
}

/** Long: segments in S3, chunks, a batch, a tail, holes and a lock. */
async function longQueue(): Promise<string> {
  const queue = newQueue()
  await queues.configure(queue, { segmentSize: 10 })
  const text = JSON.stringify('x'.repeat(300))
  for (let push = 0; push < 6; push += 1) {
    await queues.push(queue, { items: Array.from({ length: 20 }, () => ({ text })) })
  }
  for (let push = 0; push < 5; push += 1) await queues.push(queue, { items: [{ text: '1' }] })
  await queues.pop(queue, { count: 35 })
  await queues.housekeep(queue)
  const popped = await queues.pop(queue, { count: 4, requireAck: true, ttlSeconds: 300 })
  if (popped.kind !== 'items') throw new Error('nothing to pop')
  const ids = popped.items.slice(1, 3).map(({ id }) => id)
  await queues.acknowledge(queue, { lockId: popped.lock?.id ?? '', ids })
  return queue
}

const rowsOf = async (prefix: string) =>
  ((await documents.send(new ScanCommand({ TableName: 'cli' }))).Items ?? []).filter(({ pk }) =>
    (pk as string).startsWith(prefix),
  )

describe('the doctor', () => {
  test('finds nothing wrong with a queue that is well', async () => {
    const queue = await longQueue()
    expect(await examine(queue, '--scan')).toMatchObject({
      code: 0,
      examination: {
        exists: true,
        items_counted: 88,
        items_stored: 88,
        items_found: 88,
        findings: [],
      },
    })
    expect(await examine('no-such-queue')).toMatchObject({
      code: 0,
      examination: { exists: false, findings: [] },
    })
  })

  test('names items that are not where the record says, and touches nothing', async () => {
    const queue = await longQueue()
    const [row] = await rowsOf(`b#${queue}#`)
    await documents.send(new DeleteCommand({ TableName: 'cli', Key: { pk: row?.pk, sk: row?.sk } }))
    const before = await rowsOf('')
    const { code, examination } = await examine(queue, '--scan', '--repair')
    const { findings, repaired, items_found, items_stored } = examination
    expect(code).toBe(5)
    const kinds = (findings as { kind: string }[]).map(({ kind }) => kind)
    expect(new Set(kinds)).toEqual(new Set(['missing-items']))
    expect(Number(items_found)).toBeLessThan(Number(items_stored))
    expect(repaired).toBe(0)
    expect(await rowsOf('')).toEqual(before)
  })

  test('names a record whose counts are not what a recount gives', async () => {
    const queue = await longQueue()
    await documents.send(
      new UpdateCommand({
        TableName: 'cli',
        Key: { pk: `q#${queue}`, sk: 'queue' },
        UpdateExpression: 'ADD b :one',
        ExpressionAttributeValues: { ':one': 1 },
      }),
    )
    const { code, examination } = await examine(queue)
    expect(code).toBe(5)
    expect(examination.findings).toMatchObject([
      { kind: 'record', sentence: expect.stringMatching(/it counts \d+ bytes of tails and notes/) },
    ])
  })

  test.each(['cancel', 'move', 'purge'] as const)(
    'finds nothing wrong with a queue from whose middle a %s has taken an item',
    async (call) => {
      const queue = newQueue()
      const items = ['1', '2', '3'].map((text) => ({ text }))
      const pushed = await queues.push(queue, { items })
      const ids = [pushed.ids[1] as string]
      if (call === 'cancel') await queues.cancel(queue, ids)
      else if (call === 'move') await queues.move(queue, { ids, priority: 3 })
      else await queues.purge(queue, { ids })
      expect(await examine(queue)).toMatchObject({ code: 0, examination: { findings: [] } })
    },
  )

  test('finds nothing wrong with a queue that remembers the key of a push, even when it is empty', async () => {
    const queue = newQueue()
    await queues.push(queue, { items: [{ text: '1' }], idempotencyKey: 'only' })
    expect(await examine(queue)).toMatchObject({ code: 0, examination: { findings: [] } })
    await queues.pop(queue, {})
    expect(await examine(queue)).toMatchObject({ code: 0, examination: { findings: [] } })
  })

  test('takes rows of items that are scheduled for no strays', async () => {
    const queue = newQueue()
    const text = JSON.stringify('x'.repeat(200))
    for (let n = 0; n < 20; n += 1) {
      await queues.push(queue, { items: [{ text, delaySeconds: 5_000 }] })
    }
    expect(await rowsOf(`t#${queue}#`)).not.toEqual([])
    expect(await examine(queue, '--scan', '--repair')).toMatchObject({
      code: 0,
      examination: { findings: [] },
    })
  })

  test('deletes strays when asked, and those alone', async () => {
    const queue = await longQueue()
    const neighbour = await longQueue()
    const before = await rowsOf('')
    const stray = {
      pk: `s#${queue}#aaaaaaaa#0#3`,
      sk: '000000000030-000000000040',
      d: Buffer.from('1:x'),
    }
    const batch = { ...stray, pk: `b#${queue}#bbbbbbbb`, sk: '000000000000' }
    const entry = encodeScheduled({
      due: 1_900_000_000,
      seals: 0,
      random: 'cccccccc',
      priority: 0,
      gone: [],
      entry: encodeReference({
        storage: 'rows',
        batch: 'bbbbbbbb',
        count: 5,
        partItems: 200,
        partBytes: [3],
      }),
    })
    const purged = {
      pk: `t#${queue}#aaaaaaaa#0`,
      sk: '1900000000#00000001',
      d: pack([entry]),
    }
    for (const Item of [stray, batch, purged]) {
      await documents.send(new PutCommand({ TableName: 'cli', Item }))
    }
    const { s3 } = place().store
    for (const Key of [`${queue}/aaaaaaaa/0/3`, `${queue}/batch/aaaaaaaa`]) {
      await s3.send(new PutObjectCommand({ Bucket: 'cli', Key, Body: '1:x' }))
    }
    const looked = await examine(queue, '--scan')
    expect(looked).toMatchObject({
      code: 5,
      examination: {
        findings: expect.arrayContaining([
          expect.objectContaining({ kind: 'stray-rows', at: stray.pk, repairable: true }),
          expect.objectContaining({ kind: 'stray-rows', at: purged.pk, repairable: true }),
          expect.objectContaining({ kind: 'stray-object', at: `${queue}/aaaaaaaa/0/3` }),
          // It may be a push under way.
          expect.objectContaining({ kind: 'stray-batch', repairable: false }),
        ]),
      },
    })
    expect(await examine(queue, '--scan', '--repair')).toMatchObject({
      code: 0,
      examination: { repaired: 3 },
    })
    expect(await rowsOf('')).toEqual(before)
    expect(await examine(queue, '--scan')).toMatchObject({
      code: 0,
      examination: { items_found: 88 },
    })
    expect(await examine(neighbour, '--scan')).toMatchObject({ examination: { findings: [] } })
  })
})

describe('what is a stray', () => {
  const weekMs = 7 * 24 * 60 * 60 * 1000
  const object = { key: 'q/batch/bbbbbbbb', modifiedMs: 0 }
  const nothing = { rows: [], objects: [], rowsAfter: [] }

  test('an old batch may go only if neither rows nor tail refer to it', () => {
    const [stray] = straysOf('q', undefined, { ...nothing, objects: [object] }, weekMs + 1)
    expect(stray).toMatchObject({ kind: 'stray-batch', repairable: true })
    const young = straysOf('q', undefined, { ...nothing, objects: [object] }, weekMs - 1)
    expect(young).toMatchObject([{ repairable: false }])
    const row = { pk: 's#q#eeeeeeee#0#0', sk: '000000000000-000000000005', b: 'bsbbbbbbbb5.5k.1' }
    const referred = straysOf(
      'q',
      undefined,
      { ...nothing, rowsAfter: [row], objects: [object] },
      weekMs * 2,
    )
    expect(referred).toEqual([])
  })

  test('a file beside nothing has no progress', async () => {
    expect(await readProgress('/nonexistent/file')).toBeUndefined()
  })
})

describe('the settings of prefixes', () => {
  test('that a queue should have by now, but lacks, are reported', async () => {
    const queue = newQueue()
    await queues.push(queue, { items: [{ text: '1' }] })
    await queues.configurePatterns([{ prefix: queue, settings: { capacity: 9 } }])
    const before = await examine(queue)
    // Its walk is still to come.
    expect(before.examination.findings).toEqual([])
    await documents.send(
      new UpdateCommand({
        TableName: place().store.tableName,
        Key: patternsWalkKey,
        UpdateExpression: 'SET r=a, n=:one, b=:soon',
        ExpressionAttributeValues: { ':one': 1, ':soon': Date.now() + 60_000 },
      }),
    )
    const { code, examination } = await examine(queue)
    expect(code).toBe(5)
    expect(examination.findings).toMatchObject([
      { sentence: expect.stringContaining('not those of its prefix') },
    ])
    await queues.configurePatterns([])
  })

  const [nowMs, sane] = [
    10_000_000,
    { asked: 2, noted: 2, settledMs: 1, beginMs: 9_999_999, walks: 1 },
  ]
  const inShard = { shard: 3 }
  test.each([
    ['is waiting', sane, 0],
    ['is asked for', { ...sane, asked: 3 }, 0],
    ['is under way', { ...sane, underWay: { startedMs: nowMs, place: inShard, failed: false } }, 0],
    ['notes what nobody asked for', { ...sane, noted: 3 }, 1],
    ['will never come', { ...sane, beginMs: undefined }, 1],
    ['is late', { ...sane, beginMs: 1 }, 1],
    [
      'is nowhere',
      { ...sane, underWay: { startedMs: nowMs, place: { shard: 16 }, failed: false } },
      1,
    ],
  ])('a walk that %s', (_, { beginMs, ...walk }, findings) => {
    const patterns = [{ prefix: 'a', settings: { segmentSize: 1, bufferSegments: 1 } }]
    const told = [
      ...wrongWalk({ ...walk, ...(beginMs !== undefined && { beginMs }) }, { patterns }, nowMs),
    ]
    expect(told).toHaveLength(findings)
  })
})
