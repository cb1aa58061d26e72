import { expect, it } from 'vitest'
import { type EngineOnWire, holding } from './stage.ts'
import { lockItems, named } from './traffic.ts'

/**
 * Somebody writes under the fence whenever this writer pauses: what was seen before a pause is never
 * true after it.
 */

type Act = (queues: EngineOnWire, queue: string) => Promise<unknown>

const acts: readonly [string, (other: EngineOnWire, queue: string) => Promise<Act>][] = [
  ['a configuration', async () => (queues, queue) => queues.configure(queue, { capacity: 900 })],
  [
    'a release of a part',
    async (other, queue) => {
      const { lock, items } = await lockItems(other, queue, { count: 4 })
      const ids = items.slice(1, 3).map(({ id }) => id)
      return (queues, name) => queues.release(name, { lockId: lock.id, ids })
    },
  ],
  ['a purge', async () => (queues, queue) => queues.purge(queue)],
  ['a pop', async () => (queues, queue) => queues.pop(queue)],
]

it.each(acts)('%s gets its turn all the same.', async (_, prepare) => {
  const { stage, queue, queues: other } = await holding(named('a', 20))
  const act = await prepare(other, queue)
  let writes = 0
  const interfere = async (): Promise<void> => {
    writes += 1
    await other.configure(queue, { bufferSegments: 1 + (writes % 5) })
  }
  let sent = 0
  const queues = stage.engine({
    clock: { nowMs: () => stage.clock.nowMs(), sleep: interfere },
    // It has to lose to begin with.
    before: async ({ name }) => {
      if (name !== 'UpdateCommand') return
      sent += 1
      if (sent <= 2) await interfere()
    },
  })
  await act(queues, queue)
  expect(writes).toBeGreaterThan(1)
})
