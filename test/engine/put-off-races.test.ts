import { describe, expect, it } from 'vitest'
import type { MoveRequest, Queues } from '../../engine/queues.ts'
import { onSimulated } from './stage.ts'
import {
  bulky,
  codeOf,
  drain,
  lockItems,
  named,
  popItems,
  push,
  pushOneByOne,
  textsOf,
} from './traffic.ts'
import { freezeAt, freezeAtTransaction, freezeAtUpdate, throttled, timedOut } from './wire.ts'

// A move of waiting items to a time ahead, while others are at work and answers are lost.

const FAR_MS = 100_000
const competing = { requireAck: true, competing: true, ttlSeconds: 10 } as const

async function holding(count: number, bytes = 4) {
  const { stage, queues, queue } = onSimulated()
  const items = Array.from({ length: count }, (_, n) => ({ text: bulky(`a${n}`, bytes) }))
  const ids = await pushOneByOne(queues, queue, bytes > 4 ? items : named('a', count))
  const deliverAtMs = stage.clock.nowMs() + FAR_MS
  const at = (n: number) => ids[n] as string
  /** Everything, once it is due and no lock holds it. */
  const left = async (...queuesToLook: string[]) => {
    stage.clock.pass(2 * FAR_MS)
    const texts: string[] = []
    for (const one of queuesToLook) texts.push(...textsOf(await drain(queues, one)))
    return texts.map((text) => text.slice(1, 3)).join(' ')
  }
  return { stage, queues, queue, ids, at, deliverAtMs, left }
}

const results = async (queues: Queues, queue: string, request: MoveRequest) =>
  (await queues.move(queue, request)).map(({ result }) => result).join(' ')

const targets = [undefined, 'others'] as const

describe('A move to a time ahead', () => {
  it.each(targets)('says locked where a claim came first (to %s).', async (to) => {
    const { stage, queues, queue, at, deliverAtMs, left } = await holding(4)
    await lockItems(queues, queue, { ...competing, count: 1 })
    const frozen = freezeAtTransaction()
    const request = { ids: [at(1), at(2)], deliverAtMs, queue: to }
    const moving = results(stage.engine(frozen), queue, request)
    await frozen.reached
    await lockItems(queues, queue, { ...competing, ttlSeconds: 120, count: 1 })
    frozen.thaw()
    expect(await moving).toBe('locked moved')
    expect(await left(queue, to ?? 'nowhere')).toBe('a0 a1 a3 a2')
  })

  it.each(targets)('says gone where a pop came first (to %s).', async (to) => {
    const { stage, queues, queue, at, deliverAtMs, left } = await holding(3)
    const frozen = freezeAtTransaction()
    const request = { ids: [at(0), at(2)], deliverAtMs, queue: to }
    const moving = results(stage.engine(frozen), queue, request)
    await frozen.reached
    expect(textsOf((await popItems(queues, queue)).items)).toEqual(['"a0"'])
    frozen.thaw()
    expect(await moving).toBe('gone moved')
    expect(await left(queue, to ?? 'nowhere')).toBe('a1 a2')
  })

  it.each(['a claim', 'a pop'])('keeps its items from %s that has not seen it.', async (what) => {
    const { stage, queues, queue, at, deliverAtMs, left } = await holding(4)
    await lockItems(queues, queue, { ...competing, count: 1 })
    const frozen = freezeAtUpdate()
    const consumer = stage.engine(frozen)
    const request = what === 'a claim' ? { ...competing, ttlSeconds: 20 } : { competing: true }
    const popping = popItems(consumer, queue, { ...request, count: 2 })
    await frozen.reached
    expect(await results(queues, queue, { ids: [at(1)], deliverAtMs })).toBe('moved')
    frozen.thaw()
    expect(textsOf((await popping).items)).toEqual(['"a2"', '"a3"'])
    expect(await left(queue)).toBe(what === 'a claim' ? 'a0 a2 a3 a1' : 'a0 a1')
  })

  it.each(targets)('looks again if what is scheduled there has changed (to %s).', async (to) => {
    const { stage, queues, queue, ids, deliverAtMs, left } = await holding(3, 900)
    const there = to ?? queue
    const [scheduled = ''] = (await push(queues, there, [{ text: '"s0"', delaySeconds: 1 }])).ids
    const frozen = freezeAtTransaction()
    const moving = results(stage.engine(frozen), queue, { ids, deliverAtMs, queue: to })
    await frozen.reached
    expect(await queues.cancel(there, [scheduled])).toMatchObject([{ result: 'cancelled' }])
    frozen.thaw()
    expect(await moving).toBe('moved moved moved')
    expect((await queues.inspect(there)).scheduledCount).toBe(3)
    expect(await stage.rows(there, 'b')).toHaveLength(1)
    expect(await left(queue, to ?? 'nowhere')).toBe('a0 a1 a2')
  })

  it('does not mind pushes for later that come at the same time.', async () => {
    const { stage, queues, queue, ids, deliverAtMs, left } = await holding(2)
    const frozen = freezeAtTransaction()
    const moving = results(stage.engine(frozen), queue, { ids, deliverAtMs })
    await frozen.reached
    await push(queues, queue, [{ text: '"s0"', delaySeconds: 50 }])
    frozen.thaw()
    expect(await moving).toBe('moved moved')
    expect((await queues.inspect(queue)).scheduledCount).toBe(3)
    expect(await left(queue)).toBe('s0 a0 a1')
  })

  it.each(targets)('tells the new ids also if its answer was lost (to %s).', async (to) => {
    const { stage, queues, queue, ids, deliverAtMs, left } = await holding(3, 900)
    let isLost = false
    const other = stage.engine({
      after({ name }) {
        if (name !== 'TransactWriteCommand' || isLost) return
        isLost = true
        throw timedOut()
      },
    })
    const moved = await other.move(queue, { ids, deliverAtMs, queue: to })
    const there = await queues.scheduled(to ?? queue)
    expect(moved.map((one) => one.result === 'moved' && one.newId)).toEqual(
      there.items.map(({ id }) => id),
    )
    expect(await left(queue, to ?? 'nowhere')).toBe('a0 a1 a2')
  })

  it.each(targets)('says so if nobody can tell whether it happened (to %s).', async (to) => {
    for (const when of ['before', 'after'] as const) {
      const { stage, queues, queue, ids, deliverAtMs, left } = await holding(3, 900)
      let isOut = false
      const other = stage.engine({
        [when]: ({ name }: { readonly name: string }) => {
          isOut ||= name === 'TransactWriteCommand'
          if (isOut) throw timedOut()
        },
      })
      const moving = other.move(queue, { ids, deliverAtMs, queue: to })
      await expect(moving).rejects.toMatchObject({ outcome: 'unknown' })
      const [here, there] = [await queues.inspect(queue), await queues.inspect(to ?? queue)]
      const isDone = when === 'after'
      expect([here.count, there.scheduledCount]).toEqual(isDone ? [0, 3] : [3, 0])
      expect(await left(queue, to ?? 'nowhere')).toBe('a0 a1 a2')
    }
  })

  it('tells that a part of it may have happened if another part failed.', async () => {
    const { stage, queues, queue, ids, deliverAtMs } = await holding(2)
    const { ids: scheduled } = await push(queues, queue, [{ text: '"s0"', delaySeconds: 50 }])
    let transactions = 0
    const other = stage.engine({
      before({ name }) {
        if (name === 'TransactWriteCommand' && ++transactions > 1) throw throttled()
      },
    })
    const moving = other.move(queue, { ids: [...scheduled, ...ids], deliverAtMs })
    await expect(moving).rejects.toMatchObject({ outcome: 'unknown' })
    expect(await queues.inspect(queue)).toMatchObject({ count: 0, scheduledCount: 3 })
  })

  it.each(targets)('leaves no batch behind if it is refused for certain (to %s).', async (to) => {
    const { stage, queue, ids, deliverAtMs, left } = await holding(3, 900)
    const before = (await stage.store.rows()).length
    const other = stage.engine({
      before({ name }) {
        if (name === 'TransactWriteCommand') throw throttled()
      },
    })
    expect(await codeOf(other.move(queue, { ids, deliverAtMs, queue: to }))).toBe(
      'STORE_UNAVAILABLE',
    )
    // The other queue may have been made for it.
    expect((await stage.store.rows()).length).toBe(before + (to ? 1 : 0))
    expect(await left(queue, to ?? 'nowhere')).toBe('a0 a1 a2')
  })

  it.each(targets)('leaves every item in one place wherever it dies (to %s).', async (to) => {
    for (let request = 1; ; request += 1) {
      const { stage, queues, queue, ids, deliverAtMs, left } = await holding(6, 700)
      const chosen = { ids: [1, 3, 4].map((n) => ids[n] as string), deliverAtMs, queue: to }
      const frozen = freezeAt(request)
      const moving = results(stage.engine(frozen), queue, chosen)
      const isOver = await Promise.race([moving.then(() => true), frozen.reached.then(() => false)])
      if (isOver) {
        expect(request).toBeGreaterThan(3)
        return
      }
      expect(await results(queues, queue, chosen)).toMatch(/^(moved|gone) \1 \1$/)
      const texts = (await left(queue, to ?? 'nowhere')).split(' ')
      expect(texts.slice(-3)).toEqual(['a1', 'a3', 'a4'])
      expect(texts.toSorted()).toEqual(['a0', 'a1', 'a2', 'a3', 'a4', 'a5'])
    }
  })
})
