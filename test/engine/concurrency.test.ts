import { describe, expect, it } from 'vitest'
import type { PoppedItem, Queues } from '../../engine/queues.ts'
import { checkRecount } from './ledger.ts'
import { useEmbedded } from './stage.ts'
import { drain, lockItems, named, push, pushOneByOne, textsOf, tidy } from './traffic.ts'

const stage = useEmbedded()

const producers = (queue: string, names: readonly string[], each: number) =>
  Promise.all(names.map((name) => pushOneByOne(stage.engine(), queue, named(name, each))))

/** Pops until the work is over and nothing is left. */
async function popUntil(
  done: Promise<unknown>,
  queues: Queues,
  take: () => Promise<readonly PoppedItem[]>,
  queue: string,
): Promise<PoppedItem[]> {
  let over = false
  const ending = done.then(() => {
    over = true
  })
  const items: PoppedItem[] = []
  while (!over) items.push(...(await take()))
  await ending
  items.push(...(await drain(queues, queue)))
  return items
}

function expectAllInOrder(items: readonly { text: string }[], names: string[], each: number): void {
  expect(items).toHaveLength(names.length * each)
  for (const name of names) {
    const own = textsOf(items).filter((text) => text.startsWith(`"${name}`))
    expect(own, name).toEqual(textsOf(named(name, each)))
  }
}

describe('While four producers append, nothing is lost, doubled or out of order', () => {
  const names = ['p', 'q', 'r', 's']
  const each = 40

  it('for an exclusive consumer that takes the tail from under them.', async () => {
    const queue = stage.queue()
    const queues = stage.engine()
    const taken = await popUntil(
      producers(queue, names, each),
      queues,
      async () => {
        const outcome = await queues.pop(queue, { count: 3 })
        return outcome.kind === 'items' ? outcome.items : []
      },
      queue,
    )
    expectAllInOrder(taken, names, each)
    checkRecount(await stage.record(queue))
  })

  it('for a consumer that claims and acknowledges in one call each.', async () => {
    const [queue, queues] = [stage.queue(), stage.engine()]
    let over = false
    const work = producers(queue, names, each).finally(() => {
      over = true
    })
    const taken: PoppedItem[] = []
    const request = { count: 2, requireAck: true, competing: true }
    let earlier: { acknowledge?: string } = {}
    for (let isLast = false; !isLast; ) {
      isLast = over
      const outcome = await queues.pop(queue, { ...request, ...earlier })
      earlier = {}
      if (outcome.kind !== 'items') continue
      taken.push(...outcome.items)
      if (outcome.lock !== undefined) earlier = { acknowledge: outcome.lock.id }
      isLast = false
    }
    await work
    expectAllInOrder(taken, names, each)
    checkRecount(await stage.record(queue))
  })

  it('while housekeeping seals and offloads beside them.', async () => {
    const [queue, queues] = [stage.queue(), stage.engine()]
    await queues.configure(queue, { segmentSize: 5 })
    let over = false
    const work = producers(queue, names, each).finally(() => {
      over = true
    })
    while (!over) await queues.housekeep(queue)
    await work
    await tidy(queues, queue)
    expect((await stage.record(queue)).lanes.get(0)?.offloaded.to).toBeGreaterThan(10)
    const items: PoppedItem[] = []
    for (;;) {
      const some = await stage.engine().pop(queue, { count: 20 })
      if (some.kind !== 'items') break
      items.push(...some.items)
      await queues.housekeep(queue)
    }
    expectAllInOrder(items, names, each)
  })
})

it('Six competing consumers share a queue, and each item comes to exactly one of them.', async () => {
  const { queue } = await stage.holding(named('a', 240))
  const taken = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const [queues, items] = [stage.engine(), [] as PoppedItem[]]
      for (;;) {
        const request = { count: 4, requireAck: true, competing: true }
        const outcome = await queues.pop(queue, request)
        if (outcome.kind !== 'items') return items
        items.push(...outcome.items)
        await queues.acknowledge(queue, { lockId: outcome.lock?.id ?? '' })
      }
    }),
  )
  const texts = textsOf(taken.flat())
  expect(new Set(texts).size).toBe(240)
  expect(texts).toHaveLength(240)
  expect((await stage.engine().inspect(queue, { consistent: true })).count).toBe(0)
})

describe('A purge beside pushes', () => {
  it('counts exactly what it took, and what was appended meanwhile survives.', async () => {
    const queue = stage.queue()
    const queues = stage.engine()
    await push(queues, queue, [...named('a', 300), ...named('b', 50, 3)])
    await lockItems(queues, queue, { count: 10 })
    const names = ['p', 'q', 'r']
    let over = false
    const work = producers(queue, names, 30).finally(() => {
      over = true
    })
    let purged = 0
    while (!over) {
      const { itemsPurged } = await queues.purge(queue)
      purged += itemsPurged
    }
    await work
    const left = await drain(queues, queue)
    expect(purged + left.length).toBe(350 + 90)
    for (const name of names) {
      const own = textsOf(left).filter((text) => text.startsWith(`"${name}`))
      expect(own).toEqual(textsOf(named(name, 30)).slice(30 - own.length))
    }
  })

  it('takes as many requests for 5,000 items in S3 and chunks as for five.', async () => {
    const sent: string[][] = []
    for (const batches of [0, 5]) {
      const [queues, queue] = [stage.engine(), stage.queue()]
      for (let batch = 0; batch < batches; batch += 1) {
        await push(queues, queue, named('a', 1_000))
      }
      await push(queues, queue, named('b', 5))
      await tidy(queues, queue)
      sent.push(await queues.wire.during(() => queues.purge(queue)))
    }
    expect(sent[1]).toEqual(sent[0])
    expect(sent[0]).toHaveLength(2)
  })
})

it('A push of 1,000 items passes beside a storm of single ones, in one piece.', async () => {
  const queue = stage.queue()
  let over = false
  const storm = Promise.all(
    ['p', 'q', 'r', 's', 't', 'u'].map(async (name) => {
      const queues = stage.engine()
      let pushed = 0
      for (; !over; pushed += 1) await push(queues, queue, named(name, 1, 0, pushed))
      return { name, pushed }
    }),
  )
  const ids: (readonly string[])[] = []
  for (const name of ['big', 'large']) {
    ids.push((await push(stage.engine(), queue, named(name, 1_000))).ids)
  }
  over = true
  const counts = await storm
  const items = await drain(stage.engine(), queue)
  expect(items).toHaveLength(2_000 + counts.reduce((sum, { pushed }) => sum + pushed, 0))
  for (const [index, name] of ['big', 'large'].entries()) {
    const first = items.findIndex(({ text }) => text === `"${name}0"`)
    const run = items.slice(first, first + 1_000)
    expect(textsOf(run)).toEqual(textsOf(named(name, 1_000)))
    expect(run.map(({ id }) => id)).toEqual(ids[index])
  }
  for (const { name, pushed } of counts) {
    const own = textsOf(items).filter((text) => text.startsWith(`"${name}`))
    expect(own).toEqual(textsOf(named(name, pushed)))
  }
})
