import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DocumentPort } from '../../../aws/dynamo.ts'
import { Tally, withTally } from '../../../lambdas/runtime/log.ts'
import { meteredDocuments } from '../../../lambdas/runtime/stores.ts'
import { lock, path, pop, post, push, pushItems } from '../http/cases/actions.ts'
import { embeddedService, type Service } from '../http/service.ts'

let service: Service
beforeAll(async () => {
  service = await embeddedService()
})
afterAll(() => service.close())

/** The line of the last request. */
function last() {
  const line = service.lines.findLast((it) => it.includes('"message":"request"'))
  return JSON.parse(line ?? '{}')
}

describe('The line of a request', () => {
  it('tells the units of a push and of a pop.', async () => {
    const { call } = service
    const queue = service.queue()
    await push(call, queue, { item: 1 })
    await push(call, queue, { item: 2 })
    expect(last()).toMatchObject({
      function: 'Push',
      route: 'POST /queue/{id}/push',
      queue,
      status: 200,
      dynamodb_requests: 1,
      write_units: 1,
      read_units: 0,
      s3_requests: 0,
      conflicts: 0,
      ItemsPushed: 1,
      Attempts: 1,
    })
    await pop(call, queue)
    expect(last()).toMatchObject({ dynamodb_requests: 1, write_units: 1, ItemsPopped: 1 })
    expect(last().OldestItemAge).toBeGreaterThan(0)
  })

  it('tells reads by their consistency, in batches and by index as well.', async () => {
    const { call } = service
    const queue = service.queue()
    await push(call, queue, { item: 1 })
    await call('GET', path(queue))
    expect(last()).toMatchObject({ read_units: 0.5, write_units: 0 })
    await call('GET', path(queue), { query: 'consistent=true' })
    expect(last()).toMatchObject({ read_units: 1, write_units: 0 })
    await call('GET', '/queues', { query: `prefix=${queue}` })
    const listed = last()
    expect(listed).toMatchObject({ dynamodb_requests: 17, write_units: 0 })
    expect(listed.read_units).toBeGreaterThanOrEqual(8.5)
  })

  it('counts refused conditions as conflicts.', async () => {
    const { call } = service
    const queue = service.queue()
    await push(call, queue, { item: 1 })
    expect(last()).toMatchObject({ dynamodb_requests: 2, conflicts: 1, Conflicts: 1, Attempts: 2 })
  })

  it('tells the units of a transaction and of rows written in a batch.', async () => {
    const { call } = service
    const queue = service.queue()
    await push(call, queue, { item: 1 })
    const popped = await call('POST', path(queue, 'pop'), { query: 'require_ack=true' })
    const { lock_id } = JSON.parse(popped.text) as { lock_id: string }
    await call('POST', path(queue, 'dead-letter'), { body: JSON.stringify({ lock_id }) })
    // Four of them for the move, because a transaction of two records is billed double.
    expect(last().write_units).toBe(8)
    await pushItems(call, queue, Array(300).fill('some text'))
    expect(last().write_units).toBeGreaterThan(2)
    expect(last().read_units).toBe(0)
  })

  it('counts requests to S3.', async () => {
    const { call } = service
    const queue = service.queue()
    const items = Array.from({ length: 20 }, (_, i) =>
      Array.from({ length: 400 }, (_, j) => (Math.sin(i * 400 + j) * 1e9).toString(36)).join(''),
    )
    await pushItems(call, queue, items)
    expect(last().s3_requests).toBeGreaterThan(0)
  })

  it('tells how long the slowest read from S3 took.', async () => {
    const { call } = service
    const queue = service.queue()
    const noise = (_: unknown, i: number) =>
      Array.from({ length: 400 }, (__, j) => (Math.sin(i * 400 + j) * 1e9).toString(36)).join('')
    await pushItems(call, queue, Array.from({ length: 20 }, noise))
    expect(last()).not.toHaveProperty('SegmentLoadTime')
    await pop(call, queue)
    expect(last()).toMatchObject({ SegmentLoadTime: expect.any(Number) })
    expect(last()).not.toHaveProperty('SegmentLoadFailures')
  })

  it('counts what was acknowledged, returned and dead-lettered.', async () => {
    const { call } = service
    const queue = service.queue()
    await pushItems(call, queue, ['a', 'b', 'c', 'd', 'e'])
    const first = await lock(call, queue, 'count=2')
    await post(call, queue, 'acknowledge', { lock_id: first.lock_id })
    expect(last().ItemsAcknowledged).toBe(2)
    const second = await lock(call, queue, 'count=3')
    await post(call, queue, 'release', { lock_id: second.lock_id, ids: [second.details[0].id] })
    expect(last().ItemsReturned).toBe(1)
    await post(call, queue, 'dead-letter', { lock_id: second.lock_id })
    expect(last().ItemsDeadLettered).toBe(2)
    const third = await lock(call, queue)
    await pop(call, queue, `acknowledge=${third.lock_id}`)
    expect(last().ItemsAcknowledged).toBe(1)
    await pushItems(call, queue, ['f'])
    const fourth = await lock(call, queue)
    await post(call, queue, 'acknowledge', { lock_ids: [fourth.lock_id, 'AAAAAAAAAAA'] })
    expect(last().ItemsAcknowledged).toBe(1)
  })

  it('never tells a lock, an item or an error’s details.', async () => {
    const { call } = service
    const queue = service.queue()
    await push(call, queue, { item: 'a very secret item' })
    const { lock_id } = await lock(call, queue)
    await post(call, queue, 'acknowledge', { lock_id })
    await post(call, queue, 'acknowledge', { lock_id: 'someOtherId' })
    const all = service.lines.join('\n')
    for (const secret of ['a very secret item', lock_id, 'someOtherId', 'secret-table-name']) {
      expect(all).not.toContain(secret)
    }
  })
})

describe('Requests side by side', () => {
  it('are counted each for itself, also when one goes on after its answer.', async () => {
    const waiting: (() => void)[] = []
    const inner: DocumentPort = {
      send: async () => {
        await new Promise<void>((resolve) => waiting.push(resolve))
        return { ConsumedCapacity: { CapacityUnits: 3 } }
      },
    }
    const port = meteredDocuments(inner)
    const send = () => port.send({ input: {} } as never)
    const [first, second] = [new Tally(), new Tally()]
    const ends = [withTally(first, send), withTally(second, () => Promise.all([send(), send()]))]
    for (const go of waiting) go()
    await Promise.all(ends)
    expect([first.dynamodbRequests, first.writeUnits]).toEqual([1, 3])
    expect([second.dynamodbRequests, second.writeUnits]).toEqual([2, 6])
  })
})
