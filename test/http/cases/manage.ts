import { expect } from 'vitest'
import type { Call, Case } from '../call.ts'
import { expectError, expectOk, inspect, lock, path, pop, post, pushItems } from './actions.ts'

const configure = (call: Call, id: string, change: unknown, ifMatch?: string) =>
  call('PUT', path(id, 'config'), {
    body: JSON.stringify(change),
    ...(ifMatch !== undefined && { headers: { 'If-Match': ifMatch } }),
  })

const defaults = {
  segment_size: 100,
  buffer_segments: 1,
  max_deliveries: null,
  capacity: null,
  push_limit: null,
  pop_limit: null,
}

export const manageCases: readonly Case[] = [
  {
    name: 'a configuration is changed setting by setting; null takes one away',
    async run({ call, queue }) {
      const id = queue()
      expect(expectOk(await call('GET', path(id, 'config')))).toEqual(defaults)
      const first = { segment_size: 50, buffer_segments: 3, max_deliveries: 5, capacity: 1000 }
      const whole = { ...defaults, ...first }
      expect(expectOk(await configure(call, id, first))).toEqual(whole)
      expect(expectOk(await configure(call, id, { capacity: 7 }))).toEqual({
        ...whole,
        capacity: 7,
      })
      const without = { max_deliveries: null, capacity: null }
      expect(expectOk(await configure(call, id, without))).toEqual({ ...whole, ...without })
      const answer = await call('GET', path(id, 'config'))
      expect(expectOk(answer)).toEqual({ ...whole, ...without })
      expect((await inspect(call, id)).configuration).toEqual({ ...whole, ...without })
    },
  },
  {
    name: 'limits are whole once they are set, and replaced as a whole',
    async run({ call, queue }) {
      const id = queue()
      const pop_limit = { max_requests: 5, window_millis: 60_000, algorithm: 'smooth', burst: 2 }
      const set = await configure(call, id, { push_limit: { max_requests: 3 }, pop_limit })
      const push_limit = {
        max_requests: 3,
        window_millis: 1_000,
        algorithm: 'window',
        burst: 1,
      }
      expect(expectOk(set)).toEqual({ ...defaults, push_limit, pop_limit })
      expect((await inspect(call, id)).configuration).toEqual({
        ...defaults,
        push_limit,
        pop_limit,
      })
      const given = expectOk(await call('GET', path(id, 'config')))
      expect(expectOk(await configure(call, id, given))).toEqual(given)
      const other = expectOk(await configure(call, id, { pop_limit: { max_requests: 100 } }))
      const plain = { max_requests: 100, window_millis: 1_000, algorithm: 'window', burst: 1 }
      expect(other).toEqual({ ...defaults, push_limit, pop_limit: plain })
      const none = await configure(call, id, { push_limit: null, pop_limit: null })
      expect(expectOk(none)).toEqual(defaults)
    },
  },
  {
    name: 'limits out of their bounds are refused by name',
    async run({ call, queue }) {
      const id = queue()
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
        const refused = expectError(await configure(call, id, change), 400, 'INVALID_PARAMETER')
        expect(refused.field).toBe(field)
      }
      const foreign = await configure(call, id, { push_limit: { max_requests: 9, shards: 2 } })
      expect(expectError(foreign, 400, 'UNKNOWN_FIELD').field).toBe('push_limit.shards')
      expect(expectOk(await call('GET', path(id, 'config')))).toEqual(defaults)
    },
  },
  {
    name: 'beyond its limits a queue answers 429 with the time to wait, and nothing is done',
    async run({ call, queue }) {
      const id = queue()
      // A day, so that no run of this test ends in another window (but at midnight, UTC).
      const limit = { max_requests: 2, window_millis: 86_400_000 }
      expectOk(await configure(call, id, { push_limit: limit, pop_limit: limit }))
      await pushItems(call, id, ['a'])
      await pushItems(call, id, ['b'])
      const pushed = await post(call, id, 'push', { item: 'c' })
      expect((await pop(call, id)).items).toEqual(['a'])
      const { lock_id } = await lock(call, id)
      const popped = await call('POST', path(id, 'pop'), { query: `acknowledge=${lock_id}` })
      for (const answer of [pushed, popped]) {
        const refused = expectError(answer, 429, 'RATE_LIMITED')
        expect(refused.retryable).toBe(true)
        expect(refused).not.toHaveProperty('allowed')
        expect(refused.retry_after_ms).toBeGreaterThan(0)
        const seconds = Math.ceil((refused.retry_after_ms as number) / 1_000)
        expect(answer.headers['retry-after']).toBe(String(seconds))
      }
      expect((await inspect(call, id)).count).toBe(1)
      expectOk(await configure(call, id, { push_limit: null, pop_limit: null }))
      expectOk(await post(call, id, 'acknowledge', { lock_id }))
    },
  },
  {
    name: 'what a GET of a configuration gives, a PUT takes',
    async run({ call, queue }) {
      const id = queue()
      const given = expectOk(await call('GET', path(id, 'config')))
      expect(expectOk(await configure(call, id, given))).toEqual(given)
    },
  },
  {
    name: 'a configuration is changed only at the revision that If-Match names',
    async run({ call, queue }) {
      const id = queue()
      const tagOf = async () => (await call('GET', path(id, 'config'))).headers.etag as string
      const initial = await tagOf()
      const changed = await configure(call, id, { capacity: 5 }, initial)
      expectOk(changed)
      expect(changed.headers.etag).toBe(await tagOf())
      expect(changed.headers.etag).not.toBe(initial)
      for (const stale of [initial, '"77"', '"nonsense"', `W/${changed.headers.etag}`, '""']) {
        const refused = await configure(call, id, { capacity: 6 }, stale)
        expectError(refused, 412, 'VERSION_MISMATCH')
      }
      expect(expectOk(await call('GET', path(id, 'config'))).capacity).toBe(5)
      expectOk(await configure(call, id, { capacity: 8 }, '*'))
      expectOk(await configure(call, id, { capacity: 9 }, `${initial}, ${await tagOf()}`))
      const none = await configure(call, id, { capacity: 10 }, `${initial}, "88"`)
      expectError(none, 412, 'VERSION_MISMATCH')
    },
  },
  {
    name: 'an If-Match that is no tag is refused by name',
    async run({ call, queue }) {
      const id = queue()
      for (const wrong of ['5', 'latest', '"1', '"1" "2"', '', '"1",']) {
        const refused = await configure(call, id, { capacity: 1 }, wrong)
        expect(expectError(refused, 400, 'INVALID_PARAMETER').message).toContain('If-Match')
      }
    },
  },
  {
    name: 'settings out of their bounds are refused by name',
    async run({ call, queue }) {
      const id = queue()
      const wrong = [
        ['segment_size', [0, 251, 1.5, '100', null]],
        ['buffer_segments', [0, 101, 1.5, true, null]],
        ['max_deliveries', [0, 1001, 2.5, '5']],
        ['capacity', [0, -1, 0.5, '5', 1e18]],
      ] as const
      for (const [name, values] of wrong) {
        for (const value of values) {
          const refused = await configure(call, id, { [name]: value })
          expect(expectError(refused, 400, 'INVALID_PARAMETER').message).toContain(name)
        }
      }
      const unknown = expectError(
        await configure(call, id, { segmentSize: 5 }),
        400,
        'UNKNOWN_FIELD',
      )
      expect(unknown.message).toContain('segmentSize')
      expectError(await call('PUT', path(id, 'config')), 400, 'INVALID_JSON')
      const dead = await configure(call, `${id}-deadletter`, { max_deliveries: 3 })
      expectError(dead, 400, 'INVALID_PARAMETER')
    },
  },
  {
    name: 'a purge removes all, locked items too, and counts them',
    async run({ call, queue }) {
      const id = queue()
      await pushItems(call, id, ['a', 'b', 'c'])
      await pushItems(call, id, ['d'], 5)
      const { lock_id } = await lock(call, id)
      const answer = await post(call, id, 'purge')
      expect(answer.text).toBe('{"success":true,"items_purged":4}')
      expect((await pop(call, id, 'count=5')).items).toEqual([])
      expectError(await post(call, id, 'acknowledge', { lock_id }), 410, 'LOCK_EXPIRED')
      expect(expectOk(await post(call, id, 'purge', {})).items_purged).toBe(0)
    },
  },
  {
    name: 'a purge of one priority leaves the others',
    async run({ call, queue }) {
      const id = queue()
      await pushItems(call, id, ['a'], 0)
      await pushItems(call, id, ['b', 'c'], 1)
      expect(expectOk(await post(call, id, 'purge', { priority: 1 })).items_purged).toBe(2)
      expect((await pop(call, id, 'count=5')).items).toEqual(['a'])
      for (const priority of [-1, 1.5, '0', null]) {
        expectError(await post(call, id, 'purge', { priority }), 400, 'INVALID_PRIORITY')
      }
    },
  },
  {
    name: 'a redrive puts items back where they came from, order and priority kept',
    async run({ call, queue }) {
      const id = queue()
      const dead = `${id}-deadletter`
      await pushItems(call, id, ['a', 'b'], 2)
      await pushItems(call, id, ['c'], 3)
      const { lock_id } = await lock(call, id, 'count=3')
      expectOk(await post(call, id, 'dead-letter', { lock_id }))
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
      const back = await pop(call, id, 'count=5')
      expect(back.items).toEqual(['a', 'b', 'c'])
      expect(back.details.map((it: { priority: number }) => it.priority)).toEqual([2, 2, 3])
      expect((await pop(call, dead, 'count=5')).items).toEqual(['by hand'])
    },
  },
  {
    name: 'a redrive needs a dead-letter queue, and a limit from 1 to 1,000',
    async run({ call, queue }) {
      const id = queue()
      expectError(await post(call, id, 'redrive'), 400, 'INVALID_QUEUE_ID')
      for (const limit of [0, 1001, 1.5, '5', null]) {
        const refused = await post(call, `${id}-deadletter`, 'redrive', { limit })
        expect(expectError(refused, 400, 'INVALID_PARAMETER').message).toContain('limit')
      }
    },
  },
]
