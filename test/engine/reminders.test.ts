import { TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import { describe, expect, it } from 'vitest'
import type { Queues } from '../../engine/queues.ts'
import { openSimulated, type Stage } from './stage.ts'
import { lockItems, named, popItems, push } from './traffic.ts'

// Events tell of changes, and a change can pass unheard. What then waits is announced again.

const MINUTE_MS = 60_000
const available = 'orders: items-available'

/** Minutes of sweeps, and after which of them the queue was announced. */
async function announcedAt(stage: Stage, queues: Queues, minutes: number): Promise<number[]> {
  const at: number[] = []
  for (let minute = 1; minute <= minutes; minute += 1) {
    stage.clock.pass(MINUTE_MS)
    const before = stage.announced.length
    await queues.returnExpiredLocks()
    if (stage.announced.slice(before).includes(available)) at.push(minute)
  }
  return at
}

async function waitingQueue(options = {}) {
  const stage = openSimulated()
  const queues = stage.engine(options)
  await push(queues, 'orders', named('a', 3))
  stage.announced.length = 0
  return { stage, queues }
}

describe('Items that nobody takes', () => {
  it('are announced again after some minutes, and ever more seldom up to once an hour.', async () => {
    const { stage, queues } = await waitingQueue()
    expect(await announcedAt(stage, queues, 300)).toEqual([10, 20, 40, 80, 140, 200, 260])
  })

  it('are announced sooner, or later, as the service is told.', async () => {
    const { stage, queues } = await waitingQueue({ remindAfterSeconds: 60 })
    expect(await announcedAt(stage, queues, 20)).toEqual([2, 4, 8, 16])
  })

  it('are left alone while somebody takes others, or has a lock.', async () => {
    const { stage, queues } = await waitingQueue()
    await announcedAt(stage, queues, 9)
    await popItems(queues, 'orders')
    expect(await announcedAt(stage, queues, 5)).toEqual([])
    const { lock } = await lockItems(queues, 'orders', { ttlSeconds: 300 })
    expect(await announcedAt(stage, queues, 4)).toEqual([])
    await queues.acknowledge('orders', { lockId: lock.id })
    // The lock's own time is a minute away; the sweeper then looks twice.
    expect(await announcedAt(stage, queues, 20)).toEqual([6, 16])
  })

  it('are announced to a consumer that was deployed later, whatever was pushed since.', async () => {
    const { stage, queues } = await waitingQueue()
    const at: number[] = []
    for (let minute = 1; minute <= 20; minute += 1) {
      await push(queues, 'orders', named('b', 1))
      if ((await announcedAt(stage, queues, 1)).length > 0) at.push(minute)
    }
    expect(at).toEqual([10, 20])
  })

  it('are announced as soon as any, though those before them had waited for hours.', async () => {
    const { stage, queues } = await waitingQueue()
    // A queue with settings is never forgotten: its timer alone brings the sweeper.
    await queues.configure('orders', { maxDeliveries: 5 })
    expect((await announcedAt(stage, queues, 141)).at(-1)).toBe(140)
    // The consumer was mended and has taken all; what comes then is unheard again.
    await popItems(queues, 'orders', { count: 100 })
    await push(queues, 'orders', named('b', 1))
    expect((await announcedAt(stage, queues, 70))[0]).toBe(10)
  })

  it('are announced as soon as any, if a consumer came for others and went.', async () => {
    const { stage, queues } = await waitingQueue()
    await announcedAt(stage, queues, 141)
    await popItems(queues, 'orders')
    expect((await announcedAt(stage, queues, 70))[0]).toBe(10)
  })

  it('are not looked at more often for it, nor is the timer moved by each pop.', async () => {
    const { stage, queues } = await waitingQueue()
    await push(queues, 'orders', named('b', 9))
    await announcedAt(stage, queues, 141)
    await popItems(queues, 'orders')
    const first = (await stage.stored('orders'))?.checkAt
    stage.clock.pass(MINUTE_MS)
    await popItems(queues, 'orders')
    expect((await stage.stored('orders'))?.checkAt).toBe(first)
  })

  it.each<[string, (queues: Queues, stage: Stage) => Promise<unknown>]>([
    ['a push', (queues) => push(queues, 'orders', named('b', 1))],
    [
      "a caller's own transaction",
      (queues, { store }) =>
        queues.transact('orders', named('b', 1), (entries) => {
          const request = { TransactItems: entries as never }
          return store.dynamodb.send(new TransactWriteCommand(request) as never)
        }),
    ],
    [
      'a move from another queue',
      async (queues) => {
        const { ids } = await push(queues, 'other', named('b', 1))
        await queues.move('other', { ids, queue: 'orders' })
      },
    ],
    [
      'a push to many priorities',
      (queues) =>
        push(
          queues,
          'orders',
          Array.from({ length: 100 }, (_, priority) => ({ text: '0', priority })),
        ),
    ],
  ])(
    'are announced as soon as any, though the timer that %s met is years away.',
    async (_, bring) => {
      const { stage, queues } = await waitingQueue()
      await push(queues, 'orders', [{ text: '"later"', delaySeconds: 2 * 365 * 86_400 }])
      await popItems(queues, 'orders', { count: 100 })
      // The sweeper finds nothing but what is due in two years.
      await announcedAt(stage, queues, 10)
      expect((await stage.record('orders')).checkAtMs).toBeGreaterThan(stage.clock.now + 86_400_000)
      await bring(queues, stage)
      expect((await announcedAt(stage, queues, 30))[0]).toBe(10)
    },
  )

  it('are announced if a stranger left them behind an exclusive lock.', async () => {
    const { stage, queues } = await waitingQueue()
    const { lock } = await lockItems(queues, 'orders', { ttlSeconds: 30 })
    await queues.acknowledge('orders', { lockId: lock.id })
    expect(await announcedAt(stage, queues, 12)).toEqual([6])
  })
})

describe('A service without consumers does not pay for reminders', () => {
  it('a queue that is idle and empty has no timer, once what was in it is old news.', async () => {
    const { stage, queues } = await waitingQueue()
    await queues.configure('orders', { maxDeliveries: 5 })
    await popItems(queues, 'orders', { count: 100 })
    await announcedAt(stage, queues, 11)
    expect((await stage.stored('orders'))?.checkAt).toBeUndefined()
    expect((await stage.stored('orders'))?.rm).toBeUndefined()
    const sent = await queues.wire.during(() => announcedAt(stage, queues, 5))
    expect(new Set(sent)).toEqual(new Set(['QueryCommand']))
  })

  it('where nothing is announced, no queue has a timer for it.', async () => {
    const { stage, queues } = await waitingQueue({ events: false })
    expect((await stage.stored('orders'))?.checkAt).toBeUndefined()
    expect(await announcedAt(stage, queues, 30)).toEqual([])
  })

  it('a push behind others changes no timer, and so no row of the index.', async () => {
    const { stage, queues } = await waitingQueue()
    const first = (await stage.stored('orders'))?.checkAt
    stage.clock.pass(MINUTE_MS)
    await push(queues, 'orders', named('b', 1))
    expect((await stage.stored('orders'))?.checkAt).toBe(first)
  })
})

it('A timer that the sweeper takes from an empty queue is not taken from under a push.', async () => {
  const stage = openSimulated()
  const pusher = stage.engine()
  await pusher.configure('orders', { maxDeliveries: 5 })
  await push(pusher, 'orders', named('a', 1))
  await popItems(pusher, 'orders')
  stage.clock.pass(11 * MINUTE_MS)
  let pushed = false
  const sweeper = stage.engine({
    before: async ({ name }) => {
      if (name !== 'UpdateCommand' || pushed) return
      pushed = true
      await push(pusher, 'orders', named('b', 1))
    },
  })
  await sweeper.returnExpiredLocks()
  expect(pushed).toBe(true)
  expect((await stage.stored('orders'))?.checkAt).toBeDefined()
})
