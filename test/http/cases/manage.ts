import { expect } from 'vitest'
import type { Call, Case } from '../call.ts'
import { expectError, expectOk, inspect, lock, path, pop, post, pushItems } from './actions.ts'

const configure = (call: Call, id: string, change: unknown, ifMatch?: string) =>
  call('PUT', path(id, 'config'), {
    body: JSON.stringify(change),
    ...(ifMatch !== undefined && { headers: { 'If-Match': ifMatch } }),
  })

const defaults = { segment_size: 100, buffer_segments: 1, max_deliveries: null, capacity: null }

export const manageCases: readonly Case[] = [
  {
    name: 'a configuration is changed setting by setting; null takes one away',
    async run({ call, queue }) {
      const id = queue()
      expect(expectOk(await call('GET', path(id, 'config')))).toEqual(defaults)
      const first = { segment_size: 50, buffer_segments: 3, max_deliveries: 5, capacity: 1000 }
      expect(expectOk(await configure(call, id, first))).toEqual(first)
      expect(expectOk(await configure(call, id, { capacity: 7 }))).toEqual({
        ...first,
        capacity: 7,
      })
      const without = { max_deliveries: null, capacity: null }
      expect(expectOk(await configure(call, id, without))).toEqual({ ...first, ...without })
      const answer = await call('GET', path(id, 'config'))
      expect(expectOk(answer)).toEqual({ ...first, ...without })
      expect((await inspect(call, id)).configuration).toEqual({ ...first, ...without })
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
