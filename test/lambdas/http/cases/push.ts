import { expect } from 'vitest'
import { type Cases, expectError, expectOk, nowSeconds, path, pop, push } from './actions.ts'

export const pushCases: Cases = {
  'a push answers how many items it pushed, and their ids': async ({ q }) => {
    const answer = await q.call('POST', 'push', { body: '{"item":{"task":1}}' })
    expect(answer.text).toMatch(/^\{"success":true,"items_pushed":1,"ids":\["[^"]+"\]\}$/)
  },
  'a bulk push keeps its order, also within each priority': async ({ q }) => {
    const items = [
      { item: 'b1', priority: 1 },
      { item: 'a1' },
      { item: 'b2', priority: 1 },
      { item: 'a2', priority: 0 },
    ]
    const pushed = await q.push({ items })
    expect(pushed.items_pushed).toBe(4)
    expect(new Set(pushed.ids).size).toBe(4)
    const popped = await q.pop('count=10')
    expect(popped.items).toEqual(['a1', 'a2', 'b1', 'b2'])
    const byId = [1, 3, 0, 2].map((index) => pushed.ids[index])
    expect(popped.details.map((details: { id: string }) => details.id)).toEqual(byId)
  },
  'an item tells when it expires, and one that has goes to nobody': async ({ q }) => {
    await q.push({
      items: [
        { item: 'old', expires_at: 1_700_000_000.5 },
        { item: 'over', expires_in_seconds: 0 },
        { item: 'new', expires_in_seconds: 600 },
        { item: 'ever' },
      ],
    })
    const seen = expectOk(await q.call('GET', 'items'))
    const states = seen.details.map(({ state }: { state: string }) => state)
    expect(states).toEqual(['expired', 'expired', 'ready', 'ready'])
    expect(seen.details[0].expires_at).toBe(1_700_000_000.5)
    const popped = await q.pop('count=9')
    expect(popped.items).toEqual(['new', 'ever'])
    expect(popped.details[0].expires_at).toBeGreaterThan(nowSeconds() + 500)
    expect(popped.details[1]).not.toHaveProperty('expires_at')
  },
  'space around an item is not a part of it': async ({ q }) => {
    await q.push(' { "item" :\n\t { "a" : 1 } \r\n, "priority" : 0 } ')
    await q.push('{"items" : [ { "item" : 7 } , { "priority" : 0 , "item" : "x" } ] }')
    const popped = await q.call('POST', 'pop', { query: 'count=3' })
    expect(popped.text.startsWith('{"items":[{ "a" : 1 },7,"x"],"count":3')).toBe(true)
  },
  'an item may be as deep as its size allows': async ({ q }) => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    await q.push(`{"item":${deep}}`)
    const popped = await q.call('POST', 'pop')
    expect(popped.text.startsWith(`{"items":[${deep}],`)).toBe(true)
  },
  'a priority is an integer by value, and 0 unless given': async ({ q }) => {
    for (const priority of ['2147483647', '1.0', '10e-1', '-0', '2E0']) {
      await q.push(`{"item":"${priority}","priority":${priority}}`)
    }
    await q.push('{"item":"none"}')
    const { details, items } = await q.pop('count=10')
    const pairs = items.map((item: string, i: number) => [item, details[i].priority])
    expect(pairs).toEqual([
      ['-0', 0],
      ['none', 0],
      ['1.0', 1],
      ['10e-1', 1],
      ['2E0', 2],
      ['2147483647', 2147483647],
    ])
  },
  'a push with the same key and body has one effect, and the same answer again': async ({ q }) => {
    const send = (body: string) =>
      q.call('POST', 'push', { body, headers: { 'Idempotency-Key': 'order 17' } })
    const pushed = await send('{"item":1.0}')
    expect(pushed.headers).not.toHaveProperty('idempotency-replayed')
    const first = expectOk(pushed)
    const again = await send('{ "item" : 1.0 }')
    expect(expectOk(again)).toEqual(first)
    expect(again.headers['idempotency-replayed']).toBe('true')
    expectError(await send('{"item":1}'), 422, 'IDEMPOTENCY_CONFLICT')
    expectError(await send('{"item":1.0,"priority":1}'), 422, 'IDEMPOTENCY_CONFLICT')
    expect((await q.inspect()).count).toBe(1)
  },
  'the error of a push that can never fit says so, and not to come again': async ({ q }) => {
    expectOk(await q.call('PUT', 'config', { body: '{"capacity":2}' }))
    await q.push({ item: 1 })
    const full = await q.post('push', { items: [{ item: 2 }, { item: 3 }] })
    expect(expectError(full, 429, 'QUEUE_FULL').retryable).toBe(true)
    const tooMany = await q.post('push', { items: [{ item: 2 }, { item: 3 }, { item: 4 }] })
    expect(expectError(tooMany, 429, 'QUEUE_FULL').retryable).toBe(false)
    expect(tooMany.headers['retry-after']).toBeUndefined()
  },
  'queue ids are case-sensitive, and may be 100 characters long': async ({ call, id }) => {
    const long = `${id}.${'Q'.repeat(99)}`.slice(0, 100)
    for (const one of [id, id.toUpperCase(), long, `${long}-deadletter`, `_${id}.-`]) {
      await push(call, one, { item: one })
    }
    for (const one of [id, id.toUpperCase(), long, `${long}-deadletter`, `_${id}.-`]) {
      expect((await pop(call, one, 'count=2')).items).toEqual([one])
    }
  },
  'an id is decoded once, whatever of it was encoded': async ({ q, call, id }) => {
    await q.push({ item: 1 })
    const encoded = [...id].map((c) => `%${c.charCodeAt(0).toString(16)}`).join('')
    expect((await pop(call, encoded)).items).toEqual([1])
    const twice = encoded.replaceAll('%', '%25')
    expectError(await call('POST', path(twice, 'pop')), 400, 'INVALID_QUEUE_ID')
  },
}
