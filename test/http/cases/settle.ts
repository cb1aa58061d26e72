import { expect } from 'vitest'
import { type Cases, expectError, expectOk, nowSeconds, on, pop, withinASecond } from './actions.ts'

export const settleCases: Cases = {
  'acknowledging a lock settles all of it': async ({ q }) => {
    await q.pushItems(['a', 'b', 'c'])
    const { lock_id } = await q.lock('count=2')
    const answer = await q.post('acknowledge', { lock_id })
    expect(answer.text).toBe(
      '{"success":true,"message":"Items acknowledged successfully","items_acknowledged":2}',
    )
    expect((await q.pop('count=5')).items).toEqual(['c'])
  },
  'an acknowledge that is repeated gets its answer again': async ({ q }) => {
    await q.pushItems(['a', 'b'])
    const { lock_id } = await q.lock('count=2')
    const first = await q.post('acknowledge', { lock_id })
    expect((await q.post('acknowledge', { lock_id })).text).toBe(first.text)
    await q.pushItems(['c'])
    await q.lock()
    expect((await q.post('acknowledge', { lock_id })).text).toBe(first.text)
  },
  'some of a lock can be acknowledged; the rest stays locked': async ({ q }) => {
    await q.pushItems(['a', 'b', 'c'])
    const { lock_id, details } = await q.lock('count=3')
    const ids = [details[0].id, details[2].id]
    expect(expectOk(await q.post('acknowledge', { lock_id, ids })).items_acknowledged).toBe(2)
    expectError(await q.call('POST', 'pop'), 423, 'QUEUE_LOCKED')
    expect(expectOk(await q.post('release', { lock_id })).items_released).toBe(1)
    expect((await q.pop('count=5')).items).toEqual(['b'])
  },
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
  },
  'up to 100 locks at once, and not one more': async ({ q }) => {
    const locks = (n: number) => ({ lock_ids: Array(n).fill('AAAAAAAAAAA') })
    expect(expectOk(await q.post('acknowledge', locks(100))).results).toHaveLength(100)
    for (const n of [0, 101]) {
      expectError(await q.post('acknowledge', locks(n)), 400, 'INVALID_PARAMETER')
    }
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
  'after the expiry an acknowledge is 410, and the items are back in front': async ({
    q,
    pass,
  }) => {
    await q.pushItems(['a'], 1)
    await q.pushItems(['b'], 2)
    const { lock_id } = await q.lock('count=2&ttl_seconds=1')
    await q.pushItems(['late'], 1)
    await pass(1_100)
    expectError(await q.post('acknowledge', { lock_id }), 410, 'LOCK_EXPIRED')
    const again = await q.lock('count=5')
    expect(again.items).toEqual(['a', 'late', 'b'])
    const deliveries = again.details.map((it: { deliveries: number }) => it.deliveries)
    expect(deliveries).toEqual([2, 1, 2])
    expectError(await q.post('acknowledge', { lock_id }), 410, 'LOCK_EXPIRED')
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
  'the time of an extension must be an integer, and be there': async ({ q }) => {
    for (const ttl of ['1.5', '"5"', 'null', 'true', '1e400']) {
      const body = `{"lock_id":"AAAAAAAAAAA","ttl_seconds":${ttl}}`
      const refused = await q.call('POST', 'extend-lock', { body })
      expect(expectError(refused, 400, 'INVALID_TTL').message).toContain('ttl_seconds')
    }
    const missing = await q.post('extend-lock', { lock_id: 'AAAAAAAAAAA' })
    expectError(missing, 400, 'INVALID_TTL')
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
  'a delay is an integer of up to a day, and overtaking is true or false': async ({ q }) => {
    await q.pushItems(['a'])
    const { lock_id } = await q.lock()
    for (const delay_seconds of [-1, 86_401, 1.5, '60', true]) {
      const refused = await q.post('release', { lock_id, delay_seconds })
      expect(expectError(refused, 400, 'INVALID_PARAMETER').field).toBe('delay_seconds')
    }
    const refused = await q.post('release', { lock_id, delay_seconds: 1, overtake: 'yes' })
    expect(expectError(refused, 400, 'INVALID_PARAMETER').field).toBe('overtake')
    expect((await q.inspect()).locked_count).toBe(1)
  },
  'released items are back at once, in order, with a delivery more': async ({ q }) => {
    await q.pushItems(['a', 'b', 'c'])
    const { lock_id } = await q.lock('count=2')
    const answer = await q.post('release', { lock_id })
    expect(answer.text).toBe('{"success":true,"items_released":2}')
    const again = await q.lock('count=3')
    expect(again.items).toEqual(['a', 'b', 'c'])
    const deliveries = again.details.map((it: { deliveries: number }) => it.deliveries)
    expect(deliveries).toEqual([2, 2, 1])
    expectError(await q.post('acknowledge', { lock_id }), 410, 'LOCK_EXPIRED')
  },
  'some of a lock can be released': async ({ q }) => {
    await q.pushItems(['a', 'b'])
    const { lock_id, details } = await q.lock('count=2')
    const ids = [details[1].id]
    expect(expectOk(await q.post('release', { lock_id, ids })).items_released).toBe(1)
    expect(expectOk(await q.post('acknowledge', { lock_id })).items_acknowledged).toBe(1)
    expect((await q.pop('count=5')).items).toEqual(['b'])
  },
  'dead letters keep their priority, and have the reason': async ({ q, call, id }) => {
    await q.pushItems(['a', 'b', 'c'], 7)
    const { lock_id, details } = await q.lock('count=3')
    const body = { lock_id, ids: [details[1].id], reason: 'bad "address" \u2028' }
    expect(expectOk(await q.post('dead-letter', body))).toEqual({
      success: true,
      items_dead_lettered: 1,
      dead_letter_queue: `${id}-deadletter`,
    })
    expect(expectOk(await q.post('dead-letter', { lock_id })).items_dead_lettered).toBe(2)
    const dead = await pop(call, `${id}-deadletter`, 'count=5')
    expect(dead.items).toEqual(['b', 'a', 'c'])
    expect(dead.details[0]).toMatchObject({ priority: 7, reason: body.reason })
    expect((await q.inspect()).count).toBe(0)
  },
  'a dead-letter queue has none of its own': async ({ call, id }) => {
    const q = on(call, `${id}-deadletter`)
    await q.push({ item: 1 })
    const { lock_id } = await q.lock()
    const refused = await q.post('dead-letter', { lock_id })
    expectError(refused, 400, 'INVALID_QUEUE_ID')
  },
  'an item that came back too often is in the dead-letter queue only': async ({ q }) => {
    expectOk(await q.call('PUT', 'config', { body: '{"max_deliveries":2}' }))
    await q.pushItems(['poison', 'good'])
    for (const _ of Array(2)) {
      const { items, lock_id } = await q.lock()
      expect(items).toEqual(['poison'])
      expectOk(await q.post('release', { lock_id }))
    }
    expect((await q.pop('count=5')).items).toEqual(['good'])
  },
}
