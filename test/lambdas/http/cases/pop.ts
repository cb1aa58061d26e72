import { expect } from 'vitest'
import { type Cases, expectError, expectOk, lock, nowSeconds, on, pop } from './actions.ts'

export const popCases: Cases = {
  'details say id, priority, when it was pushed, and how often it was delivered': async ({ q }) => {
    const before = nowSeconds()
    const { ids } = await q.push({ item: 1, priority: 5 })
    const { details } = await q.pop()
    expect(details).toEqual([
      { id: ids[0], priority: 5, pushed_at: expect.any(Number), deliveries: 1 },
    ])
    expect(details[0].pushed_at).toBeGreaterThan(before - 5)
    expect(details[0].pushed_at).toBeLessThan(nowSeconds() + 5)
  },
  'nothing to pop is no lock': async ({ call, queue }) => {
    const empty = { items: [], count: 0, details: [] }
    expect(await pop(call, queue())).toEqual(empty)
    expect(await lock(call, queue())).toEqual({ ...empty, locked: false })
  },
  'ttl_seconds is clamped to 1–300, and the answer has the value used': async ({ call, queue }) => {
    const cases = [
      ['0', 1],
      ['-5', 1],
      ['1', 1],
      ['300', 300],
      ['301', 300],
      ['99999999999999999999999', 300],
      ['9'.repeat(400), 300],
    ] as const
    for (const [asked, used] of cases) {
      const q = on(call, queue())
      await q.push({ item: 1 })
      const locked = await q.lock(`ttl_seconds=${asked}`)
      expect(locked.ttl_seconds).toBe(used)
      const left = locked.lock_expires_at - nowSeconds()
      expect(left).toBeLessThanOrEqual(used + 1)
      expect(left).toBeGreaterThan(used - 20)
    }
  },
  'parameters may come as hyphenated headers': async ({ q }) => {
    await q.pushItems(['a', 'b', 'c'])
    const headers = { Count: '2', 'Require-Ack': 'true', 'TTL-Seconds': '17' }
    const locked = expectOk(await q.call('POST', 'pop', { headers }))
    expect(locked).toMatchObject({ count: 2, locked: true, ttl_seconds: 17 })
    const free = expectOk(
      await q.call('POST', 'pop', { headers: { 'Allow-Competing-Consumers': 'true' } }),
    )
    expect(free.items).toEqual(['c'])
    const settled = expectOk(
      await q.call('POST', 'pop', { headers: { Acknowledge: locked.lock_id } }),
    )
    expect(settled.items_acknowledged).toBe(2)
  },
  'a lock that cannot be settled stops the pop that names it': async ({ q, pass }) => {
    await q.pushItems(['a', 'b'])
    const nothing = await q.call('POST', 'pop', { query: 'acknowledge=AAAAAAAAAAA' })
    expectError(nothing, 404, 'LOCK_NOT_FOUND')
    const { lock_id } = await q.lock()
    const wrong = await q.call('POST', 'pop', { query: 'acknowledge=AAAAAAAAAAA' })
    expectError(wrong, 400, 'INVALID_LOCK_ID')
    expectOk(await q.post('extend-lock', { lock_id, ttl_seconds: 1 }))
    await pass(1_100)
    const late = await q.call('POST', 'pop', { query: `acknowledge=${lock_id}` })
    expectError(late, 410, 'LOCK_EXPIRED')
    expect((await q.pop('count=5')).items).toEqual(['a', 'b'])
  },
  'a pop can wait for items, and says at the end that there are none': async ({ q }) => {
    const nothing = await q.lock('wait_seconds=1')
    expect(nothing).toEqual({ items: [], count: 0, locked: false, details: [] })
    const waiting = q.lock('wait_seconds=20')
    await q.push({ item: 'a' })
    expect(await waiting).toMatchObject({ items: ['a'], locked: true })
  },
  'an answer is full at 4 MiB, and says that there is more': async ({ q }) => {
    const item = 'x'.repeat(255_000)
    for (const _ of Array(2)) await q.pushItems(Array(9).fill(item))
    const first = await q.pop('count=100')
    expect(first.more).toBe(true)
    expect(first.count).toBe(16)
    const rest = await q.pop('count=100')
    expect(rest.count).toBe(2)
    expect('more' in rest).toBe(false)
  },
  'more than 2,000 items in flight are refused at the pop': async ({ q }) => {
    for (const _ of Array(3)) await q.pushItems(Array(700).fill(1))
    for (const _ of Array(20)) {
      const locked = await q.lock('count=100&allow_competing_consumers=true')
      expect(locked.count).toBe(100)
    }
    const query = 'require_ack=true&allow_competing_consumers=true'
    const answer = await q.call('POST', 'pop', { query })
    expectError(answer, 429, 'TOO_MANY_LOCKS')
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
  },
}
