import { expect, it } from 'vitest'
import { createRateLimits } from '../../rate/rate-limits.ts'
import { seeded } from '../../testing/random.ts'
import { createSimulatedClient } from '../../testing/simulated/network.ts'
import { SimulatedStore } from '../../testing/simulated/store.ts'
import { ManualClock } from '../engine/manual-clock.ts'
import { Wire } from '../engine/wire.ts'
import { rightsOf } from './rights.ts'
import { synthesised } from './synthesised.ts'

/** As engine-rights.test.ts does for the queues: the limiter under the role of its function. */

const actions: Readonly<Record<string, string>> = {
  GetCommand: 'dynamodb:GetItem',
  PutCommand: 'dynamodb:PutItem',
  UpdateCommand: 'dynamodb:UpdateItem',
}

it('Under the rights of its function, the rate limiter is refused nothing, and uses all of them.', async () => {
  const granted = rightsOf(synthesised().resources, 'Rate').filter((it) => it.includes('Storage'))
  const used = new Set<string>()
  const clock = new ManualClock()
  const store = new SimulatedStore({ nowMs: () => clock.nowMs() })
  const wire = new Wire({
    before({ name }) {
      const right = `${actions[name] ?? name} on StorageTable`
      used.add(right)
      if (granted.includes(right)) return
      throw Object.assign(new Error(`not authorised: ${right}`), { name: 'AccessDeniedException' })
    },
  })
  const { dynamodb } = createSimulatedClient(store)
  const limits = createRateLimits({
    tableName: store.tableName,
    dynamodb: wire.through('dynamodb', dynamodb as never),
    clock,
    random: seeded(1),
  })

  await limits.configurePatterns([{ prefix: 'user-', settings: { maxRequests: 2 } }])
  expect((await limits.patterns()).patterns).toHaveLength(1)
  await limits.configure('hot', { maxRequests: 2, shards: 2, windowMillis: 60_000 })
  for (const caller of ['a', 'b', 'c', 'd']) await limits.decide('hot', { caller })
  await limits.state('hot')
  await limits.configure('k', { maxRequests: 1, windowMillis: 60_000 })
  await limits.decide('k')
  expect((await limits.decide('k')).kind).toBe('denied')
  const answer = await limits.admit('k', { canWait: true })
  if (answer.kind !== 'promised') throw new Error('expected a ticket')
  expect((await limits.verify('k', answer.ticket)).kind).toBe('waiting')
  expect(await limits.giveUp('k', answer.ticket)).toEqual({ kind: 'given-up' })
  await limits.unconfigure('k')

  expect([...used].sort()).toEqual(granted)
})
