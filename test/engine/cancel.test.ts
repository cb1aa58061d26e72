import { describe, expect, it } from 'vitest'
import { GAPS_MAX } from '../../engine/core/named-items.ts'
import type { Queues } from '../../engine/queues.ts'
import { onSimulated } from './stage.ts'
import {
  codeOf,
  drain,
  lockItems,
  named,
  popItems,
  push,
  pushOneByOne,
  textsOf,
  tidy,
} from './traffic.ts'
import { freezeAtUpdate, timedOut } from './wire.ts'

const competing = { requireAck: true, competing: true, ttlSeconds: 60 } as const

/** `cancelled locked gone` */
async function cancelled(queues: Queues, queue: string, ids: readonly string[]): Promise<string> {
  const results = await queues.cancel(queue, ids)
  expect(results.map(({ id }) => id)).toEqual(ids)
  return results.map(({ result }) => result).join(' ')
}

/** A queue of `"a0"`…, with their ids. */
async function holding(count: number) {
  const { stage, queues, queue } = onSimulated()
  const ids = await pushOneByOne(queues, queue, named('a', count))
  const left = async () => textsOf(await drain(queues, queue)).join('')
  return { stage, queues, queue, ids, at: (n: number) => ids[n] as string, left }
}

describe('A cancel', () => {
  it('takes out items wherever they wait, and pops step over the gaps.', async () => {
    const { queues, queue, at, left } = await holding(8)
    expect(await cancelled(queues, queue, [at(5), at(0), at(3)])).toBe(
      'cancelled cancelled cancelled',
    )
    expect((await queues.inspect(queue)).count).toBe(5)
    expect(await left()).toBe('"a1""a2""a4""a6""a7"')
  })

  it('is one write and one read of the record, whatever lies in between.', async () => {
    const { stage, queue, at } = await holding(60)
    const other = stage.engine()
    const ids = [at(3), at(9), at(40), at(59)]
    expect(await other.wire.during(() => other.cancel(queue, ids))).toEqual([
      'GetCommand',
      'UpdateCommand',
    ])
  })

  it('answers each item for itself: locked, popped, acknowledged, dead, never there.', async () => {
    const { queues, queue, at } = await holding(6)
    await queues.configure(queue, { maxDeliveries: 1 })
    const one = await lockItems(queues, queue, { ...competing, count: 1 })
    const two = await lockItems(queues, queue, { ...competing, count: 1 })
    await queues.pop(queue, { count: 1, competing: true })
    await lockItems(queues, queue, { ...competing, count: 1 })
    await queues.acknowledge(queue, { lockId: one.lock.id })
    await queues.release(queue, { lockId: two.lock.id })
    const never = `${at(0).split('-')[0]}-0-zz`
    const other = 'epoch_99-0-5'
    const ids = [at(0), at(1), at(2), at(3), at(4), never, other, at(4)]
    expect(await cancelled(queues, queue, ids)).toBe(
      'gone gone gone locked cancelled gone gone cancelled',
    )
    await queues.returnExpiredLocks()
    expect(await cancelled(queues, queue, [at(4)])).toBe('gone')
    expect(await cancelled(queues, 'nowhere', [at(5)])).toBe('gone')
  })

  it('takes what a lock held whose time is over, as a pop would.', async () => {
    const { stage, queues, queue, at, left } = await holding(4)
    await lockItems(queues, queue, { ...competing, count: 3, ttlSeconds: 10 })
    stage.clock.pass(11_000)
    expect(await cancelled(queues, queue, [at(1)])).toBe('cancelled')
    const back = await popItems(queues, queue, { count: 1 })
    expect(back.items[0]).toMatchObject({ text: '"a0"', deliveries: 2 })
    expect(await left()).toBe('"a2""a3"')
  })

  it('leaves claims going on up to each gap, and past it.', async () => {
    const { queues, queue, at } = await holding(8)
    await lockItems(queues, queue, { ...competing, count: 1 })
    expect(await cancelled(queues, queue, [at(4)])).toBe('cancelled')
    const texts: string[][] = []
    for (let i = 0; i < 3; i += 1) {
      const { items } = await lockItems(queues, queue, { ...competing, ttlSeconds: 120, count: 2 })
      texts.push(textsOf(items))
    }
    expect(texts).toEqual([
      ['"a1"', '"a2"'],
      ['"a3"', '"a5"'],
      ['"a6"', '"a7"'],
    ])
  })

  it('refuses ids by their place in the list, and lists that are empty or too long.', async () => {
    const { queues, queue, at } = await holding(2)
    const call = queues.cancel(queue, [at(0), at(1), 'nonsense'])
    await expect(call).rejects.toMatchObject({ code: 'INVALID_PARAMETER', field: 'ids[2]' })
    for (const ids of [[], Array.from({ length: 101 }, () => at(0))]) {
      await expect(queues.cancel(queue, ids)).rejects.toMatchObject({ field: 'ids' })
    }
    expect((await queues.inspect(queue)).count).toBe(2)
  })

  it('gives room back, and leaves the queue dry if it takes the last.', async () => {
    const { stage, queues, queue, ids } = await holding(3)
    await queues.configure(queue, { capacity: 3 })
    expect(await codeOf(push(queues, queue, named('b', 1)))).toBe('QUEUE_FULL')
    await queues.cancel(queue, ids)
    expect(await stage.record(queue)).toMatchObject({ dry: true, room: 3 })
    await push(queues, queue, named('b', 3))
    expect(textsOf(await drain(queues, queue))).toEqual(['"b0"', '"b1"', '"b2"'])
  })

  it('reaches into segments in S3, which are trimmed once the head is past them.', async () => {
    const { stage, queues, queue } = onSimulated()
    await queues.configure(queue, { segmentSize: 5 })
    const items = named('a', 60).map(({ text }) => ({ text: text.padEnd(200) }))
    const ids = await pushOneByOne(queues, queue, items)
    await tidy(queues, queue)
    expect(await stage.objects(queue)).not.toEqual([])
    const some = ids.filter((_, n) => n % 3 === 0)
    await queues.cancel(queue, some)
    await tidy(queues, queue)
    const texts = textsOf(await drain(queues, queue, 7)).map((text) => text.trim())
    expect(texts).toEqual(items.map(({ text }) => text.trim()).filter((_, n) => n % 3 !== 0))
    await tidy(queues, queue)
    expect(await stage.objects(queue)).toEqual([])
  })

  it('takes items of a hundred priorities in three writes.', async () => {
    const { queues, queue } = onSimulated()
    const items = Array.from({ length: 100 }, (_, n) => ({ text: `"${n}"`, priority: n }))
    const { ids } = await push(queues, queue, items)
    const sent = await queues.wire.during(() => queues.cancel(queue, ids))
    expect(sent.filter((name) => name === 'UpdateCommand')).toHaveLength(3)
    expect((await queues.inspect(queue)).count).toBe(0)
  })

  it('says so if its answer was lost and it happened, and a repetition says gone.', async () => {
    const { stage, queue, at } = await holding(3)
    const other = stage.engine({
      after: ({ name }, number) => {
        if (name === 'UpdateCommand' && number === 2) throw timedOut()
      },
    })
    expect(await cancelled(other, queue, [at(1)])).toBe('cancelled')
    expect(await cancelled(other, queue, [at(1)])).toBe('gone')
  })

  it('leaves half of what a record holds to locks, refuses more, and changes nothing then.', async () => {
    const { queues, queue } = onSimulated()
    const items = named('a', 1_000)
    const ids: string[] = []
    for (let i = 0; i < 3; i += 1) ids.push(...(await push(queues, queue, items)).ids)
    const everyOther = ids.filter((_, n) => n % 2 === 1)
    for (let n = 0; n < GAPS_MAX; n += 100) {
      await queues.cancel(queue, everyOther.slice(n, n + 100))
    }
    const more = everyOther.slice(GAPS_MAX, GAPS_MAX + 10)
    // Only pops can close a gap: a caller who waits and tries again would wait for nothing.
    await expect(queues.cancel(queue, more)).rejects.toMatchObject({
      code: 'TOO_MANY_LOCKS',
      retryable: false,
    })
    expect((await queues.inspect(queue)).count).toBe(2_000)
    // Those beside a gap make it wider, and weigh nothing.
    expect(await cancelled(queues, queue, [ids[2] as string])).toBe('cancelled')
    await lockItems(queues, queue, { count: 100 })
  })

  it.each(['a claim', 'a pop'])('and %s at the same time agree who has the item.', async (what) => {
    const { stage, queues, queue, at } = await holding(6)
    await lockItems(queues, queue, { ...competing, count: 1 })
    const frozen = freezeAtUpdate()
    const slow = stage.engine(frozen)
    const cancelling = slow.cancel(queue, [at(2)])
    await frozen.reached
    const request = what === 'a claim' ? { ...competing, ttlSeconds: 120 } : { competing: true }
    const taken = await popItems(queues, queue, { ...request, count: 3 })
    frozen.thaw()
    const [result] = await cancelling
    expect(textsOf(taken.items)).toEqual(['"a1"', '"a2"', '"a3"'])
    expect(result?.result).toBe(what === 'a claim' ? 'locked' : 'gone')
  })

  it('is not passed over by a claim that has not seen it.', async () => {
    const { stage, queues, queue, at } = await holding(6)
    await lockItems(queues, queue, { ...competing, count: 1 })
    const frozen = freezeAtUpdate()
    const slow = stage.engine(frozen)
    const claiming = slow.pop(queue, { ...competing, ttlSeconds: 120, count: 3 })
    await frozen.reached
    expect(await cancelled(queues, queue, [at(2)])).toBe('cancelled')
    frozen.thaw()
    const claimed = await claiming
    expect(claimed.kind === 'items' && textsOf(claimed.items)).toEqual(['"a1"', '"a3"', '"a4"'])
  })

  it('does not mind a claim of items before the one that it takes.', async () => {
    const { stage, queues, queue, at } = await holding(9)
    await lockItems(queues, queue, { ...competing, count: 1 })
    const frozen = freezeAtUpdate()
    const slow = stage.engine(frozen)
    const cancelling = slow.wire.during(() => slow.cancel(queue, [at(5)]))
    await frozen.reached
    await lockItems(queues, queue, { ...competing, ttlSeconds: 120, count: 4 })
    frozen.thaw()
    expect(await cancelling).toEqual(['GetCommand', 'UpdateCommand'])
    expect((await queues.inspect(queue)).count).toBe(8)
  })

  it('gets along with a lock that is folded beside a gap ahead of the frontier.', async () => {
    const { queues, queue, at, left } = await holding(5)
    const { lock } = await lockItems(queues, queue, { ...competing, count: 2 })
    await queues.cancel(queue, [at(2)])
    await queues.acknowledge(queue, { lockId: lock.id, ids: [at(1)] })
    expect(await cancelled(queues, queue, [at(4)])).toBe('cancelled')
    await queues.acknowledge(queue, { lockId: lock.id })
    expect(await left()).toBe('"a3"')
  })
})
