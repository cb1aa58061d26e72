import { expect } from 'vitest'
import { type Cases, expectOk, path } from './actions.ts'

export const inspectCases: Cases = {
  'the list tells details, and of queues by name': async ({ q, id, call, queue }) => {
    await q.pushItems(['a', 'b'], 3)
    await q.push({ item: 'c' })
    await q.lock()
    const other = queue()
    const ids = `${other},${id}`
    const list = expectOk(await call('GET', '/queues', { query: `detail=true&ids=${ids}` }))
    const nothing = {
      locked_count: 0,
      waiting_count: 0,
      dead_count: 0,
      scheduled_count: 0,
      priorities: [],
    }
    expect(list).toEqual({
      queues: [
        { id: other, count: 0, ...nothing },
        {
          id,
          count: 3,
          locked_count: 1,
          waiting_count: 0,
          dead_count: 0,
          scheduled_count: 0,
          priorities: [
            { priority: 0, count: 1 },
            { priority: 3, count: 2 },
          ],
        },
      ],
    })
    const page = expectOk(await call('GET', '/queues', { query: `detail=true&prefix=${id}` }))
    expect(page.queues.find((it: { id: string }) => it.id === id)).toEqual(list.queues[1])
  },
  'a queue tells its counts, age, priorities, locks and configuration': async ({ q, id }) => {
    await q.pushItems(['a', 'b'], 3)
    await q.pushItems(['c'], 9)
    const { lock_expires_at, details } = await q.lock()
    const answer = await q.call('GET', '', { query: 'consistent=true' })
    const lane = { epoch: expect.stringMatching(/^.{8}$/), segment_size: 100, head: 0, sealed: 0 }
    expect(expectOk(answer)).toEqual({
      id,
      version: expect.any(Number),
      count: 3,
      locked_count: 1,
      waiting_count: 0,
      dead_count: 0,
      scheduled_count: 0,
      oldest_pushed_at: details[0].pushed_at,
      priorities: [
        {
          priority: 3,
          count: 2,
          head_segment: 0,
          tail_segment: 0,
          head_offloaded_segment: null,
          tail_offloaded_segment: null,
          ...lane,
          frontier: 1,
          end: 2,
          stored: [{ from: 0, to: 2, in: 'record' }],
        },
        {
          priority: 9,
          count: 1,
          head_segment: 0,
          tail_segment: 0,
          head_offloaded_segment: null,
          tail_offloaded_segment: null,
          ...lane,
          frontier: 0,
          end: 1,
          stored: [{ from: 0, to: 1, in: 'record' }],
        },
      ],
      locks: [{ lock_expires_at, count: 1, priorities: [3] }],
      configuration: {
        segment_size: 100,
        buffer_segments: 1,
        max_deliveries: null,
        capacity: null,
        push_limit: null,
        pop_limit: null,
        item_ttl_seconds: null,
        expired: null,
        source: { from: 'default' },
      },
    })
  },
  'a queue never tells the id of a lock': async ({ q, call, id }) => {
    await q.push({ item: 1 })
    const { lock_id } = await q.lock()
    for (const at of [path(id), path(id, 'items'), path(id, 'config')]) {
      expect((await call('GET', at)).text).not.toContain(lock_id)
    }
  },
  'the tag of a queue changes with all that happens to it, and only then': async ({ q }) => {
    const tag = async () => {
      const answer = await q.call('GET', '', { query: 'consistent=true' })
      return answer.headers.etag as string
    }
    const tags = [await tag()]
    const note = async (work: Promise<unknown>) => {
      await work
      tags.push(await tag())
      expect(await tag()).toBe(tags.at(-1))
    }
    await note(q.pushItems(['a', 'b', 'c']))
    await note(q.pushItems(['d']))
    const { lock_id } = await q.lock('allow_competing_consumers=true')
    await note(Promise.resolve())
    await note(q.post('acknowledge', { lock_id }))
    await note(q.pop())
    await note(q.call('PUT', 'config', { body: '{"capacity":9}' }))
    expect(new Set(tags).size).toBe(tags.length)
    for (const one of tags) expect(one).toMatch(/^"[^"]+"$/)
  },
  'a long queue tells which of its segments are in S3': async ({ q, id, housekeep }) => {
    if (housekeep === undefined) return
    expectOk(await q.call('PUT', 'config', { body: '{"segment_size":10}' }))
    const items = [...Array(80).keys()].map((n) => `${n}: ${'x'.repeat(300)}`)
    for (const item of items) await q.push({ item })
    await housekeep(id)
    const { priorities } = await q.inspect()
    expect(priorities).toMatchObject([
      { count: 80, head_segment: 0, tail_segment: 7, head_offloaded_segment: 2 },
    ])
    expect(priorities[0].tail_offloaded_segment).toBeGreaterThanOrEqual(4)
    const all = await q.pop('count=100')
    expect(all.items).toEqual(items)
  },
  'a look shows the next items in pop order, with their state and deliveries': async ({ q }) => {
    await q.pushItems(['c'], 1)
    await q.pushItems(['a', 'b'], 0)
    await q.lock()
    const look = () => q.call('GET', 'items')
    const first = await look()
    const { items, count, details, cursor } = expectOk(first)
    expect({ items, count, cursor }).toEqual({
      items: ['a', 'b', 'c'],
      count: 3,
      cursor: undefined,
    })
    const short = details.map((it: Record<string, unknown>) => [
      it.priority,
      it.state,
      it.deliveries,
    ])
    expect(short).toEqual([
      [0, 'locked', 1],
      [0, 'ready', 0],
      [1, 'ready', 0],
    ])
    expect((await look()).text).toBe(first.text)
  },
  'health is open, short, and asks for nothing': async ({ call }) => {
    expect((await call('GET', '/healthz')).text).toBe('{"status":"ok"}')
  },
  'HEAD of the health is its GET without a body': async ({ call }) => {
    const [get, head] = [await call('GET', '/healthz'), await call('HEAD', '/healthz')]
    expect([head.status, head.text]).toEqual([200, ''])
    expect(head.headers['content-type']).toBe(get.headers['content-type'])
  },
}
