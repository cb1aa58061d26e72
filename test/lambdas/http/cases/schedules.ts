import { expect } from 'vitest'
import { type Cases, expectError, expectOk, nowSeconds, type on } from './actions.ts'

const put = (q: ReturnType<typeof on>, name: string, body: unknown, ifMatch?: string) =>
  q.call('PUT', `schedules/${name}`, {
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: ifMatch === undefined ? {} : { 'If-Match': ifMatch },
  })

const monday = { cron: '0 9 * * 1', time_zone: 'Europe/Berlin', item: { report: 1 } }

export const scheduleCases: Cases = {
  'a schedule is put, shown with its item as it was, listed, and deleted': async ({ q }) => {
    const made = await put(q, 'weekly', '{"item": {"b":1.0, "a":2} ,"cron":"0  9 * * 1"}')
    const body = expectOk(made)
    expect(body).toMatchObject({
      name: 'weekly',
      cron: '0 9 * * 1',
      time_zone: 'UTC',
      priority: 0,
      missed: 'one',
      paused: false,
      etag: made.headers.etag,
    })
    expect(body.next_at).toBeGreaterThan(nowSeconds() - 60)
    const shown = await q.call('GET', 'schedules/weekly')
    expect(expectOk(shown)).toEqual(body)
    expect(shown.text).toContain('"item":{"b":1.0, "a":2}')
    const { item: _, ...listed } = body
    expect(expectOk(await q.call('GET', 'schedules'))).toEqual({ schedules: [listed] })
    expect(expectOk(await q.call('DELETE', 'schedules/weekly'))).toEqual({
      success: true,
      deleted: true,
    })
    expect(expectOk(await q.call('DELETE', 'schedules/weekly')).deleted).toBe(false)
    expect(expectOk(await q.call('GET', 'schedules'))).toEqual({ schedules: [] })
  },
  'a schedule is changed only as If-Match names it': async ({ q }) => {
    const first = (await put(q, 'a', { every_seconds: 60, item: 1 })).headers.etag as string
    const again = await put(q, 'a', { every_seconds: 60, item: 1 })
    expect(again.headers.etag).toBe(first)
    const second = await put(q, 'a', { every_seconds: 60, item: 2 }, first)
    expect(expectOk(second).etag).not.toBe(first)
    for (const stale of [first, '"nonsense"', '"*"', `W/${second.headers.etag}`]) {
      const refused = await put(q, 'a', { every_seconds: 60, item: 3 }, stale)
      expectError(refused, 412, 'VERSION_MISMATCH')
      const headers = { 'If-Match': stale }
      expectError(await q.call('DELETE', 'schedules/a', { headers }), 412, 'VERSION_MISMATCH')
    }
    expectOk(await put(q, 'a', { every_seconds: 60, item: 3 }, '*'))
  },
  'a schedule that is not there matches no If-Match': async ({ q }) => {
    for (const tag of ['*', '"x"', 'W/"x"', '"x", "y"']) {
      const refused = await put(q, 'none', { every_seconds: 60, item: 1 }, tag)
      expectError(refused, 412, 'VERSION_MISMATCH')
      const options = { headers: { 'If-Match': tag } }
      expectError(await q.call('DELETE', 'schedules/none', options), 412, 'VERSION_MISMATCH')
    }
    expect(expectOk(await q.call('GET', 'schedules'))).toEqual({ schedules: [] })
  },
  'a schedule runs at once, and is paused and resumed': async ({ q }) => {
    expectOk(await put(q, 'a', { ...monday, priority: 4 }))
    const before = expectOk(await q.call('GET', 'schedules/a'))
    const { ids } = expectOk(await q.post('schedules/a/run'))
    expect((await q.pop()).details).toMatchObject([{ id: ids[0], priority: 4 }])
    const paused = expectOk(await q.post('schedules/a/pause'))
    expect(paused).toMatchObject({ paused: true })
    expect(paused).not.toHaveProperty('next_at')
    expect(expectOk(await q.post('schedules/a/pause', {}))).toEqual(paused)
    const resumed = expectOk(await q.post('schedules/a/resume'))
    expect(resumed).toMatchObject({ paused: false, next_at: before.next_at })
    expectError(await q.post('schedules/a/run', { now: true }), 400, 'UNKNOWN_FIELD')
  },
  'a schedule starts and ends at the given times': async ({ q }) => {
    const startsAt = Math.ceil(nowSeconds()) + 3_600
    const bounds = { starts_at: startsAt, ends_at: startsAt + 60 }
    const body = expectOk(await put(q, 'a', { every_seconds: 60, item: null, ...bounds }))
    expect(body).toMatchObject({ ...bounds, next_at: startsAt, every_seconds: 60, item: null })
  },
  'what is wrong with a schedule is refused by name': async ({ q }) => {
    const wrong: [Record<string, unknown>, string, string?][] = [
      [{ item: 1 }, 'cron'],
      [{ ...monday, every_seconds: 60 }, 'every_seconds'],
      [{ item: 1, every_seconds: 9 }, 'every_seconds'],
      [{ item: 1, every_seconds: 60, time_zone: 'UTC' }, 'time_zone'],
      [{ ...monday, cron: '0 9 * *' }, 'cron'],
      [{ ...monday, cron: '0 0 30 2 *' }, 'cron'],
      [{ ...monday, time_zone: 'Mars/Olympus' }, 'time_zone'],
      [{ ...monday, missed: 'some' }, 'missed'],
      [{ ...monday, starts_at: 1.5 }, 'starts_at'],
      [{ ...monday, ends_at: 5 }, 'ends_at'],
      [{ ...monday, priority: -1 }, 'priority', 'INVALID_PRIORITY'],
      [{ cron: '0 9 * * 1' }, 'item', 'INVALID_ITEM'],
      [{ ...monday, timezone: 'UTC' }, 'timezone', 'UNKNOWN_FIELD'],
    ]
    for (const [body, field, code = 'INVALID_PARAMETER'] of wrong) {
      expect(expectError(await put(q, 'a', body), 400, code).field).toBe(field)
    }
    const named = expectError(await put(q, 'a%20b', monday), 400, 'INVALID_PARAMETER')
    expect(named.field).toBe('name')
  },
  'a queue has a hundred schedules at most': async ({ q }) => {
    const names = Array.from({ length: 100 }, (_, n) => `s${n}`)
    await Promise.all(names.map(async (name) => expectOk(await put(q, name, monday))))
    expectError(await put(q, 'one-more', monday), 409, 'TOO_MANY_SCHEDULES')
    expectOk(await put(q, 's7', { ...monday, item: 2 }))
    for (const name of names) await q.call('DELETE', `schedules/${name}`)
  },
  'a schedule that is not there is not found': async ({ q }) => {
    expectError(await q.call('GET', 'schedules/no'), 404, 'SCHEDULE_NOT_FOUND')
    for (const action of ['run', 'pause', 'resume']) {
      expectError(await q.post(`schedules/no/${action}`), 404, 'SCHEDULE_NOT_FOUND')
    }
  },
}
