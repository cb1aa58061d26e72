import { describe, expect, it } from 'vitest'
import type { MoveRequest, Queues } from '../../engine/queues.ts'
import { onSimulated, openSimulated } from './stage.ts'
import {
  bulky,
  codeOf,
  drain,
  idsOf,
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

async function holding(count: number) {
  const { stage, queues, queue } = onSimulated()
  const ids = await pushOneByOne(queues, queue, named('a', count))
  return { stage, queues, queue, ids, at: (n: number) => ids[n] as string }
}

/** The results in a row, and the new ids of those that were moved. */
async function moved(queues: Queues, queue: string, request: MoveRequest) {
  const results = await queues.move(queue, request)
  expect(results.map(({ id }) => id)).toEqual(request.ids)
  return {
    results: results.map(({ result }) => result).join(' '),
    newIds: results.flatMap((it) => (it.result === 'moved' && it.newId ? [it.newId] : [])),
  }
}

const left = async (queues: Queues, queue: string) => textsOf(await drain(queues, queue)).join('')

describe('A move to another priority', () => {
  it('puts the items at its end, in the order of the queue, and names their new ids.', async () => {
    const { stage, queues, queue, at } = await holding(6)
    await push(queues, queue, named('b', 1, 3))
    const before = await queues.browse(queue)
    stage.clock.pass(5_000)
    const { results, newIds } = await moved(queues, queue, {
      ids: [at(4), at(0), at(2)],
      priority: 3,
    })
    expect(results).toBe('moved moved moved')
    const { items } = await queues.browse(queue)
    expect(textsOf(items)).toEqual(['"a1"', '"a3"', '"a5"', '"b0"', '"a0"', '"a2"', '"a4"'])
    expect(newIds).toEqual([items[6]?.id, items[4]?.id, items[5]?.id])
    expect(items[4]?.pushedAtMs).toBe(before.items[0]?.pushedAtMs)
  })

  it('is one read of the record and one write, if there is that priority.', async () => {
    const { stage, queues, queue, at } = await holding(6)
    await push(queues, queue, named('b', 1, 3))
    const other = stage.engine()
    const move = () => other.move(queue, { ids: [at(4), at(0)], priority: 3 })
    expect(await other.wire.during(move)).toEqual(['GetCommand', 'UpdateCommand'])
  })

  it('leaves what is there already, also where only the queue is named.', async () => {
    for (const target of [{ priority: 0 }, { queue: true }, { queue: true, priority: 0 }]) {
      const { queues, queue, ids, at } = await holding(3)
      const request = { ...target, ...('queue' in target && { queue }), ids: [at(0)] }
      const { results, newIds } = await moved(queues, queue, request as MoveRequest)
      expect([results, newIds]).toEqual(['moved', [at(0)]])
      expect((await queues.browse(queue)).items.map(({ id }) => id)).toEqual(ids)
    }
  })

  it('leaves what is there already where it is, and keeps the id.', async () => {
    const { queues, queue, at } = await holding(2)
    const [there = ''] = (await push(queues, queue, named('b', 1, 3))).ids
    const { results, newIds } = await moved(queues, queue, { ids: [there, at(1)], priority: 3 })
    expect(results).toBe('moved moved')
    expect(newIds[0]).toBe(there)
    expect(await left(queues, queue)).toBe('"a0""b0""a1"')
    const again = await moved(queues, queue, { ids: [there, at(1)], priority: 3 })
    expect(again.results).toBe('gone gone')
  })

  it('does not take locked items, nor what is gone.', async () => {
    const { queues, queue, at } = await holding(3)
    await lockItems(queues, queue, { ...competing, count: 1 })
    const request = { ids: [at(0), at(1), 'aaaaaaaa-0-0'], priority: 9 }
    expect((await moved(queues, queue, request)).results).toBe('locked moved gone')
  })

  it('needs no room in a full queue, and leaves the count as it is.', async () => {
    const { stage, queues, queue, at } = await holding(3)
    await queues.configure(queue, { capacity: 3 })
    await queues.move(queue, { ids: [at(0), at(2)], priority: 1 })
    expect(await stage.record(queue)).toMatchObject({ room: 0 })
    expect((await queues.inspect(queue)).count).toBe(3)
  })

  it('moves large items by reference, in as many writes as it takes.', async () => {
    const { queues, queue } = onSimulated()
    const items = Array.from({ length: 24 }, (_, n) => ({ text: bulky(`a${n}`, 200_000) }))
    const ids = await pushOneByOne(queues, queue, items)
    const { newIds } = await moved(queues, queue, { ids, priority: 7 })
    const shown: string[] = []
    let cursor: string | undefined
    do {
      const page = await queues.browse(queue, { limit: 100, cursor })
      shown.push(...page.items.map(({ id, text }) => `${id} ${text.slice(0, 6)}`))
      cursor = page.cursor
    } while (cursor !== undefined)
    expect(shown).toEqual(items.map(({ text }, n) => `${newIds[n]} ${text.slice(0, 6)}`))
  })

  it('seals a tail that has no room for them first.', async () => {
    const { queues, queue } = onSimulated()
    const ids: string[] = []
    for (let i = 0; i < 2; i += 1) ids.push(...(await push(queues, queue, named('a', 80))).ids)
    for (let i = 0; i < 4; i += 1) {
      const some = ids.slice(40 * i, 40 * (i + 1))
      expect((await moved(queues, queue, { ids: some, priority: 1 })).newIds).toHaveLength(40)
    }
    expect((await popItems(queues, queue, { count: 100 })).items).toHaveLength(100)
  })

  it.each([2, 30])(
    'tells the new ids also if its answer was lost and %i were pushed since.',
    async (count) => {
      const { stage, queues, queue, at } = await holding(5)
      await push(queues, queue, named('b', 1, 3))
      let isLost = false
      const other = stage.engine({
        after: async ({ name }) => {
          if (name !== 'UpdateCommand' || isLost) return
          isLost = true
          const texts = named('c', count, 3).map(({ text }) => ({
            text: text.padEnd(150),
            priority: 3,
          }))
          await pushOneByOne(queues, queue, texts)
          throw timedOut()
        },
      })
      const { newIds } = await moved(other, queue, { ids: [at(1), at(3)], priority: 3 })
      const { items } = await queues.browse(queue, { priority: 3, limit: 3 })
      expect(textsOf(items)).toEqual(['"b0"', '"a1"', '"a3"'])
      expect(newIds).toEqual(idsOf(items).slice(1))
    },
  )

  it('loses to a claim of the item, and says locked.', async () => {
    const { stage, queues, queue, at } = await holding(4)
    await push(queues, queue, named('b', 1, 3))
    await lockItems(queues, queue, { ...competing, count: 1 })
    const frozen = freezeAtUpdate()
    const slow = stage.engine(frozen)
    const moving = moved(slow, queue, { ids: [at(1), at(2)], priority: 3 })
    await frozen.reached
    await lockItems(queues, queue, { ...competing, ttlSeconds: 120, count: 1 })
    frozen.thaw()
    expect((await moving).results).toBe('locked moved')
    expect(textsOf((await queues.browse(queue)).items).join('')).toBe('"a0""a1""a3""b0""a2"')
  })
})

describe('A move to another queue', () => {
  it('keeps priorities, order and times, in one transaction.', async () => {
    const { queues, queue, at } = await holding(4)
    const [urgent = ''] = (await push(queues, queue, named('u', 1, 2))).ids
    await push(queues, 'other', [...named('o', 1), ...named('o', 1, 2)])
    const request = { ids: [urgent, at(3), at(0)], queue: 'other' }
    const sent = await queues.wire.during(async () => {
      const { newIds } = await moved(queues, queue, request)
      const { items } = await queues.browse('other')
      expect(textsOf(items)).toEqual(['"o0"', '"a0"', '"a3"', '"o0"', '"u0"'])
      expect(newIds).toEqual([items[4]?.id, items[2]?.id, items[1]?.id])
    })
    expect(sent.filter((name) => name === 'TransactWriteCommand')).toHaveLength(1)
    expect(await left(queues, queue)).toBe('"a1""a2"')
  })

  it('makes a queue that is not there, and can change the priority as well.', async () => {
    const { queues, queue, ids } = await holding(3)
    await moved(queues, queue, { ids, queue: 'new', priority: 8 })
    expect((await queues.browse('new')).items.map(({ priority }) => priority)).toEqual([8, 8, 8])
    expect((await queues.inspect(queue)).count).toBe(0)
  })

  it('counts towards the capacity of that queue, and does nothing if it is full.', async () => {
    const { queues, queue, ids } = await holding(3)
    await queues.configure('small', { capacity: 2 })
    const call = queues.move(queue, { ids, queue: 'small' })
    await expect(call).rejects.toMatchObject({ code: 'QUEUE_FULL', retryable: false })
    expect((await queues.inspect(queue)).count).toBe(3)
    await queues.move(queue, { ids: ids.slice(0, 2), queue: 'small' })
    expect(await codeOf(queues.move(queue, { ids: ids.slice(2), queue: 'small' }))).toBe(
      'QUEUE_FULL',
    )
    expect(await left(queues, queue)).toBe('"a2"')
  })

  it('wakes its consumers, and is an event there.', async () => {
    const { stage, queues, queue, at } = await holding(2)
    await push(queues, 'other', named('o', 1))
    await drain(queues, 'other')
    stage.announced.length = 0
    await queues.move(queue, { ids: [at(0)], queue: 'other' })
    expect(stage.announced).toContain('other: items-available')
  })

  it('says that an item is moved even if its new id can no longer be found.', async () => {
    const { stage, queues, queue, at } = await holding(2)
    const other = stage.engine({
      after: async ({ name }) => {
        if (name === 'TransactWriteCommand') await drain(queues, 'other')
      },
    })
    const results = await other.move(queue, { ids: [at(0)], queue: 'other' })
    expect(results).toEqual([{ id: at(0), result: 'moved' }])
  })
})

it.each([
  ['to another queue', {}],
  ['to a time in another queue', { isLater: true }],
])(
  'A move %s leaves its queue dry if a claim took the rest while it was on its way.',
  async (_, { isLater = false }: { readonly isLater?: boolean }) => {
    const { stage, queues, queue } = onSimulated()
    const later = isLater ? { deliverAtMs: stage.clock.nowMs() + 60_000 } : {}
    await push(queues, 'other', named('z', 1))
    await push(queues, queue, [...named('a', 1, 1), ...named('b', 1, 0)])
    const [last] = (await queues.browse(queue)).items.slice(1)
    const rival = stage.engine()
    // A claim, and no fenced write, is what a rival with this record in memory sends.
    await rival.inspect(queue)
    let isClaimed = false
    const mover = stage.engine({
      before: async ({ name }) => {
        if (name !== 'TransactWriteCommand' || isClaimed) return
        isClaimed = true
        await lockItems(rival, queue, competing)
      },
    })
    await moved(mover, queue, { ids: [last?.id as string], queue: 'other', ...later })
    expect(isClaimed).toBe(true)
    expect(await stage.record(queue)).toMatchObject({ dry: true })
  },
)

describe('Dead letters', () => {
  async function withDeadLetters() {
    const stage = openSimulated()
    const queues = stage.engine()
    await push(queues, 'q', named('a', 3))
    const { lock } = await lockItems(queues, 'q', { count: 3 })
    await queues.deadLetter('q', { lockId: lock.id, reason: 'broken' })
    await tidy(queues, 'q')
    return { queues, items: (await queues.browse('q-deadletter')).items }
  }

  it('that are moved to any other queue are items like all others there.', async () => {
    const { queues, items } = await withDeadLetters()
    await queues.move('q-deadletter', { ids: [items[1]?.id ?? ''], queue: 'elsewhere' })
    const [item] = (await queues.browse('elsewhere')).items
    expect(item?.text).toBe('"a1"')
    expect(item?.reason).toBeUndefined()
  })

  it('keep their reason among dead letters.', async () => {
    const { queues, items } = await withDeadLetters()
    await queues.move('q-deadletter', { ids: idsOf(items), priority: 4 })
    const moved = await queues.browse('q-deadletter')
    expect(moved.items.map(({ reason, priority }) => `${reason} ${priority}`)).toEqual(
      Array(3).fill('broken 4'),
    )
  })

  it('that were moved there by hand say so, and a redrive takes them back.', async () => {
    const { queues, queue, at } = await holding(3)
    const deadLetters = `${queue}-deadletter`
    await queues.move(queue, { ids: [at(1)], queue: deadLetters })
    expect((await queues.browse(deadLetters)).items[0]).toMatchObject({ reason: 'moved' })
    expect(await queues.redrive(deadLetters)).toEqual({ itemsRedriven: 1, itemsLeft: 0 })
    expect(await left(queues, queue)).toBe('"a0""a2""a1"')
  })

  it('are redriven by their ids, wherever they lie, and the others stay.', async () => {
    const { queues, items } = await withDeadLetters()
    const request = { ids: [items[1]?.id ?? '', 'aaaaaaaa-0-0'] }
    expect(await queues.redrive('q-deadletter', request)).toEqual({
      itemsRedriven: 1,
      itemsLeft: 2,
    })
    expect(await left(queues, 'q')).toBe('"a1"')
    expect(await left(queues, 'q-deadletter')).toBe('"a0""a2"')
    const both = queues.redrive('q-deadletter', { ...request, limit: 3 })
    await expect(both).rejects.toMatchObject({ field: 'ids' })
  })
})

describe('A purge by ids', () => {
  it('takes those that wait and those that are locked, and leaves the rest of the lock.', async () => {
    const { queues, queue, at } = await holding(6)
    const { lock } = await lockItems(queues, queue, { ...competing, count: 3 })
    const ids = [at(1), at(4), at(1), 'aaaaaaaa-0-0']
    expect(await queues.purge(queue, { ids })).toEqual({ itemsPurged: 2 })
    expect(await queues.purge(queue, { ids })).toEqual({ itemsPurged: 0 })
    expect(await queues.acknowledge(queue, { lockId: lock.id })).toEqual({ itemsAcknowledged: 2 })
    expect(await left(queues, queue)).toBe('"a3""a5"')
  })

  it('ends a lock of which nothing is left.', async () => {
    const { queues, queue, ids, at } = await holding(3)
    const { lock } = await lockItems(queues, queue, { count: 2 })
    expect(await queues.purge(queue, { ids: [at(0), at(1)] })).toEqual({ itemsPurged: 2 })
    expect(await codeOf(queues.acknowledge(queue, { lockId: lock.id }))).toBe('LOCK_EXPIRED')
    expect(textsOf((await lockItems(queues, queue)).items)).toEqual(['"a2"'])
    await expect(queues.purge(queue, { ids, priority: 0 })).rejects.toMatchObject({ field: 'ids' })
  })

  it('takes items of a hundred locks, forty a write.', async () => {
    const { queues, queue, ids } = await holding(100)
    for (let n = 0; n < 100; n += 1) await lockItems(queues, queue, competing)
    expect(await queues.purge(queue, { ids })).toEqual({ itemsPurged: 100 })
    expect((await queues.inspect(queue)).lockedCount).toBe(0)
  })
})

it.each([
  [{ ids: ['aaaaaaaa-0-0'] }, 'priority'],
  [{ ids: ['aaaaaaaa-0-0'], priority: -1 }, 'priority'],
  [{ ids: ['aaaaaaaa-0-0'], queue: 'no such name' }, 'queue'],
  [{ ids: ['nonsense'], priority: 1 }, 'ids[0]'],
  [{ ids: [], priority: 1 }, 'ids'],
] as const)(
  'A move of %j is refused, and says that it is because of %s.',
  async (request, field) => {
    const { queues } = onSimulated()
    await expect(queues.move('queue', request)).rejects.toMatchObject({ field })
  },
)
