import { TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import { describe, expect, it } from 'vitest'
import { QueueError } from '../../shared/errors.ts'
import { openSimulated } from './stage.ts'
import { codeOf, expectCode, push, pushWide } from './traffic.ts'

// Items for later take up no room and no priority of their queue before they are due, however they come.

const later = (count: number, priority = 0) =>
  Array.from({ length: count }, (_, n) => ({ text: `"later${n}"`, delaySeconds: 3_600, priority }))

/** A queue with a capacity of one, and an item in it. */
async function full(linger = false) {
  const stage = openSimulated()
  const [queues, queue] = [stage.engine({ linger }), stage.queue()]
  await queues.configure(queue, { capacity: 1 })
  await push(queues, queue, [{ text: '"now"' }])
  const transact = (items: Parameters<typeof push>[2]) =>
    queues.transact(queue, items, (entries) => {
      const request = { TransactItems: entries as never }
      return stage.store.dynamodb.send(new TransactWriteCommand(request) as never)
    })
  const scheduled = async () => (await queues.inspect(queue, { consistent: true })).scheduledCount
  return { stage, queues, queue, transact, scheduled }
}

describe('A full queue takes items for later', () => {
  it("from a caller's own transaction, more of them than its capacity, too.", async () => {
    const { transact, scheduled } = await full()
    await transact(later(1))
    await transact(later(5))
    expect(await scheduled()).toBe(6)
  })

  it('in a transaction refuses only what needs room now, and says how many that are.', async () => {
    const { transact, scheduled } = await full()
    const error = await transact([...later(5), { text: '1' }]).catch((reason: unknown) => reason)
    // One item now is no more than the capacity: it fits once there is room.
    expect(error).toMatchObject({ code: 'QUEUE_FULL', retryable: true })
    expect(error).toBeInstanceOf(QueueError)
    expect(await scheduled()).toBe(0)
  })

  it('as an entry for a transaction.', async () => {
    const { queues, queue } = await full()
    const [item] = later(1)
    if (item === undefined) throw new Error('no item')
    expect(await queues.pushTransactItem(queue, item)).toHaveProperty('Update')
  })

  it('that linger beside a push which it refuses.', async () => {
    const { queues, queue, scheduled } = await full(true)
    const outcomes = await Promise.all([
      codeOf(push(queues, queue, [{ text: '1' }])),
      push(queues, queue, later(1)),
      codeOf(push(queues, queue, [{ text: '2' }, ...later(1)])),
      push(queues, queue, later(3)),
    ])
    expect([outcomes[0], outcomes[2]]).toEqual(['QUEUE_FULL', 'QUEUE_FULL'])
    expect(await scheduled()).toBe(4)
  })
})

describe('A queue in which all priorities have items', () => {
  it("takes items for later of another priority from a caller's own transaction.", async () => {
    const { queues, queue, transact, scheduled } = await full()
    await queues.configure(queue, { capacity: null })
    const lanes = Array.from({ length: 999 }, (_, n) => ({ text: '0', priority: n + 1 }))
    await pushWide(queues, queue, lanes)
    await expectCode(push(queues, queue, [{ text: '1', priority: 5_000 }]), 'TOO_MANY_PRIORITIES')
    await transact(later(1, 5_000))
    expect(await scheduled()).toBe(1)
  })
})

describe('A queue that does not exist yet', () => {
  it("is made by items for later in a caller's own transaction.", async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    await queues.transact(queue, later(1), (entries) => {
      const request = { TransactItems: entries as never }
      return stage.store.dynamodb.send(new TransactWriteCommand(request) as never)
    })
    stage.clock.pass(3_600_000)
    expect(await queues.pop(queue)).toMatchObject({ items: [{ text: '"later0"' }] })
  })
})
