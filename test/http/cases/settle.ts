import { expect } from 'vitest'
import type { Case } from '../call.ts'
import {
  expectError,
  expectOk,
  inspect,
  lock,
  nowSeconds,
  path,
  pop,
  post,
  push,
  pushItems,
} from './actions.ts'

export const settleCases: readonly Case[] = [
  {
    name: 'acknowledging a lock settles all of it',
    async run({ call, queue }) {
      const id = queue()
      await pushItems(call, id, ['a', 'b', 'c'])
      const { lock_id } = await lock(call, id, 'count=2')
      const answer = await post(call, id, 'acknowledge', { lock_id })
      expect(answer.text).toBe(
        '{"success":true,"message":"Items acknowledged successfully","items_acknowledged":2}',
      )
      expect((await pop(call, id, 'count=5')).items).toEqual(['c'])
    },
  },
  {
    name: 'an acknowledge that is repeated gets its answer again',
    async run({ call, queue }) {
      const id = queue()
      await pushItems(call, id, ['a', 'b'])
      const { lock_id } = await lock(call, id, 'count=2')
      const first = await post(call, id, 'acknowledge', { lock_id })
      expect((await post(call, id, 'acknowledge', { lock_id })).text).toBe(first.text)
      await pushItems(call, id, ['c'])
      await lock(call, id)
      expect((await post(call, id, 'acknowledge', { lock_id })).text).toBe(first.text)
    },
  },
  {
    name: 'some of a lock can be acknowledged; the rest stays locked',
    async run({ call, queue }) {
      const id = queue()
      await pushItems(call, id, ['a', 'b', 'c'])
      const { lock_id, details } = await lock(call, id, 'count=3')
      const ids = [details[0].id, details[2].id]
      expect(
        expectOk(await post(call, id, 'acknowledge', { lock_id, ids })).items_acknowledged,
      ).toBe(2)
      expectError(await call('POST', path(id, 'pop')), 423, 'QUEUE_LOCKED')
      expect(expectOk(await post(call, id, 'release', { lock_id })).items_released).toBe(1)
      expect((await pop(call, id, 'count=5')).items).toEqual(['b'])
    },
  },
  {
    name: 'an id that is not of the lock is refused',
    async run({ call, queue }) {
      const id = queue()
      const { ids } = await pushItems(call, id, ['a', 'b'])
      const { lock_id } = await lock(call, id)
      for (const wrong of [ids[1], 'nonsense', `${ids[0]}0`]) {
        const refused = await post(call, id, 'acknowledge', { lock_id, ids: [wrong] })
        expect(expectError(refused, 400, 'INVALID_PARAMETER').message).toContain('ids')
      }
    },
  },
  {
    name: 'many locks are acknowledged with a result each',
    async run({ call, queue }) {
      const id = queue()
      await pushItems(call, id, ['a', 'b', 'c'])
      const first = await lock(call, id, 'count=2')
      const second = await lock(call, id, 'allow_competing_consumers=true')
      const all = { lock_ids: [first.lock_id, second.lock_id] }
      expect(expectOk(await post(call, id, 'acknowledge', all))).toEqual({
        success: true,
        message: 'Items acknowledged successfully',
        items_acknowledged: 3,
        results: [
          { lock_id: first.lock_id, success: true, items_acknowledged: 2 },
          { lock_id: second.lock_id, success: true, items_acknowledged: 1 },
        ],
      })
      const mixed = { lock_ids: [first.lock_id, 'AAAAAAAAAAA'] }
      expect(expectOk(await post(call, id, 'acknowledge', mixed))).toMatchObject({
        success: false,
        items_acknowledged: 2,
        results: [
          { success: true, items_acknowledged: 2 },
          {
            lock_id: 'AAAAAAAAAAA',
            success: false,
            error_code: 'LOCK_NOT_FOUND',
            retryable: false,
          },
        ],
      })
    },
  },
  {
    name: 'up to 100 locks at once, and not one more',
    async run({ call, queue }) {
      const id = queue()
      const locks = (n: number) => ({ lock_ids: Array(n).fill('AAAAAAAAAAA') })
      expect(expectOk(await post(call, id, 'acknowledge', locks(100))).results).toHaveLength(100)
      for (const n of [0, 101]) {
        expectError(await post(call, id, 'acknowledge', locks(n)), 400, 'INVALID_PARAMETER')
      }
    },
  },
  {
    name: 'without a live lock an unknown one is 404, beside one it is 400',
    async run({ call, queue }) {
      const id = queue()
      await pushItems(call, id, ['a', 'b'])
      const unknown = { lock_id: 'AAAAAAAAAAA' }
      for (const verb of ['acknowledge', 'release', 'dead-letter']) {
        expectError(await post(call, id, verb, unknown), 404, 'LOCK_NOT_FOUND')
      }
      const extend = { ...unknown, ttl_seconds: 5 }
      expectError(await post(call, id, 'extend-lock', extend), 404, 'LOCK_NOT_FOUND')
      await lock(call, id)
      for (const verb of ['acknowledge', 'release', 'dead-letter']) {
        expectError(await post(call, id, verb, unknown), 400, 'INVALID_LOCK_ID')
      }
      expectError(await post(call, id, 'extend-lock', extend), 400, 'INVALID_LOCK_ID')
      await lock(call, id, 'allow_competing_consumers=true')
      expectError(await post(call, id, 'acknowledge', unknown), 400, 'INVALID_LOCK_ID')
    },
  },
  {
    name: 'an acknowledge after the expiry is 410, and the items are back in front',
    async run({ call, queue, pass }) {
      const id = queue()
      await pushItems(call, id, ['a'], 1)
      await pushItems(call, id, ['b'], 2)
      const { lock_id } = await lock(call, id, 'count=2&ttl_seconds=1')
      await pushItems(call, id, ['late'], 1)
      await pass(1_100)
      expectError(await post(call, id, 'acknowledge', { lock_id }), 410, 'LOCK_EXPIRED')
      const again = await lock(call, id, 'count=5')
      expect(again.items).toEqual(['a', 'late', 'b'])
      const deliveries = again.details.map((it: { deliveries: number }) => it.deliveries)
      expect(deliveries).toEqual([2, 1, 2])
      expectError(await post(call, id, 'acknowledge', { lock_id }), 410, 'LOCK_EXPIRED')
    },
  },
  {
    name: 'an acknowledge is 410 also when the sweeper was there first',
    async run({ call, queue, pass, sweep }) {
      if (sweep === undefined) return
      const id = queue()
      await pushItems(call, id, ['a', 'b'])
      const { lock_id } = await lock(call, id, 'ttl_seconds=1')
      await pass(1_100)
      await sweep()
      expect((await inspect(call, id)).locks).toEqual([])
      expectError(await post(call, id, 'acknowledge', { lock_id }), 410, 'LOCK_EXPIRED')
      expect((await pop(call, id, 'count=5')).items).toEqual(['a', 'b'])
    },
  },
  {
    name: 'extending a lock sets its expiry to now and the time asked for',
    async run({ call, queue }) {
      const id = queue()
      await push(call, id, { item: 1 })
      const { lock_id, lock_expires_at } = await lock(call, id, 'ttl_seconds=100')
      for (const [asked, used] of [
        [200, 200],
        [10, 10],
        [1000, 300],
        [0, 1],
      ] as const) {
        const body = { lock_id, ttl_seconds: asked }
        const extended = expectOk(await post(call, id, 'extend-lock', body))
        expect(extended).toMatchObject({ success: true, lock_id, ttl_seconds: used })
        expect(extended.lock_expires_at).not.toBe(lock_expires_at)
        expect(Math.abs(extended.lock_expires_at - nowSeconds() - used)).toBeLessThan(10)
      }
    },
  },
  {
    name: 'the time of an extension must be an integer, and be there',
    async run({ call, queue }) {
      const id = queue()
      for (const ttl of ['1.5', '"5"', 'null', 'true', '1e400']) {
        const body = `{"lock_id":"AAAAAAAAAAA","ttl_seconds":${ttl}}`
        const refused = await call('POST', path(id, 'extend-lock'), { body })
        expect(expectError(refused, 400, 'INVALID_TTL').message).toContain('ttl_seconds')
      }
      const missing = await post(call, id, 'extend-lock', { lock_id: 'AAAAAAAAAAA' })
      expectError(missing, 400, 'INVALID_TTL')
    },
  },
  {
    name: 'released items are back at once, in order, with a delivery more',
    async run({ call, queue }) {
      const id = queue()
      await pushItems(call, id, ['a', 'b', 'c'])
      const { lock_id } = await lock(call, id, 'count=2')
      const answer = await post(call, id, 'release', { lock_id })
      expect(answer.text).toBe('{"success":true,"items_released":2}')
      const again = await lock(call, id, 'count=3')
      expect(again.items).toEqual(['a', 'b', 'c'])
      const deliveries = again.details.map((it: { deliveries: number }) => it.deliveries)
      expect(deliveries).toEqual([2, 2, 1])
      expectError(await post(call, id, 'acknowledge', { lock_id }), 410, 'LOCK_EXPIRED')
    },
  },
  {
    name: 'some of a lock can be released',
    async run({ call, queue }) {
      const id = queue()
      await pushItems(call, id, ['a', 'b'])
      const { lock_id, details } = await lock(call, id, 'count=2')
      const ids = [details[1].id]
      expect(expectOk(await post(call, id, 'release', { lock_id, ids })).items_released).toBe(1)
      expect(expectOk(await post(call, id, 'acknowledge', { lock_id })).items_acknowledged).toBe(1)
      expect((await pop(call, id, 'count=5')).items).toEqual(['b'])
    },
  },
  {
    name: 'dead-lettered items are in the dead-letter queue, at their priority, with the reason',
    async run({ call, queue }) {
      const id = queue()
      await pushItems(call, id, ['a', 'b', 'c'], 7)
      const { lock_id, details } = await lock(call, id, 'count=3')
      const body = { lock_id, ids: [details[1].id], reason: 'bad "address" \u2028' }
      expect(expectOk(await post(call, id, 'dead-letter', body))).toEqual({
        success: true,
        items_dead_lettered: 1,
        dead_letter_queue: `${id}-deadletter`,
      })
      expect(expectOk(await post(call, id, 'dead-letter', { lock_id })).items_dead_lettered).toBe(2)
      const dead = await pop(call, `${id}-deadletter`, 'count=5')
      expect(dead.items).toEqual(['b', 'a', 'c'])
      expect(dead.details[0]).toMatchObject({ priority: 7, reason: body.reason })
      expect((await inspect(call, id)).count).toBe(0)
    },
  },
  {
    name: 'a dead-letter queue has none of its own',
    async run({ call, queue }) {
      const id = `${queue()}-deadletter`
      await push(call, id, { item: 1 })
      const { lock_id } = await lock(call, id)
      const refused = await post(call, id, 'dead-letter', { lock_id })
      expectError(refused, 400, 'INVALID_QUEUE_ID')
    },
  },
  {
    name: 'an item that came back too often is in the dead-letter queue, and in no other',
    async run({ call, queue }) {
      const id = queue()
      expectOk(await call('PUT', path(id, 'config'), { body: '{"max_deliveries":2}' }))
      await pushItems(call, id, ['poison', 'good'])
      for (const _ of Array(2)) {
        const { items, lock_id } = await lock(call, id)
        expect(items).toEqual(['poison'])
        expectOk(await post(call, id, 'release', { lock_id }))
      }
      expect((await pop(call, id, 'count=5')).items).toEqual(['good'])
    },
  },
  {
    name: 'a body that a lock needs must be there, and have a lock_id',
    async run({ call, queue }) {
      const id = queue()
      for (const verb of ['acknowledge', 'extend-lock', 'release', 'dead-letter']) {
        expectError(await call('POST', path(id, verb)), 400, 'INVALID_JSON')
        const missing = expectError(await post(call, id, verb, {}), 400, 'INVALID_PARAMETER')
        expect(missing.message).toContain('lock_id')
        for (const lock_id of ['', 5, null, ['x'], 'x'.repeat(65)]) {
          const body = { lock_id, ...(verb === 'extend-lock' && { ttl_seconds: 5 }) }
          const wrong = expectError(await post(call, id, verb, body), 400, 'INVALID_PARAMETER')
          expect(wrong.message).toContain('lock_id')
        }
        const unknown = await post(call, id, verb, { lock_id: 'x', ttl_seconds: 5, extra: 1 })
        expectError(unknown, 400, 'UNKNOWN_FIELD')
      }
    },
  },
  {
    name: 'a reason is text of at most 256 characters',
    async run({ call, queue }) {
      const id = queue()
      for (const reason of ['x'.repeat(257), 5, null]) {
        const refused = await post(call, id, 'dead-letter', { lock_id: 'AAAAAAAAAAA', reason })
        expect(expectError(refused, 400, 'INVALID_PARAMETER').message).toContain('reason')
      }
    },
  },
]
