import { expect } from 'vitest'
import { type Cases, expectError, expectOk, lock, nowSeconds, on, pop } from './actions.ts'

export const popCases: Cases = {
  'a pop without acknowledgement takes the item for good': async ({ q }) => {
    await q.push({ item: { id: 1 } })
    const popped = await q.pop()
    expect(Object.keys(popped)).toEqual(['items', 'count', 'details'])
    expect(popped).toMatchObject({ items: [{ id: 1 }], count: 1 })
    expect(await q.pop()).toEqual({ items: [], count: 0, details: [] })
  },
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
  'a pop with acknowledgement locks the items': async ({ q }) => {
    await q.pushItems(['a', 'b', 'c'])
    const answer = await q.call('POST', 'pop', { query: 'require_ack=true&count=2' })
    const locked = expectOk(answer)
    expect(locked).toMatchObject({ items: ['a', 'b'], count: 2, locked: true, ttl_seconds: 30 })
    expect(locked.lock_id).toMatch(/^[A-Za-z0-9_-]{11}$/)
    expect(locked.lock_expires_at).toBeGreaterThan(nowSeconds() + 25)
    expect(locked.lock_expires_at).toBeLessThan(nowSeconds() + 35)
    // A fraction, always.
    expect(answer.text).toMatch(/"lock_expires_at":\d+\.\d+[,}]/)
  },
  'nothing to pop is no lock': async ({ call, queue }) => {
    const empty = { items: [], count: 0, details: [] }
    expect(await pop(call, queue())).toEqual(empty)
    expect(await lock(call, queue())).toEqual({ ...empty, locked: false })
  },
  'one pop crosses priorities to fill its count': async ({ q }) => {
    await q.pushItems(['c'], 2_147_483_647)
    await q.pushItems(['b1', 'b2'], 1)
    await q.pushItems(['a'], 0)
    const { items, details } = await q.pop('count=3')
    expect(items).toEqual(['a', 'b1', 'b2'])
    expect(details.map((it: { priority: number }) => it.priority)).toEqual([0, 1, 1])
    expect((await q.pop('count=100')).items).toEqual(['c'])
  },
  'a pop fills its count with what was pushed since the last pop, too': async ({ q }) => {
    await q.pushItems(['a', 'b'])
    await q.pop()
    await q.pushItems(['c'])
    await q.pushItems(['urgent'], 0)
    const rest = await q.pop('count=5')
    expect(rest.items).toEqual(['b', 'c', 'urgent'])
    expect('more' in rest).toBe(false)
  },
  'while a lock is live both kinds of pop answer 423 and say until when': async ({ q }) => {
    await q.pushItems(['a', 'b'])
    const { lock_expires_at } = await q.lock('ttl_seconds=60')
    for (const query of ['', 'require_ack=true', 'allow_competing_consumers=false']) {
      const answer = await q.call('POST', 'pop', { query })
      const refused = expectError(answer, 423, 'QUEUE_LOCKED')
      expect(refused.message).toBe('Queue is locked pending acknowledgement')
      expect(refused.lock_expires_at).toBe(lock_expires_at)
      expect(refused.retryable).toBe(true)
      const wait = Number(answer.headers['retry-after'])
      expect(wait).toBeGreaterThan(50)
      expect(wait).toBeLessThanOrEqual(61)
    }
  },
  'a lock on the last item locks the empty queue as well': async ({ q }) => {
    await q.push({ item: 1 })
    await q.lock()
    expectError(await q.call('POST', 'pop'), 423, 'QUEUE_LOCKED')
  },
  'competing consumers pass by live locks and take what is free': async ({ q }) => {
    await q.pushItems(['a', 'b', 'c'])
    const first = await q.lock()
    const second = await q.lock('allow_competing_consumers=true')
    expect([first.items, second.items]).toEqual([['a'], ['b']])
    expect(first.lock_id).not.toBe(second.lock_id)
    const third = await q.pop('allow_competing_consumers=true&count=5')
    expect(third.items).toEqual(['c'])
    const none = await q.lock('allow_competing_consumers=true')
    expect(none).toEqual({ items: [], count: 0, locked: false, details: [] })
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
  'a pop acknowledges another lock in the same write': async ({ q }) => {
    await q.pushItems(['a', 'b', 'c'])
    const first = await q.lock('count=2')
    const second = await q.lock(`acknowledge=${first.lock_id}`)
    expect(second).toMatchObject({ items: ['c'], locked: true, items_acknowledged: 2 })
    const last = await q.pop(`acknowledge=${second.lock_id}`)
    expect(last).toEqual({ items: [], count: 0, details: [], items_acknowledged: 1 })
    expect((await q.inspect()).count).toBe(0)
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
  'a pop that is repeated with its key gets the same items and lock': async ({ q }) => {
    await q.pushItems(['a', 'b'])
    const send = () =>
      q.call('POST', 'pop', {
        query: 'require_ack=true',
        headers: { 'Idempotency-Key': 'worker-1' },
      })
    const first = expectOk(await send())
    expect(expectOk(await send())).toEqual(first)
    await q.post('acknowledge', { lock_id: first.lock_id })
    expect(expectOk(await send()).items).toEqual(['b'])
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
