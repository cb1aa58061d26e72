import { expect } from 'vitest'
import { oddTexts } from '../../support/odd-texts.ts'
import { json } from '../call.ts'
import { type Cases, expectError, expectOk, nowSeconds, path, pop, push } from './actions.ts'

/** And one that looks like a push. */
const kept = [...oddTexts, '{"item":1,"priority":2,"items":[]}']

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
  'an item comes back byte for byte, from a pop and from a look': async ({ q }) => {
    for (const item of kept) await q.push(`{"item":${item}}`)
    await q.push(`{"items":[${kept.map((item) => `{"item":${item}}`).join(',')}]}`)
    const texts = [...kept, ...kept].join(',')
    const seen = await q.call('GET', 'items', { query: 'limit=100' })
    expect(seen.text.startsWith(`{"items":[${texts}],"count":${2 * kept.length},`)).toBe(true)
    const popped = await q.call('POST', 'pop', { query: 'count=100' })
    expect(popped.text.startsWith(`{"items":[${texts}],"count":${2 * kept.length},`)).toBe(true)
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
  'what is no expiry is refused, and its field named': async ({ q }) => {
    const bad: readonly (readonly [object, string])[] = [
      [{ expires_in_seconds: -1 }, 'expires_in_seconds'],
      [{ expires_in_seconds: 1.5 }, 'expires_in_seconds'],
      [{ expires_in_seconds: 157_766_401 }, 'expires_in_seconds'],
      [{ expires_at: '2030-01-01' }, 'expires_at'],
      [{ expires_at: -1 }, 'expires_at'],
      [{ expires_at: 9_999_999_999 }, 'expires_at'],
      [{ expires_at: 1_924_992_000_000 }, 'expires_at'],
      [{ deliver_at: 1_924_992_000_000 }, 'deliver_at'],
      [{ expires_in_seconds: 60, expires_at: 4_000_000_000 }, 'expires_at'],
    ]
    for (const [times, field] of bad) {
      const body = JSON.stringify({ item: 1, ...times })
      const refused = expectError(await q.call('POST', 'push', { body }), 400, 'INVALID_PARAMETER')
      expect(refused.field).toBe(field)
    }
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
  'an item of 256 KiB passes, and one of a byte more is 413 with the limit': async ({ q }) => {
    const large = `"${'x'.repeat(256 * 1024 - 2)}"`
    await q.push(`{"item":${large}}`)
    const tooLarge = await q.call('POST', 'push', { body: `{"item":${large} }`.replace('x', 'xx') })
    expect(expectError(tooLarge, 413, 'ITEM_TOO_LARGE').limit_bytes).toBe(262_144)
    expect((await q.pop()).items[0]).toHaveLength(256 * 1024 - 2)
  },
  'a body of 2.5 MiB passes, and one of a byte more is 413 with the limit': async ({ q }) => {
    const item = `{"item":"${'é'.repeat(120_000)}"}`
    const text = `{"items":[${Array(10).fill(item).join(',')}]`
    const limit = 2.5 * 1024 * 1024
    const room = limit - Buffer.byteLength(text)
    await q.push(`${text}${' '.repeat(room - 1)}}`)
    const tooLarge = await q.call('POST', 'push', { body: `${text}${' '.repeat(room)}}` })
    expect(expectError(tooLarge, 413, 'BODY_TOO_LARGE').limit_bytes).toBe(limit)
    expect((await q.inspect()).count).toBe(10)
  },
  'a push of 1,000 items passes, and one of 1,001 stores nothing': async ({ q }) => {
    const tooMany = { items: Array.from({ length: 1001 }, (_, item) => ({ item })) }
    const refused = expectError(await q.post('push', tooMany), 400, 'INVALID_ITEM')
    expect(refused.message).toContain('items')
    expect((await q.inspect()).count).toBe(0)
    const pushed = await q.push({ items: tooMany.items.slice(1) })
    expect(pushed.items_pushed).toBe(1000)
    expect(new Set(pushed.ids).size).toBe(1000)
  },
  'a bulk push is all or nothing': async ({ q }) => {
    const items = [{ item: 1 }, { item: 2, priority: -1 }]
    const refused = expectError(await q.post('push', { items }), 400, 'INVALID_PRIORITY')
    expect(refused.message).toContain('items[1].priority')
    expect((await q.inspect()).count).toBe(0)
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
  'a key belongs to its queue': async ({ call, queue }) => {
    const request = { body: '{"item":1}', headers: { 'Idempotency-Key': 'one' } }
    const send = async (id: string) => expectOk(await call('POST', path(id, 'push'), request))
    const [first, second] = [await send(queue()), await send(queue())]
    expect(first.ids).not.toEqual(second.ids)
  },
  'a full queue answers 429 and stores nothing': async ({ q }) => {
    expectOk(await q.call('PUT', 'config', { body: '{"capacity":2}' }))
    await q.push({ item: 1 })
    const full = await q.post('push', { items: [{ item: 2 }, { item: 3 }] })
    const refused = expectError(full, 429, 'QUEUE_FULL')
    expect(refused.retryable).toBe(true)
    expect(Number(full.headers['retry-after'])).toBeGreaterThan(0)
    const tooMany = await q.post('push', { items: [{ item: 2 }, { item: 3 }, { item: 4 }] })
    expect(expectError(tooMany, 429, 'QUEUE_FULL').retryable).toBe(false)
    expect(tooMany.headers['retry-after']).toBeUndefined()
    await q.push({ item: 2 })
    expectError(await q.post('push', { item: 3 }), 429, 'QUEUE_FULL')
    await q.pop()
    await q.push({ item: 4 })
    expect((await q.pop()).items).toEqual([2])
    expect((await q.pop()).items).toEqual([4])
  },
  'ids are the same at push, at a look and at pop': async ({ q }) => {
    const { ids } = await q.pushItems(['a', 'b'])
    const idsOf = (answer: { details: { id: string }[] }) => answer.details.map((it) => it.id)
    expect(idsOf(expectOk(await q.call('GET', 'items')))).toEqual(ids)
    expect(idsOf(await q.pop('count=2'))).toEqual(ids)
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
  'every answer names its request': async ({ q }) => {
    const good = await q.call('POST', 'pop')
    expect(good.headers['x-request-id']).toMatch(/\S/)
    const bad = await q.call('POST', 'pop', { query: 'count=0' })
    expect(json(bad).request_id).toBe(bad.headers['x-request-id'])
  },
}
