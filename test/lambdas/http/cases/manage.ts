import { expect } from 'vitest'
import { type Cases, expectError, expectOk } from './actions.ts'

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
}
