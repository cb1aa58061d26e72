import { expect } from 'vitest'
import { type Case, json } from '../call.ts'
import { expectError, expectOk, lock, path, push } from './actions.ts'

const jsonType = { 'Content-Type': 'application/json' }
/** What curl sends with `-d` and no header. */
const curlType = { 'Content-Type': 'application/x-www-form-urlencoded' }

/** The calls that ../shared/sources print, and the answers they print. */
export const sourceCases: readonly Case[] = [
  {
    name: 'Example 1: basic acknowledgement flow',
    async run({ call, queue }) {
      const id = queue()
      const item = { task_id: 123, action: 'send_email' }
      const body = '{"item": {"task_id": 123, "action": "send_email"}}'
      expectOk(await call('POST', path(id, 'push'), { headers: jsonType, body }))
      const popped = expectOk(await call('POST', path(id, 'pop'), { query: 'require_ack=true' }))
      expect(popped).toMatchObject({ items: [item], lock_id: expect.stringMatching(/^.{11}$/) })
      const settled = await call('POST', path(id, 'acknowledge'), {
        headers: jsonType,
        body: `{"lock_id": "${popped.lock_id}"}`,
      })
      expect(expectOk(settled)).toMatchObject({ success: true, items_acknowledged: 1 })
    },
  },
  {
    name: 'Example 2: a lock prevents concurrent pops',
    async run({ call, queue }) {
      const id = queue()
      await push(call, id, { item: 1 })
      const locked = await lock(call, id)
      expect(locked.locked).toBe(true)
      const second = await call('POST', path(id, 'pop'))
      expect(second.status).toBe(423)
      expect(json(second)).toMatchObject({
        message: 'Queue is locked pending acknowledgement',
        lock_expires_at: locked.lock_expires_at,
      })
    },
  },
  {
    name: 'Example 3: automatic expiration, with the line as it is printed',
    async run({ call, queue, pass }) {
      const id = queue()
      await push(call, id, { item: { id: 1 } })
      const { lock_id, lock_expires_at } = await lock(call, id, 'ttl_seconds=1')
      expect(lock_expires_at).toEqual(expect.any(Number))
      await pass(1_100)
      const late = await call('POST', path(id, 'acknowledge'), {
        headers: curlType,
        body: `{"lock_id": "${lock_id}"}`,
      })
      expect(late.status).toBe(410)
      expect(json(late)).toMatchObject({
        success: false,
        message: 'Lock has expired',
        error_code: 'LOCK_EXPIRED',
      })
      expect((await lock(call, id)).items).toEqual([{ id: 1 }])
    },
  },
  {
    name: 'Example 4: a pop as it always was',
    async run({ call, queue }) {
      const id = queue()
      for (const n of Array(5).keys()) await push(call, id, { item: { id: n } })
      const popped = expectOk(await call('POST', path(id, 'pop'), { query: 'count=5' }))
      expect(popped).toMatchObject({ items: [0, 1, 2, 3, 4].map((id) => ({ id })), count: 5 })
      expect(popped).not.toHaveProperty('lock_id')
      expect((await call('POST', path(id, 'pop'))).text).toContain('"items":[],"count":0')
    },
  },
  {
    name: 'the answer of a pop with acknowledgement has the printed keys, in the printed order',
    async run({ call, queue }) {
      const id = queue()
      await push(call, id, { item: { id: 1 } })
      const popped = await call('POST', path(id, 'pop'), { query: 'require_ack=true' })
      const start =
        /^\{"items":\[\{"id":1\}\],"count":1,"locked":true,"lock_id":"[^"]{11}","lock_expires_at":\d+\.\d+/
      expect(popped.text).toMatch(start)
    },
  },
  {
    name: 'the answers of an acknowledgement are as printed',
    async run({ call, queue }) {
      const id = queue()
      const acknowledge = (lock_id: string) =>
        call('POST', path(id, 'acknowledge'), { body: JSON.stringify({ lock_id }) })
      expect(json(await acknowledge('abc123def456'))).toMatchObject({
        success: false,
        message: 'No active lock found',
      })
      expectError(await acknowledge('abc123def456'), 404, 'LOCK_NOT_FOUND')
      await push(call, id, { item: 1 })
      const { lock_id } = await lock(call, id)
      expect(json(await acknowledge('abc123def456'))).toMatchObject({
        success: false,
        message: 'Invalid lock_id',
      })
      expectError(await acknowledge('abc123def456'), 400, 'INVALID_LOCK_ID')
      expect((await acknowledge(lock_id)).text).toBe(
        '{"success":true,"message":"Items acknowledged successfully","items_acknowledged":1}',
      )
    },
  },
  {
    name: '200 items pushed in a loop come back in a loop',
    async run({ call, queue }) {
      const id = queue()
      for (let i = 1; i <= 200; i += 1) {
        const body = `{"item": {"id": ${i}}}`
        expectOk(await call('POST', path(id, 'push'), { headers: jsonType, body }))
      }
      for (let i = 1; i <= 200; i += 1) {
        expect(expectOk(await call('POST', path(id, 'pop'))).items).toEqual([{ id: i }])
      }
    },
  },
]
