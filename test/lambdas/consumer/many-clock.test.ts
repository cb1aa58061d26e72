import { afterEach, expect, test, vi } from 'vitest'
import { consumeMany } from '../../../lambdas/consumer/index.ts'
import { onSimulated } from '../../engine/stage.ts'
import { push } from '../../engine/traffic.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

test('A process that works many queues on the table goes on when its clock is set back.', async () => {
  const { queues, queue } = onSimulated()
  const stop = new AbortController()
  let backMs = 0
  const now = Date.now.bind(Date)
  vi.spyOn(Date, 'now').mockImplementation(() => now() - backMs)
  const done: string[] = []
  const ended = consumeMany(
    queues,
    { queues: [queue] },
    (items) => void done.push(...items.map(({ text }) => text)),
    { signal: stop.signal },
  )
  // The second comes with the look for which it sleeps already, the third with one after that.
  for (const [index, text] of ['"a0"', '"b0"', '"c0"'].entries()) {
    await push(queues, queue, [{ text }])
    await vi.waitUntil(async () => {
      const { count } = await queues.inspect(queue, { consistent: true })
      return done.length > index && count === 0
    }, 20_000)
    backMs = 3_600_000
  }
  stop.abort()
  expect(await ended).toMatchObject({ acknowledged: 3 })
}, 60_000)
