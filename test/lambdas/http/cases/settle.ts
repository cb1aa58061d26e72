import { expect } from 'vitest'
import { type Cases, expectError, expectOk, nowSeconds, on, withinASecond } from './actions.ts'

export const settleCases: Cases = {
  'an id that is not of the lock is refused': async ({ q }) => {
    const { ids } = await q.pushItems(['a', 'b'])
    const { lock_id } = await q.lock()
    for (const wrong of [ids[1], 'nonsense', `${ids[0]}0`]) {
      const refused = await q.post('acknowledge', { lock_id, ids: [wrong] })
      expect(expectError(refused, 400, 'INVALID_PARAMETER').message).toContain('ids')
    }
  },
  'many locks are acknowledged with a result each': async ({ q }) => {
    await q.pushItems(['a', 'b', 'c'])
    const first = await q.lock('count=2')
    const second = await q.lock('allow_competing_consumers=true')
    const all = { lock_ids: [first.lock_id, second.lock_id] }
    expect(expectOk(await q.post('acknowledge', all))).toEqual({
      success: true,
      message: 'Items acknowledged successfully',
      items_acknowledged: 3,
      results: [
        { lock_id: first.lock_id, success: true, items_acknowledged: 2 },
        { lock_id: second.lock_id, success: true, items_acknowledged: 1 },
      ],
    })
    const mixed = { lock_ids: [first.lock_id, 'AAAAAAAAAAA'] }
    expect(expectOk(await q.post('acknowledge', mixed))).toMatchObject({
      success: false,
      items_acknowledged: 2,
      results: [
        { success: true, items_acknowledged: 2 },
        { lock_id: 'AAAAAAAAAAA', success: false, error_code: 'LOCK_NOT_FOUND', retryable: false },
      ],
    })
    const hundred = { lock_ids: Array(100).fill('AAAAAAAAAAA') }
    expect(expectOk(await q.post('acknowledge', hundred)).results).toHaveLength(100)
  },
  'without a live lock an unknown one is 404, beside one it is 400': async ({ q }) => {
    await q.pushItems(['a', 'b'])
    const unknown = { lock_id: 'AAAAAAAAAAA' }
    for (const verb of ['acknowledge', 'release', 'dead-letter']) {
      expectError(await q.post(verb, unknown), 404, 'LOCK_NOT_FOUND')
    }
    const extend = { ...unknown, ttl_seconds: 5 }
    expectError(await q.post('extend-lock', extend), 404, 'LOCK_NOT_FOUND')
    await q.lock()
    for (const verb of ['acknowledge', 'release', 'dead-letter']) {
      expectError(await q.post(verb, unknown), 400, 'INVALID_LOCK_ID')
    }
    expectError(await q.post('extend-lock', extend), 400, 'INVALID_LOCK_ID')
    await q.lock('allow_competing_consumers=true')
    expectError(await q.post('acknowledge', unknown), 400, 'INVALID_LOCK_ID')
  },
  'an acknowledge is 410 also when the sweeper was there first': async ({ q, pass, sweep }) => {
    if (sweep === undefined) return
    await q.pushItems(['a', 'b'])
    const { lock_id } = await q.lock('ttl_seconds=1')
    await pass(1_100)
    await sweep()
    expect((await q.inspect()).locks).toEqual([])
    expectError(await q.post('acknowledge', { lock_id }), 410, 'LOCK_EXPIRED')
    expect((await q.pop('count=5')).items).toEqual(['a', 'b'])
  },
  'extending a lock sets its expiry to now and the time asked for': async ({ q }) => {
    await q.push({ item: 1 })
    const { lock_id, lock_expires_at } = await q.lock('ttl_seconds=100')
    for (const [asked, used] of [
      [200, 200],
      [10, 10],
      [1000, 300],
      [0, 1],
    ] as const) {
      const body = { lock_id, ttl_seconds: asked }
      const extended = expectOk(await q.post('extend-lock', body))
      expect(extended).toMatchObject({ success: true, lock_id, ttl_seconds: used })
      expect(extended.lock_expires_at).not.toBe(lock_expires_at)
      expect(Math.abs(extended.lock_expires_at - nowSeconds() - used)).toBeLessThan(10)
    }
  },
  'items released with a delay are shown as waiting, and are first again then': async ({
    call,
    queue,
    pass,
  }) => {
    const { q, lock_id } = await withinASecond(async () => {
      const q = on(call, queue())
      await q.pushItems(['a', 'b', 'c'])
      const { lock_id, details } = await q.lock('count=2')
      const part = { lock_id, ids: [details[0].id], delay_seconds: 1, overtake: true }
      expect(expectOk(await q.post('release', part)).items_released).toBe(1)
      const page = expectOk(await q.call('GET', 'items'))
      expect(page.details.map((it: { state: string }) => it.state)).toEqual([
        'waiting',
        'locked',
        'ready',
      ])
      expect(Math.abs(page.details[0].retry_at - nowSeconds() - 1)).toBeLessThan(10)
      expect(page.details[1]).not.toHaveProperty('retry_at')
      const counts = { count: 3, locked_count: 1, waiting_count: 1 }
      expect(await q.inspect()).toMatchObject(counts)
      expect(await q.inspect()).not.toHaveProperty('blocked_until')
      return { q, lock_id }
    })
    await pass(1_100)
    expectOk(await q.post('acknowledge', { lock_id }))
    expect((await q.pop('count=5')).items).toEqual(['a', 'c'])
  },
  'a release with a delay keeps the others of an exclusive queue waiting': async ({ q }) => {
    await q.pushItems(['a', 'b'])
    const { lock_id } = await q.lock()
    const later = { lock_id, delay_seconds: 86_400 }
    expect(expectOk(await q.post('release', later)).items_released).toBe(1)
    expect(expectOk(await q.post('release', later)).items_released).toBe(1)
    const { blocked_until } = await q.inspect()
    const refused = expectError(await q.call('POST', 'pop'), 423, 'QUEUE_LOCKED')
    expect(refused.lock_expires_at).toBe(blocked_until)
    expect(refused.message).toBe('Queue waits for items that were released with a delay')
    expectError(await q.post('acknowledge', { lock_id }), 410, 'LOCK_EXPIRED')
    expect((await q.pop('allow_competing_consumers=true')).items).toEqual(['b'])
  },
  'a dead-letter queue has none of its own': async ({ call, id }) => {
    const q = on(call, `${id}-deadletter`)
    await q.push({ item: 1 })
    const { lock_id } = await q.lock()
    const refused = await q.post('dead-letter', { lock_id })
    expectError(refused, 400, 'INVALID_QUEUE_ID')
  },
}
