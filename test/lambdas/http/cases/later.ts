import { expect } from 'vitest'
import { type Cases, expectError, expectOk, nowSeconds, on, withinASecond } from './actions.ts'

export const laterCases: Cases = {
  'an item for later is listed until its time, and then popped with its old id and its times':
    async ({ call, queue, pass }) => {
      const { q, soon, list } = await withinASecond(async () => {
        const q = on(call, queue())
        const soon = await q.push({ item: 'soon', delay_seconds: 1 })
        const deliver_at = Math.ceil(nowSeconds()) + 3_600
        const { ids } = await q.push({
          items: [{ item: 'late', deliver_at, priority: 2 }, { item: 'now' }],
        })
        const state = await q.inspect()
        const next_due_at = expect.any(Number)
        expect(state).toMatchObject({ count: 1, scheduled_count: 2, next_due_at })
        const list = expectOk(await q.call('GET', 'scheduled'))
        expect(list).toMatchObject({
          items: ['soon', 'late'],
          count: 2,
          details: [
            { id: soon.ids[0], priority: 0 },
            { id: ids[0], priority: 2, due_at: deliver_at },
          ],
        })
        const second = expectOk(await q.call('GET', 'scheduled', { query: `from=${deliver_at}` }))
        expect(second.items).toEqual(['late'])
        const page = expectOk(await q.call('GET', 'scheduled', { query: 'limit=1' }))
        const rest = expectOk(await q.call('GET', 'scheduled', { query: `cursor=${page.cursor}` }))
        expect([...page.items, ...rest.items]).toEqual(list.items)
        expect((await q.pop('count=10')).items).toEqual(['now'])
        return { q, soon, list }
      })
      await pass(2_000)
      const { lock_id } = await q.lock()
      const [listed] = expectOk(await q.call('GET', 'items')).details
      expectOk(await q.post('release', { lock_id }))
      const popped = await q.pop('count=10')
      expect(popped.items).toEqual(['soon'])
      const [detail] = popped.details
      expect(listed).toMatchObject({ scheduled_id: detail.scheduled_id, due_at: detail.due_at })
      expect(detail).toMatchObject({ scheduled_id: soon.ids[0], due_at: list.details[0].due_at })
      expect(detail.due_at - detail.pushed_at).toBeGreaterThanOrEqual(1)
      expect(expectOk(await q.post('purge'))).toMatchObject({ items_purged: 1 })
    },

  'a time in the past is now': async ({ q }) => {
    const { ids } = await q.push({
      items: [
        { item: 1, deliver_at: 5 },
        { item: 2, delay_seconds: 0 },
        // In 1970, which the engine would not take from a program: there it looks like seconds.
        { item: 3, deliver_at: 1_700_000 },
      ],
    })
    expect(ids.some((id: string) => id.startsWith('t-'))).toBe(false)
    const moved = expectOk(await q.post('move', { ids: [ids[2]], deliver_at: 1_700_000 }))
    expect(moved.results).toMatchObject([{ result: 'moved' }])
    expectOk(await q.call('GET', 'scheduled', { query: 'from=1700000&to=1700001' }))
    expect((await q.pop('count=3')).items).toEqual([1, 2, 3])
  },

  'a call that takes no scheduled id says that it is one': async ({ q }) => {
    const { ids } = await q.push({ items: [{ item: 1, delay_seconds: 600 }] })
    const purge = expectError(await q.post('purge', { ids }), 400, 'INVALID_PARAMETER')
    expect([purge.field, purge.message]).toEqual([
      'ids[0]',
      'ids[0] is the id of a scheduled item, which only cancel and move take',
    ])
    const browse = await q.call('GET', 'items', { query: `from=${ids[0]}` })
    const { field, message } = expectError(browse, 400, 'INVALID_PARAMETER')
    expect([field, message]).toEqual(['from', expect.stringContaining('a scheduled item')])
  },

  'a cancel and a move take scheduled ids among others, and answer each': async ({
    q,
    id,
    call,
  }) => {
    const deliver_at = Math.ceil(nowSeconds()) + 3_600
    const { ids } = await q.push({
      items: [{ item: 'a', deliver_at }, { item: 'b' }, { item: 'c', deliver_at }],
    })
    const cancelled = expectOk(await q.post('cancel', { ids: [ids[1], ids[0], ids[0]] }))
    expect(cancelled.results).toEqual(
      [ids[1], ids[0], ids[0]].map((one) => ({ id: one, result: 'cancelled' })),
    )
    const move = { ids: [ids[2], ids[0], ids[1]], queue: `${id}-2`, priority: 3 }
    const { results } = expectOk(await q.post('move', move))
    expect(results).toEqual([
      { id: ids[2], result: 'moved', new_id: expect.stringMatching(/^t-/) },
      { id: ids[0], result: 'gone' },
      { id: ids[1], result: 'gone' },
    ])
    expect(expectOk(await q.call('GET', 'scheduled')).count).toBe(0)
    const there = expectOk(await call('GET', `/queue/${id}-2/scheduled`))
    const [{ new_id }] = results
    expect(there.details).toMatchObject([{ id: new_id, priority: 3, due_at: deliver_at }])
  },

  'a move puts off items that wait, and gives scheduled ones another time': async ({ q, pass }) => {
    const deliver_at = Math.ceil(nowSeconds()) + 3_600
    const { ids } = await q.push({
      items: [{ item: 'a', deliver_at }, { item: 'b' }, { item: 'c' }],
    })
    const put = expectOk(await q.post('move', { ids: [ids[2]], deliver_at: deliver_at + 60 }))
    expect(put.results).toEqual([
      { id: ids[2], result: 'moved', new_id: expect.stringMatching(/^t-/) },
    ])
    const { details } = expectOk(await q.call('GET', 'scheduled'))
    expect(details).toMatchObject([
      { id: ids[0], due_at: deliver_at },
      { id: put.results[0].new_id, due_at: deliver_at + 60 },
    ])
    const far = { ids: [ids[0]], deliver_at: deliver_at + 157_800_000 }
    const tooFar = await q.post('move', far)
    expect(expectError(tooFar, 400, 'INVALID_PARAMETER').field).toBe('deliver_at')
    const { results } = expectOk(await q.post('move', { ids: [ids[0]], deliver_at: 5 }))
    expect(results).toMatchObject([{ result: 'moved' }])
    await pass(1_000)
    expect((await q.pop('count=5')).items).toEqual(['b', 'a'])
  },
}
