// What a call says about a name that it does not know.

import { describe, expect, it } from 'vitest'
import { httpCall } from './guided.ts'

const unknown = (field: string, rest: string) => ({ field, message: `Unknown ${rest}` })

describe('A name that is nearly right', () => {
  it.each([
    ['pop', 'requireAck=true', 'parameter "requireAck": it is require_ack, in the query'],
    ['pop', 'ack=true', 'parameter "ack": it is require_ack, in the query'],
    ['pop', 'Count=2', 'parameter "Count": it is count, in the query'],
    ['pop', 'ttl=5', 'parameter "ttl": it is ttl_seconds, in the query; it counts seconds'],
    ['pop', 'ttl_ms=5', 'parameter "ttl_ms": it is ttl_seconds, in the query; it counts seconds'],
    ['pop', 'ttlSecond=5', 'parameter "ttlSecond": it is ttl_seconds, in the query'],
    [
      'pop',
      'exclusive=true',
      'parameter "exclusive": it is the opposite of allow_competing_consumers, in the query',
    ],
    ['pop', 'noAck=true', 'parameter "noAck": it is the opposite of require_ack, in the query'],
    [
      'pop',
      'no_acknowledge=true',
      'parameter "no_acknowledge": it is the opposite of require_ack, in the query',
    ],
    ['pop', 'idempotency_key=k', 'parameter "idempotency_key": Idempotency-Key goes in a header'],
    ['pop', 'Idempotency-Key=k', 'parameter "Idempotency-Key": Idempotency-Key goes in a header'],
    ['pop', 'require_ac=true', 'parameter "require_ac": it is require_ack, in the query'],
    ['pop', 'waitSeconds=5', 'parameter "waitSeconds": it is wait_seconds, in the query'],
    ['purge', 'priority=5', 'parameter "priority": priority goes in the body'],
    ['purge', 'Priority=5', 'parameter "Priority": priority goes in the body'],
    ['acknowledge', 'lock_id=abc', 'parameter "lock_id": lock_id goes in the body'],
  ])('in the query of %s?%s is told what it is and where it goes.', async (verb, query, rest) => {
    const [field = ''] = query.split('=')
    expect(await httpCall(verb, { query })).toMatchObject(unknown(field, rest))
  })

  it.each([
    ['pop', { requireAck: true }, 'field "requireAck": require_ack goes in the query'],
    ['pop', { count: 2 }, 'field "count": count goes in the query'],
    ['pop', { ttl: 2 }, 'field "ttl": ttl_seconds goes in the query; it counts seconds'],
    [
      'pop',
      { exclusive: true },
      'field "exclusive": it is the opposite of allow_competing_consumers, in the query',
    ],
    [
      'push',
      { item: 1, idempotencyKey: 'k' },
      'field "idempotencyKey": Idempotency-Key goes in a header',
    ],
    ['purge', { prio: 5 }, 'field "prio": there are priority, ids'],
    ['purge', { Priority: 5 }, 'field "Priority": it is priority, in the body'],
    [
      'extend-lock',
      { lock_id: 'a', ttl_seconds: 1, ttlSeconds: 1 },
      'field "ttlSeconds": it is ttl_seconds, in the body',
    ],
    ['push', { item: 1, Priority: 5 }, 'field "Priority": it is priority, in the body'],
    [
      'push',
      { items: [{ item: 1, prioritty: 5 }] },
      'field "items[0].prioritty": it is priority, in the body',
    ],
    [
      'push',
      { item: 1, expires_in: 60 },
      'field "expires_in": it is expires_in_seconds, in the body; it counts seconds',
    ],
    [
      'push',
      { item: 1, ttl_seconds: 60 },
      'field "ttl_seconds": it is expires_in_seconds, in the body',
    ],
    [
      'push',
      { items: [{ item: 1, ttl: 60 }] },
      'field "items[0].ttl": it is expires_in_seconds, in the body; it counts seconds',
    ],
    [
      'push',
      { item: 1, delay: 60 },
      'field "delay": it is delay_seconds, in the body; it counts seconds',
    ],
    [
      'push',
      { item: 1, dellay_seconds: 60 },
      'field "dellay_seconds": it is delay_seconds, in the body',
    ],
    ['push', { items: [{ item: 1 }], nothing_near: 5 }, 'field "nothing_near": there is items'],
  ])('in the body of %s, %j, is told the same.', async (verb, body, rest) => {
    const answer = await httpCall(verb, { body: JSON.stringify(body) })
    expect(answer).toMatchObject({ error_code: 'UNKNOWN_FIELD', message: `Unknown ${rest}` })
  })

  it.each([
    [
      'push',
      { items: [{ item: 1 }], item: 2 },
      'item does not go with items: send one or the other',
    ],
    [
      'push',
      { items: [{ item: 1 }], priority: 2 },
      'priority does not go beside items: give it to each of them, as items[0].priority',
    ],
    [
      'acknowledge',
      { lock_ids: ['a'], lock_id: 'b' },
      'lock_id does not go with lock_ids: send one or the other',
    ],
    [
      'acknowledge',
      { lock_ids: ['a'], ids: ['b'] },
      'ids does not go with lock_ids: send one or the other',
    ],
    ['acknowledge', { lockId: 'a' }, 'lock_id is missing; "lockId" is not its name'],
    ['push', { message: 1 }, 'item is missing; "message" is not its name'],
    ['push', { itme: 1 }, 'item is missing; "itme" is not its name'],
    ['push', { items: [1, 2], priority: 3 }, 'items[0] must be an object such as {"item": 1}'],
    ['push', { items: [{ itme: 1 }] }, 'items[0].item is missing; "itme" is not its name'],
    [
      'push',
      { items: [{ item: 1, prioirty: 2 }] },
      'Unknown field "items[0].prioirty": it is priority, in the body',
    ],
    ['push', { priority: 1 }, 'item is missing'],
  ])('of %s, %j', async (verb, body, message) => {
    expect(await httpCall(verb, { body: JSON.stringify(body) })).toMatchObject({ message })
  })

  it('is never told to leave it out: what it was to change would change.', async () => {
    const names = ['requireAck', 'x', '', 'a'.repeat(3_000), '__proto__', 'constructor', 'a[b]']
    for (const verb of ['push', 'pop', 'purge', 'redrive', 'acknowledge', 'release']) {
      for (const name of names) {
        const query = await httpCall(verb, { query: `${encodeURIComponent(name)}=1` })
        const body = await httpCall(verb, { body: JSON.stringify({ [name]: 1 }) })
        for (const { message } of [query, body]) {
          expect(message).not.toMatch(/leave/)
          expect(message.length).toBeLessThan(300)
        }
      }
    }
  })
})

describe('Other sentences', () => {
  it('name the parameter by which a lock came.', async () => {
    const answer = await httpCall('pop', { query: 'acknowledge=nope&require_ack=true' })
    expect(answer).toMatchObject({ error_code: 'LOCK_NOT_FOUND', field: 'acknowledge' })
  })

  it('say why a dead-letter queue of a dead-letter queue is no queue.', async () => {
    const answer = await httpCall('pop', { queue: 'x-deadletter-deadletter' })
    expect(answer).toMatchObject({ error_code: 'INVALID_QUEUE_ID', field: 'id' })
    expect(answer.message).toContain('a dead-letter queue has none of its own')
  })
})
