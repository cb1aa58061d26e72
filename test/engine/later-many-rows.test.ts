import { expect, it } from 'vitest'
import { openSimulated } from './stage.ts'
import { bulky, drain, push, textsOf } from './traffic.ts'

it('Items that are due in more seconds than one join takes come in the order of their times.', async () => {
  const stage = openSimulated()
  const [queues, queue] = [stage.engine(), stage.queue()]
  for (let n = 0; n < 100; n += 1) {
    const text = `"${n}${'x'.repeat(100)}"`
    await push(queues, queue, [{ text, delaySeconds: 100 + n }])
  }
  stage.clock.pass(1_000_000)
  const order = textsOf(await drain(queues, queue)).map((text) =>
    Number.parseInt(text.slice(1), 10),
  )
  expect(order).toEqual(Array.from({ length: 100 }, (_, n) => n))
})

it('An item that is due behind hundreds of cancelled seconds joins within two sweeps.', async () => {
  const stage = openSimulated()
  const [queues, queue] = [stage.engine(), stage.queue()]
  const ids: string[] = []
  const soon = (n: number) => [{ text: bulky(`n${n}`, 100), delaySeconds: 100 + n }]
  for (let n = 0; n < 900; n += 1) ids.push(...(await push(queues, queue, soon(n))).ids)
  await push(queues, queue, [{ text: '"wanted"', delaySeconds: 1_100 }])
  const far = { text: bulky('far', 100), delaySeconds: 100_000 }
  for (let n = 0; n < 30; n += 1) await push(queues, queue, [far])
  for (let n = 0; n < 900; n += 90) await queues.cancel(queue, ids.slice(n, n + 90))
  stage.clock.pass(1_200_000)
  await stage.engine().returnExpiredLocks()
  stage.clock.pass(60_000)
  await stage.engine().returnExpiredLocks()
  expect((await queues.inspect(queue)).count).toBe(1)
})
