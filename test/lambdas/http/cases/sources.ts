import { expect } from 'vitest'
import { json } from '../call.ts'
import { type Cases, expectError, expectOk } from './actions.ts'

const jsonType = { 'Content-Type': 'application/json' }
/** What curl sends with `-d` and no header. */
const curlType = { 'Content-Type': 'application/x-www-form-urlencoded' }

/** The calls that ../shared/sources print, and the answers they print. */
export const sourceCases: Cases = {
  'Example 1: basic acknowledgement flow': async ({ q }) => {
    const item = { task_id: 123, action: 'send_email' }
    const body = '{"item": {"task_id": 123, "action": "send_email"}}'
    expectOk(await q.call('POST', 'push', { headers: jsonType, body }))
    const popped = expectOk(await q.call('POST', 'pop', { query: 'require_ack=true' }))
    expect(popped).toMatchObject({ items: [item], lock_id: expect.stringMatching(/^.{11}$/) })
    const settled = await q.call('POST', 'acknowledge', {
      headers: jsonType,
      body: `{"lock_id": "${popped.lock_id}"}`,
    })
    expect(expectOk(settled)).toMatchObject({ success: true, items_acknowledged: 1 })
  },
  'Example 2: a lock prevents concurrent pops': async ({ q }) => {
    await q.push({ item: 1 })
    const locked = await q.lock()
    expect(locked.locked).toBe(true)
    const second = await q.call('POST', 'pop')
    expect(second.status).toBe(423)
    expect(json(second)).toMatchObject({
      message: 'Queue is locked pending acknowledgement',
      lock_expires_at: locked.lock_expires_at,
      retryable: true,
    })
    const wait = Number(second.headers['retry-after'])
    expect([wait > 20, wait <= 31]).toEqual([true, true])
  },
  'Example 3: automatic expiration, with the line as it is printed': async ({ q, pass }) => {
    await q.push({ item: { id: 1 } })
    const { lock_id, lock_expires_at } = await q.lock('ttl_seconds=1')
    expect(lock_expires_at).toEqual(expect.any(Number))
    await pass(1_100)
    const late = await q.call('POST', 'acknowledge', {
      headers: curlType,
      body: `{"lock_id": "${lock_id}"}`,
    })
    expect(late.status).toBe(410)
    expect(json(late)).toMatchObject({
      success: false,
      message: 'Lock has expired',
      error_code: 'LOCK_EXPIRED',
    })
    expect((await q.lock()).items).toEqual([{ id: 1 }])
  },
  'Example 4: a pop as it always was': async ({ q }) => {
    for (const n of Array(5).keys()) await q.push({ item: { id: n } })
    const popped = expectOk(await q.call('POST', 'pop', { query: 'count=5' }))
    expect(popped).toMatchObject({ items: [0, 1, 2, 3, 4].map((id) => ({ id })), count: 5 })
    expect(popped).not.toHaveProperty('lock_id')
    expect((await q.call('POST', 'pop')).text).toContain('"items":[],"count":0')
  },
  'a pop with acknowledgement answers the printed keys, in their order': async ({ q }) => {
    await q.push({ item: { id: 1 } })
    const popped = await q.call('POST', 'pop', { query: 'require_ack=true' })
    const start =
      /^\{"items":\[\{"id":1\}\],"count":1,"locked":true,"lock_id":"[^"]{11}","lock_expires_at":\d+\.\d+/
    expect(popped.text).toMatch(start)
  },
  'the answers of an acknowledgement are as printed': async ({ q }) => {
    const acknowledge = (lock_id: string) =>
      q.call('POST', 'acknowledge', { body: JSON.stringify({ lock_id }) })
    expect(json(await acknowledge('abc123def456'))).toMatchObject({
      success: false,
      message: 'No active lock found',
    })
    expectError(await acknowledge('abc123def456'), 404, 'LOCK_NOT_FOUND')
    await q.push({ item: 1 })
    const { lock_id } = await q.lock()
    expect(json(await acknowledge('abc123def456'))).toMatchObject({
      success: false,
      message: 'Invalid lock_id',
    })
    expectError(await acknowledge('abc123def456'), 400, 'INVALID_LOCK_ID')
    expect((await acknowledge(lock_id)).text).toBe(
      '{"success":true,"message":"Items acknowledged successfully","items_acknowledged":1}',
    )
  },
  '200 items pushed in a loop come back in a loop': async ({ q }) => {
    for (let i = 1; i <= 200; i += 1) {
      const body = `{"item": {"id": ${i}}}`
      expectOk(await q.call('POST', 'push', { headers: jsonType, body }))
    }
    for (let i = 1; i <= 200; i += 1) {
      expect(expectOk(await q.call('POST', 'pop')).items).toEqual([{ id: i }])
    }
  },
}
