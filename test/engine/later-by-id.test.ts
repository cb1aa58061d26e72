import { describe, expect, it } from 'vitest'
import type { MoveRequest, PushItem, Queues } from '../../engine/queues.ts'
import { onSimulated } from './stage.ts'
import { bulky, drain, named, popItems, push, pushOneByOne, textsOf } from './traffic.ts'
import { freezeAtTransaction, freezeAtUpdate } from './wire.ts'

// Cancel and move take ids of scheduled items among others, each answered for itself.

const FAR_SECONDS = 2_000
const far = (name: string, count: number, priority = 0): PushItem[] =>
  named(name, count, priority).map((item) => ({ ...item, delaySeconds: FAR_SECONDS }))

const cancelled = async (queues: Queues, queue: string, ids: readonly string[]) =>
  (await queues.cancel(queue, ids)).map(({ result }) => result).join(' ')

async function moved(queues: Queues, queue: string, request: MoveRequest) {
  const results = await queues.move(queue, request)
  expect(results.map(({ id }) => id)).toEqual(request.ids)
  return {
    results: results.map(({ result }) => result).join(' '),
    newIds: results.flatMap((it) => (it.result === 'moved' && it.newId ? [it.newId] : [])),
  }
}

const scheduledTexts = async (queues: Queues, queue: string) =>
  (await queues.scheduled(queue, { limit: 100 })).items.map(({ text }) => text).join('')

describe('A cancel of scheduled items', () => {
  it('takes waiting ones beside them, and answers each in its place.', async () => {
    const { queues, queue } = onSimulated()
    const [a, b, c, d] = (await push(queues, queue, [...far('a', 2), ...named('b', 2)])).ids
    await popItems(queues, queue, { count: 1 })
    const ids = [d, b, c, 't-zzzz-0-AAAAAAAA', b] as string[]
    expect(await cancelled(queues, queue, ids)).toBe('cancelled cancelled gone gone cancelled')
    expect(await cancelled(queues, queue, [a as string])).toBe('cancelled')
    expect(await queues.inspect(queue)).toMatchObject({ count: 0, scheduledCount: 0 })
    expect(await cancelled(queues, 'nowhere', [a as string])).toBe('gone')
  })

  it('refuses what is no id by its place, and changes nothing then.', async () => {
    const { queues, queue } = onSimulated()
    const { ids } = await push(queues, queue, far('a', 1))
    const refused = queues.cancel(queue, [...ids, 't-1'])
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_PARAMETER', field: 'ids[1]' })
    expect((await queues.inspect(queue)).scheduledCount).toBe(1)
  })

  it('says gone of what has joined: it has another id there.', async () => {
    const { stage, queues, queue } = onSimulated()
    const { ids } = await push(queues, queue, [{ text: '1', delaySeconds: 5 }])
    stage.clock.pass(6_000)
    await queues.returnExpiredLocks()
    expect(await cancelled(queues, queue, ids)).toBe('gone')
    const [item] = (await queues.browse(queue)).items
    expect(await cancelled(queues, queue, [item?.id as string])).toBe('cancelled')
  })

  it('takes what is due and has not joined yet, and no pop has it then.', async () => {
    const { stage, queues, queue } = onSimulated()
    const { ids } = await push(queues, queue, [{ text: '1', delaySeconds: 5 }])
    stage.clock.pass(6_000)
    expect(await cancelled(queues, queue, ids)).toBe('cancelled')
    expect((await queues.pop(queue)).kind).toBe('empty')
  })

  it('agrees with a join that comes in between, either way.', async () => {
    const { stage, queues, queue } = onSimulated()
    const { ids } = await push(queues, queue, [{ text: '1', delaySeconds: 5 }])
    stage.clock.pass(6_000)
    const slow = freezeAtUpdate()
    const cancelling = cancelled(stage.engine(slow), queue, ids)
    await slow.reached
    expect(textsOf((await popItems(queues, queue)).items)).toEqual(['1'])
    slow.thaw()
    expect(await cancelling).toBe('gone')

    const again = await push(queues, queue, [{ text: '2', delaySeconds: 5 }])
    stage.clock.pass(6_000)
    const joining = freezeAtUpdate()
    const popping = stage.engine(joining).pop(queue)
    await joining.reached
    expect(await cancelled(queues, queue, again.ids)).toBe('cancelled')
    joining.thaw()
    expect((await popping).kind).toBe('empty')
  })

  it('takes what is left in a row of which a full queue joins a part meanwhile.', async () => {
    const { stage, queues, queue } = onSimulated()
    const later = (delaySeconds: number) =>
      Array.from({ length: 6 }, (_, n) => ({ text: bulky(`${n}`, 450), delaySeconds }))
    const ids = await pushOneByOne(queues, queue, later(5))
    await pushOneByOne(queues, queue, later(6))
    await queues.configure(queue, { capacity: 10 })
    await push(queues, queue, named('a', 9))
    stage.clock.pass(8_000)
    let done = false
    const slow = stage.engine({
      async before({ name }) {
        if (done || name !== 'QueryCommand') return
        done = true
        for (let pops = 0; pops < 5; pops += 1) await queues.pop(queue)
        const room = { capacity: 10_000 }
        await queues.configure(queue, room)
        await queues.configure(queue, { capacity: 6 })
      },
    })
    const last = ids.at(-1) as string
    const result = await cancelled(slow, queue, [last])
    const items = await drain(queues, queue)
    await queues.configure(queue, { capacity: 10_000 })
    items.push(...(await drain(queues, queue)))
    const isThere = items.some(({ scheduledId }) => scheduledId === last)
    expect({ result, isThere }).toEqual({ result: 'cancelled', isThere: false })
  })
})

describe('A move of scheduled items', () => {
  it('changes their priority and their time, in order, and tells their new ids.', async () => {
    const { stage, queues, queue } = onSimulated()
    const ids = await pushOneByOne(queues, queue, far('a', 60))
    const deliverAtMs = stage.clock.nowMs() + 5_000
    const request = { ids: ids.toReversed(), deliverAtMs, priority: 2 }
    const { newIds } = await moved(queues, queue, request)
    stage.clock.pass(7_000)
    const items = await drain(queues, queue)
    expect(textsOf(items)).toEqual(named('a', 60).map(({ text }) => text))
    expect(items.map(({ scheduledId }) => scheduledId)).toEqual(newIds.toReversed())
    expect(items.every(({ priority }) => priority === 2)).toBe(true)
  })

  it('to another queue keeps them scheduled there, large ones too, and in one place.', async () => {
    const { stage, queues, queue } = onSimulated()
    const to = stage.queue()
    const large = { text: bulky('large', 100_000), delaySeconds: FAR_SECONDS, priority: 4 }
    const { ids } = await push(queues, queue, [...far('a', 3), large, ...named('b', 1)])
    const { results, newIds } = await moved(queues, queue, { ids, queue: to })
    expect(results).toBe('moved moved moved moved moved')
    expect(await queues.inspect(queue)).toMatchObject({ count: 0, scheduledCount: 0 })
    expect(await queues.inspect(to)).toMatchObject({ count: 1, scheduledCount: 4 })
    expect(await cancelled(queues, to, [newIds[3] as string])).toBe('cancelled')
    expect(await cancelled(queues, to, [newIds[1] as string])).toBe('cancelled')
    stage.clock.pass(1_000 * FAR_SECONDS + 1_000)
    await queues.returnExpiredLocks()
    expect(textsOf(await drain(queues, to))).toEqual(['"b0"', '"a0"', '"a2"'])
    const rows = (await stage.store.rows()).filter(({ pk }) => /^b#/.test(`${pk}`))
    expect(rows).toEqual([])
  })

  it('leaves those that are there already, with their ids.', async () => {
    const { queues, queue } = onSimulated()
    const { ids } = await push(queues, queue, [...far('a', 1, 3), ...far('b', 1)])
    const { results, newIds } = await moved(queues, queue, { ids, priority: 3 })
    expect(results).toBe('moved moved')
    expect(newIds[0]).toBe(ids[0])
    expect(newIds[1]).not.toBe(ids[1])
  })

  it('of a bulk that was cancelled is gone for a move to where it was.', async () => {
    const { queues, queue } = onSimulated()
    const items = Array.from({ length: 20 }, (_, n) => ({
      text: bulky(`${n}`, 200),
      delaySeconds: FAR_SECONDS,
    }))
    const { ids } = await push(queues, queue, items)
    const some = ids.slice(0, 1)
    expect(await cancelled(queues, queue, some)).toBe('cancelled')
    expect((await moved(queues, queue, { ids: some, priority: 0 })).results).toBe('gone')
  })

  it('to a time that is none is refused, and changes nothing.', async () => {
    const { stage, queues, queue } = onSimulated()
    const { ids } = await push(queues, queue, [...far('a', 1), ...named('b', 1)])
    for (const deliverAtMs of [Number.NaN, stage.clock.nowMs() + 200_000_000_000]) {
      const refused = queues.move(queue, { ids, deliverAtMs, priority: 5 })
      await expect(refused).rejects.toMatchObject({
        code: 'INVALID_PARAMETER',
        field: 'deliver_at',
      })
    }
    expect(await scheduledTexts(queues, queue)).toBe('"a0"')
    expect((await queues.scheduled(queue)).items).toMatchObject([{ id: ids[0], priority: 0 }])
  })

  it('and a cancel at the same moment agree.', async () => {
    const { stage, queues, queue } = onSimulated()
    const { ids } = await push(queues, queue, far('a', 1))
    const slow = freezeAtTransaction()
    const moving = moved(stage.engine(slow), queue, { ids, queue: stage.queue() })
    await slow.reached
    expect(await cancelled(queues, queue, ids)).toBe('cancelled')
    slow.thaw()
    expect((await moving).results).toBe('gone')
  })

  it('keeps the other queue from being forgotten at that moment.', async () => {
    const { stage, queues, queue } = onSimulated()
    const to = stage.queue()
    await push(queues, to, named('x', 1))
    await popItems(queues, to)
    const { ids } = await push(queues, queue, far('a', 1))
    stage.clock.pass(20 * 60_000)
    let done = false
    const sweeper = stage.engine({
      async before({ name }) {
        if (done || name !== 'DeleteCommand') return
        done = true
        await moved(queues, queue, { ids, queue: to })
      },
    })
    await sweeper.returnExpiredLocks()
    expect(done).toBe(true)
    expect((await queues.inspect(to)).scheduledCount).toBe(1)
    expect(await scheduledTexts(queues, to)).toBe('"a0"')
  })
})
