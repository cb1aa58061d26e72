import { expect, it } from 'vitest'
import { onSimulated } from './stage.ts'
import { named, popItems, push } from './traffic.ts'
import { losingRaces, timedOut } from './wire.ts'

// Pops on their way through expired items, while others are at work and answers are lost.

it('A claim that left out what had expired tells each delivery as it was, though its lock has ended since.', async () => {
  const { stage, queues: rival, queue } = onSimulated()
  const competing = { requireAck: true, competing: true, count: 2 }
  await push(rival, queue, named('first', 1))
  await popItems(rival, queue, { ...competing, ttlSeconds: 20 })
  await push(rival, queue, [{ text: '"old"', expiresInSeconds: 10 }, { text: '"new"' }])
  stage.clock.pass(10_000)
  let updates = 0
  const queues = stage.engine({
    async after({ name }) {
      if (name !== 'UpdateCommand') return
      updates += 1
      if (updates !== 2) return
      stage.clock.pass(60_000)
      await stage.engine().housekeep(queue)
      await rival.pop(queue, { ...competing, ttlSeconds: 30 })
      throw timedOut()
    },
  })
  const { items } = await popItems(queues, queue, { ...competing, ttlSeconds: 30 })
  expect(items).toMatchObject([{ text: '"new"', deliveries: 1 }])
})

it('A pop that loses all its races for expired items says that there is more behind them.', async () => {
  const { stage, queues: rival, queue } = onSimulated()
  const old = named('old', 2_000).map((item) => ({ ...item, expiresInSeconds: 10 }))
  await push(rival, queue, old.slice(0, 1_000))
  await push(rival, queue, old.slice(1_000))
  stage.clock.pass(10_000)
  const losing = losingRaces(30, (race) => rival.configure(queue, { maxDeliveries: race }))
  const queues = stage.engine(losing)
  expect(await queues.pop(queue)).toEqual({ kind: 'empty', more: true })
  expect(losing.lost).toBe(30)
})
