import { describe, expect, it } from 'vitest'
import { deadLetterQueueOf } from '../../shared/bounds.ts'
import { onSimulated } from './stage.ts'
import { lockItems, named, popItems, push, textsOf, tidy } from './traffic.ts'
import { throttled } from './wire.ts'

// In an exclusive queue, what waits for its retry holds up the rest, but only while a pop may still get it.

const day = 86_400

/** So many items that expire in a minute are released with a delay of a day, before one that never expires. */
async function held(expiring: number, { living = 0 } = {}) {
  const { stage, queues, queue } = onSimulated()
  const old = named('old', expiring).map((item) => ({ ...item, expiresInSeconds: 60 }))
  await push(queues, queue, [...old, ...named('living', living)])
  for (let left = expiring + living; left > 0; left -= 100) {
    const competing = { competing: true, count: Math.min(100, left) }
    const { lock } = await lockItems(queues, queue, competing)
    await queues.release(queue, { lockId: lock.id, delaySeconds: day })
  }
  await push(queues, queue, named('new', 1))
  return { stage, queues, queue }
}

describe('An item that waits for its retry in an exclusive queue', () => {
  it('holds up the others until it expires, and no longer.', async () => {
    const { stage, queues, queue } = await held(1)
    stage.clock.pass(59_000)
    expect(await queues.pop(queue)).toMatchObject({ kind: 'locked', forRetry: true })
    stage.clock.pass(1_000)
    const [shown] = (await queues.browse(queue)).items
    expect(shown).toMatchObject({ state: 'expired', deliveries: 1 })
    expect(shown).not.toHaveProperty('retryAtMs')
    expect(textsOf((await popItems(queues, queue)).items)).toEqual(['"new0"'])
    expect(stage.expired).toBe(1)
    expect(await queues.pop(queue)).toEqual({ kind: 'empty' })
  })

  it('and has expired becomes a dead letter where that is set, with its last delivery.', async () => {
    const { stage, queues, queue } = await held(1)
    await queues.configure(queue, { expired: 'dead_letter' })
    stage.clock.pass(60_000)
    expect(textsOf((await popItems(queues, queue)).items)).toEqual(['"new0"'])
    await tidy(queues, queue)
    const { items } = await queues.browse(deadLetterQueueOf(queue))
    expect(items).toMatchObject([{ text: '"old0"', reason: 'expired', priorDeliveries: 1 }])
  })

  it('holds them up where nobody can read it: the queue is locked, and no pop fails.', async () => {
    const { stage, queues, queue } = onSimulated()
    const inBatch = named('old', 20).map(({ text }) => ({
      text: JSON.stringify(text.padEnd(1_000)),
      expiresInSeconds: 60,
    }))
    await push(queues, queue, inBatch)
    const { lock } = await lockItems(queues, queue, { count: 20 })
    await queues.release(queue, { lockId: lock.id, delaySeconds: day })
    const broken = stage.engine({
      before({ input }) {
        if (JSON.stringify(input).includes('b#')) throw throttled()
      },
    })
    expect(await broken.pop(queue)).toMatchObject({ kind: 'locked', forRetry: true })
    expect(stage.background.map(({ step }) => step)).toEqual(['read'])
  })

  it('goes on holding them up if it has not expired, whatever else has.', async () => {
    const { stage, queues, queue } = await held(2, { living: 1 })
    stage.clock.pass(60_000)
    const popped = await queues.pop(queue)
    expect(popped).toMatchObject({ kind: 'locked', forRetry: true })
    expect((await queues.browse(queue)).items.map(({ text, state }) => [text, state])).toEqual([
      ['"living0"', 'waiting'],
      ['"new0"', 'ready'],
    ])
    stage.clock.pass(1_000 * day)
    expect(textsOf((await popItems(queues, queue, { count: 2 })).items)).toEqual([
      '"living0"',
      '"new0"',
    ])
  })

  it('is one of many that one call passes over, over several locks.', async () => {
    const { stage, queues, queue } = await held(950)
    stage.clock.pass(60_000)
    expect(textsOf((await popItems(queues, queue)).items)).toEqual(['"new0"'])
    expect(stage.expired).toBe(950)
  })

  it('calls consumers once it no longer holds up what they can pop.', async () => {
    const { stage, queues, queue } = await held(1)
    await push(queues, queue, named('next', 1))
    stage.clock.pass(60_000)
    stage.announced.length = 0
    await popItems(queues, queue)
    expect(stage.announced).toContain(`${queue}: items-available`)
  })
})

it('A queue whose items never expire does not read what waits.', async () => {
  const { stage, queues, queue } = onSimulated()
  // In rows, where each look at an item is a request for a process that has not read them.
  await push(queues, queue, named('a', 1_000))
  await push(queues, queue, named('b', 1_000))
  const { lock } = await lockItems(queues, queue, { count: 10 })
  await queues.release(queue, { lockId: lock.id, delaySeconds: 60 })
  const other = stage.engine()
  expect(await other.pop(queue)).toMatchObject({ kind: 'locked', forRetry: true })
  expect(other.wire.sent.length).toBe(1)
})
