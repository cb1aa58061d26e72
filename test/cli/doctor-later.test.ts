// Items for later are in no lane: the doctor counts them in the record, in its rows and in their batches.

import { DeleteCommand, DynamoDBDocumentClient, ScanCommand } from '@aws-sdk/lib-dynamodb'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Queues } from '../../engine/queues.ts'
import { startStore, usePlace } from './places.ts'

const { place, queue: newQueue, pushpop } = usePlace(startStore)
let documents: DynamoDBDocumentClient
let queues: Queues
beforeAll(() => {
  documents = DynamoDBDocumentClient.from(place().store.dynamodb)
  queues = place().store.queues
})

async function examine(queue: string) {
  const { code, stdout, stderr } = await pushpop(['doctor', queue, '--json'])
  expect(stderr).toBe('')
  return { code, examination: JSON.parse(stdout) as Record<string, unknown> }
}

const rowsOf = async (prefix: string) =>
  ((await documents.send(new ScanCommand({ TableName: 'cli' }))).Items ?? []).filter(({ pk }) =>
    (pk as string).startsWith(prefix),
  )

const remove = (row: Record<string, unknown> | undefined) =>
  documents.send(new DeleteCommand({ TableName: 'cli', Key: { pk: row?.pk, sk: row?.sk } }))

/** Some in the record, some in rows, and fifty in a batch. */
async function queueForLater(): Promise<string> {
  const queue = newQueue()
  const text = JSON.stringify('x'.repeat(200))
  for (let n = 0; n < 20; n += 1) {
    await queues.push(queue, { items: [{ text, delaySeconds: 5_000 + n }] })
  }
  const bulk = { text, delaySeconds: 9_000, priority: 2 }
  await queues.push(queue, { items: Array.from({ length: 50 }, () => bulk) })
  await queues.push(queue, { items: [{ text: '1', delaySeconds: 9_500 }] })
  return queue
}

describe('the doctor counts items for later', () => {
  test('wherever they are, and has nothing to say about a queue that is well', async () => {
    const queue = await queueForLater()
    expect(await rowsOf(`t#${queue}#`)).not.toEqual([])
    expect(await rowsOf(`b#${queue}#`)).not.toEqual([])
    expect(await examine(queue)).toMatchObject({
      code: 0,
      examination: { scheduled_counted: 71, scheduled_found: 71, findings: [] },
    })
    expect((await pushpop(['doctor', queue])).stderr).toContain('0 items and 71 for later')
  })

  test('and some of them were cancelled or purged since', async () => {
    const queue = newQueue()
    const text = JSON.stringify('x'.repeat(200))
    const items = Array.from({ length: 30 }, (_, n) => ({
      text,
      delaySeconds: 5_000 + (n % 2),
      priority: n % 3,
    }))
    const { ids } = await queues.push(queue, { items })
    await queues.cancel(queue, ids.slice(0, 7))
    await queues.purge(queue, { priority: 2 })
    expect(await examine(queue)).toMatchObject({ code: 0, examination: { findings: [] } })
    await queues.purge(queue)
    expect(await examine(queue)).toMatchObject({
      code: 0,
      examination: { scheduled_counted: 0, scheduled_found: 0, findings: [] },
    })
  })

  test('and says that rows of them are lost', async () => {
    const queue = await queueForLater()
    const [first, second] = await rowsOf(`t#${queue}#`)
    await remove(first)
    await remove(second)
    expect(await examine(queue)).toMatchObject({
      code: 5,
      examination: {
        scheduled_counted: 71,
        scheduled_found: 69,
        findings: [
          { kind: 'record', sentence: expect.stringMatching(/71 scheduled items, .* gives 69$/) },
        ],
      },
    })
  })

  test('and says which batch of them is lost', async () => {
    const queue = await queueForLater()
    const [part] = await rowsOf(`b#${queue}#`)
    await remove(part)
    const { code, examination } = await examine(queue)
    expect(code).toBe(5)
    expect(examination).toMatchObject({
      scheduled_counted: 71,
      scheduled_found: 21,
      findings: [
        {
          kind: 'missing-scheduled',
          priority: 2,
          items: 50,
          sentence: expect.stringMatching(
            /^50 scheduled items of priority 2, due at .* cannot be found/,
          ),
        },
      ],
    })
  })
})
