import { expect } from 'vitest'
import { type Cases, expectError, expectOk, pop, post, pushItems } from './actions.ts'

const defaults = {
  segment_size: 100,
  buffer_segments: 1,
  max_deliveries: null,
  capacity: null,
  push_limit: null,
  pop_limit: null,
  item_ttl_seconds: null,
  expired: null,
}
/** Of a queue that has settings of its own. */
const own = { ...defaults, source: { from: 'queue' } }

export const manageCases: Cases = {
  'a configuration is changed setting by setting; null takes one away': async ({ q }) => {
    expect(expectOk(await q.call('GET', 'config'))).toEqual({
      ...defaults,
      source: { from: 'default' },
    })
    const first = { segment_size: 50, buffer_segments: 3, max_deliveries: 5, capacity: 1000 }
    const whole = { ...own, ...first }
    expect(expectOk(await q.configure(first))).toEqual(whole)
    expect(expectOk(await q.configure({ capacity: 7 }))).toEqual({ ...whole, capacity: 7 })
    const without = { max_deliveries: null, capacity: null }
    expect(expectOk(await q.configure(without))).toEqual({ ...whole, ...without })
    const answer = await q.call('GET', 'config')
    expect(expectOk(answer)).toEqual({ ...whole, ...without })
    expect((await q.inspect()).configuration).toEqual({ ...whole, ...without })
  },
  'limits are whole once they are set, and replaced as a whole': async ({ q }) => {
    const pop_limit = { max_requests: 5, window_millis: 60_000, algorithm: 'smooth', burst: 2 }
    const set = await q.configure({ push_limit: { max_requests: 3 }, pop_limit })
    const push_limit = { max_requests: 3, window_millis: 1_000, algorithm: 'window', burst: 1 }
    expect(expectOk(set)).toEqual({ ...own, push_limit, pop_limit })
    expect((await q.inspect()).configuration).toEqual({ ...own, push_limit, pop_limit })
    const given = expectOk(await q.call('GET', 'config'))
    expect(expectOk(await q.configure(given))).toEqual(given)
    const other = expectOk(await q.configure({ pop_limit: { max_requests: 100 } }))
    const plain = { max_requests: 100, window_millis: 1_000, algorithm: 'window', burst: 1 }
    expect(other).toEqual({ ...own, push_limit, pop_limit: plain })
    const none = await q.configure({ push_limit: null, pop_limit: null })
    expect(expectOk(none)).toEqual(own)
  },
  'the longest prefix that a new queue begins with says what its settings are': async ({
    q,
    id,
    call,
  }) => {
    const put = (body: unknown, headers = {}) =>
      call('PUT', '/queue-config', { body: JSON.stringify(body), headers })
    const before = await call('GET', '/queue-config')
    expectOk(before)
    const ifMatch = { 'If-Match': before.headers.etag as string }
    const patterns = [
      { prefix: id, capacity: 5, max_deliveries: null },
      { prefix: `${id}.`, push_limit: { max_requests: 3 } },
    ]
    const applied = expectOk(await put({ patterns }, ifMatch))
    expect(applied.patterns).toMatchObject([
      { prefix: `${id}.`, push_limit: { max_requests: 3, window_millis: 1_000 }, capacity: null },
      { ...defaults, prefix: id, capacity: 5 },
    ])
    expect(expectOk(await call('GET', '/queue-config'))).toEqual(applied)
    expectError(await put({ patterns: [] }, ifMatch), 412, 'VERSION_MISMATCH')
    const foreign = await put({ patterns: [] }, { 'If-Match': '"nonsense"' })
    const { message } = expectError(foreign, 412, 'VERSION_MISMATCH')
    expect(message).toContain((await call('GET', '/queue-config')).headers.etag)
    const refused = { patterns: [{ prefix: id, capacity: 0 }] }
    expect(expectError(await put(refused), 400, 'INVALID_PARAMETER').field).toBe(
      'patterns[0].capacity',
    )
    const source = { from: 'pattern', prefix: id }
    const told = expectOk(await q.call('GET', 'config'))
    expect(told).toEqual({ ...defaults, capacity: 5, source })
    // What a GET gives, a PUT takes back: as the queue's own.
    expect(expectOk(await q.configure(told))).toEqual({ ...told, source: { from: 'queue' } })
    const removed = await q.call('DELETE', 'config', { headers: { 'If-Match': '"1"' } })
    expect(expectOk(removed).source.from).toMatch(/pattern|default/)
    expect(removed.headers.etag).toMatch(/^"2(\.[0-9]+)?"$/)
    const again = await q.call('DELETE', 'config', { headers: { 'If-Match': '"1"' } })
    expectError(again, 412, 'VERSION_MISMATCH')
  },
  'limits out of their bounds are refused by name': async ({ q }) => {
    const wrong = [
      [{ push_limit: { max_requests: 0 } }, 'push_limit.max_requests'],
      [{ push_limit: { max_requests: '5' } }, 'push_limit.max_requests'],
      [{ pop_limit: { max_requests: 9, window_millis: 99 } }, 'pop_limit.window_millis'],
      [{ pop_limit: { max_requests: 9, algorithm: 'leaky' } }, 'pop_limit.algorithm'],
      [{ pop_limit: { max_requests: 9, burst: 2 } }, 'pop_limit.burst'],
      [{ push_limit: { algorithm: 'smooth', max_requests: 2, burst: 3 } }, 'push_limit.burst'],
      [{ push_limit: 5 }, 'push_limit'],
      [{ push_limit: [] }, 'push_limit.max_requests'],
      [{ push_limit: {} }, 'push_limit.max_requests'],
    ] as const
    for (const [change, field] of wrong) {
      const refused = expectError(await q.configure(change), 400, 'INVALID_PARAMETER')
      expect(refused.field).toBe(field)
    }
    const foreign = await q.configure({ push_limit: { max_requests: 9, shards: 2 } })
    expect(expectError(foreign, 400, 'UNKNOWN_FIELD').field).toBe('push_limit.shards')
    expect(expectOk(await q.call('GET', 'config'))).toMatchObject(defaults)
  },
  'beyond its limits a queue answers 429 with the wait, and does nothing': async ({ q }) => {
    // A day: no run of this test ends in another window.
    const limit = { max_requests: 2, window_millis: 86_400_000 }
    expectOk(await q.configure({ push_limit: limit, pop_limit: limit }))
    await q.pushItems(['a'])
    await q.pushItems(['b'])
    const pushed = await q.post('push', { item: 'c' })
    expect((await q.pop()).items).toEqual(['a'])
    const { lock_id } = await q.lock()
    const popped = await q.call('POST', 'pop', { query: `acknowledge=${lock_id}` })
    for (const answer of [pushed, popped]) {
      const refused = expectError(answer, 429, 'RATE_LIMITED')
      expect(refused.retryable).toBe(true)
      expect(refused).not.toHaveProperty('allowed')
      expect(refused.retry_after_ms).toBeGreaterThan(0)
      const seconds = Math.ceil((refused.retry_after_ms as number) / 1_000)
      expect(answer.headers['retry-after']).toBe(String(seconds))
    }
    expect((await q.inspect()).count).toBe(1)
    expectOk(await q.configure({ push_limit: null, pop_limit: null }))
    expectOk(await q.post('acknowledge', { lock_id }))
  },
  'a configuration is changed only at the revision that If-Match names': async ({ q }) => {
    const tagOf = async () => (await q.call('GET', 'config')).headers.etag as string
    const initial = await tagOf()
    const changed = await q.configure({ capacity: 5 }, initial)
    expectOk(changed)
    expect(changed.headers.etag).toBe(await tagOf())
    expect(changed.headers.etag).not.toBe(initial)
    for (const stale of [initial, '"77"', '"nonsense"', `W/${changed.headers.etag}`, '""']) {
      const refused = await q.configure({ capacity: 6 }, stale)
      expectError(refused, 412, 'VERSION_MISMATCH')
    }
    expect(expectOk(await q.call('GET', 'config')).capacity).toBe(5)
    expectOk(await q.configure({ capacity: 8 }, '*'))
    expectOk(await q.configure({ capacity: 9 }, `${initial}, ${await tagOf()}`))
    const current = await tagOf()
    for (const other of [`${initial}, "88"`, `W/${current}`]) {
      const none = expectError(await q.configure({ capacity: 10 }, other), 412, 'VERSION_MISMATCH')
      expect(none.message).toContain(`the ETag, which is ${current}`)
    }
  },
  'a purge removes all, locked items too, and counts them': async ({ q }) => {
    await q.pushItems(['a', 'b', 'c'])
    await q.pushItems(['d'], 5)
    const { lock_id } = await q.lock()
    const answer = await q.post('purge')
    expect(answer.text).toBe('{"success":true,"items_purged":4}')
    expect((await q.pop('count=5')).items).toEqual([])
    expectError(await q.post('acknowledge', { lock_id }), 410, 'LOCK_EXPIRED')
    expect(expectOk(await q.post('purge', {})).items_purged).toBe(0)
  },
  'a purge of one priority leaves the others': async ({ q }) => {
    await q.pushItems(['a'], 0)
    await q.pushItems(['b', 'c'], 1)
    expect(expectOk(await q.post('purge', { priority: 1 })).items_purged).toBe(2)
    expect((await q.pop('count=5')).items).toEqual(['a'])
  },
  'a cancel takes back what waits, and answers each id': async ({ q }) => {
    const { ids } = expectOk(
      await q.post('push', { items: ['a', 'b', 'c'].map((item) => ({ item })) }),
    )
    await q.lock('count=1&allow_competing_consumers=true')
    expect(expectOk(await q.post('cancel', { ids: [ids[2], ids[0], 'x7Gh2kQz-0-0'] }))).toEqual({
      results: [
        { id: ids[2], result: 'cancelled' },
        { id: ids[0], result: 'locked' },
        { id: 'x7Gh2kQz-0-0', result: 'gone' },
      ],
    })
    expect((await q.pop('count=5&allow_competing_consumers=true')).items).toEqual(['b'])
  },
  'a move takes items to another priority, and names their new ids': async ({ q }) => {
    const { ids } = expectOk(await q.post('push', { items: ['a', 'b'].map((item) => ({ item })) }))
    const { results } = expectOk(await q.post('move', { ids: [ids[0]], priority: 4 }))
    expect(results).toEqual([{ id: ids[0], result: 'moved', new_id: expect.any(String) }])
    const { items, details } = await q.pop('count=5')
    expect(items).toEqual(['b', 'a'])
    expect(details[1]).toMatchObject({ id: results[0].new_id, priority: 4 })
  },
  'a purge takes the items that are named': async ({ q }) => {
    const { ids } = expectOk(await q.post('push', { items: ['a', 'b'].map((item) => ({ item })) }))
    expect(expectOk(await q.post('purge', { ids: [ids[0]] }))).toMatchObject({ items_purged: 1 })
    expect((await q.pop('count=5')).items).toEqual(['b'])
  },
  'a redrive puts items back, in their order and priority': async ({ q, call, id }) => {
    const dead = `${id}-deadletter`
    await q.pushItems(['a', 'b'], 2)
    await q.pushItems(['c'], 3)
    const { lock_id } = await q.lock('count=3')
    expectOk(await q.post('dead-letter', { lock_id }))
    await pushItems(call, dead, ['by hand'], 2)
    expect(expectOk(await post(call, dead, 'redrive', { limit: 1 }))).toEqual({
      success: true,
      items_redriven: 1,
      items_left: 3,
    })
    expect(expectOk(await post(call, dead, 'redrive'))).toMatchObject({
      items_redriven: 2,
      items_left: 1,
    })
    const back = await q.pop('count=5')
    expect(back.items).toEqual(['a', 'b', 'c'])
    expect(back.details.map((it: { priority: number }) => it.priority)).toEqual([2, 2, 3])
    expect((await pop(call, dead, 'count=5')).items).toEqual(['by hand'])
  },
}
