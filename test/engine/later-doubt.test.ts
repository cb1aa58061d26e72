import { describe, expect, it } from 'vitest'
import { onSimulated } from './stage.ts'
import { bulky, named, push, pushOneByOne } from './traffic.ts'
import { throttled, timedOut } from './wire.ts'

// Answers that get lost, and requests that are refused, where items for later are purged, moved and pushed.

const later = (name: string, count: number, bytes = 100) =>
  Array.from({ length: count }, (_, n) => ({
    text: bulky(`${name}${n}`, bytes),
    delaySeconds: 300,
  }))

describe('A purge of what is scheduled', () => {
  it.each([
    ['in the record', 2, 'UpdateCommand'],
    // With a batch in the record, it is a transaction.
    ['in batches', 1, 'TransactWriteCommand'],
  ])(
    '%s says that its outcome is unknown if its answer is lost and nobody can look.',
    async (_, count, write) => {
      const { stage, queues, queue } = onSimulated()
      await push(queues, queue, later('a', count, count === 1 ? 4_000 : 100))
      let isOut = false
      const other = stage.engine({
        before() {
          if (isOut) throw timedOut()
        },
        after({ name }) {
          isOut ||= name === write
          if (isOut) throw timedOut()
        },
      })
      await expect(other.purge(queue)).rejects.toMatchObject({ outcome: 'unknown' })
      expect((await queues.inspect(queue)).scheduledCount).toBe(0)
    },
  )

  it('says so, too, if it was carried out and the record cannot be read after it.', async () => {
    const { stage, queues, queue } = onSimulated()
    await push(queues, queue, later('a', 1, 4_000))
    let isOut = false
    const other = stage.engine({
      before() {
        if (isOut) throw throttled()
      },
      after({ name }) {
        isOut ||= name === 'TransactWriteCommand'
      },
    })
    await expect(other.purge(queue)).rejects.toMatchObject({ outcome: 'unknown' })
    expect((await queues.inspect(queue)).scheduledCount).toBe(0)
  })

  it('says so, too, if its first sending may yet land and the next is refused.', async () => {
    const { stage, queues, queue } = onSimulated()
    await push(queues, queue, later('a', 2))
    let sent = 0
    const other = stage.engine({
      before({ name }) {
        if (name !== 'UpdateCommand') return
        sent += 1
        throw sent === 1 ? timedOut() : throttled()
      },
    })
    await expect(other.purge(queue)).rejects.toMatchObject({ outcome: 'unknown' })
  })
})

describe('A request that is certainly refused leaves no batch behind', () => {
  const refusing = {
    before: ({ name }: { name: string }) => {
      if (name === 'TransactWriteCommand') throw throttled()
    },
  }

  it('where large items are moved to another queue.', async () => {
    const { stage, queues, queue } = onSimulated()
    const ids = await pushOneByOne(queues, queue, [{ text: bulky('a', 4_000) }])
    const refused = stage.engine(refusing)
    await expect(refused.move(queue, { ids, queue: 'others' })).rejects.toThrow()
    expect(await stage.rows('others', 'b')).toEqual([])
  })

  it('where a schedule pushes a large item.', async () => {
    const { stage, queues, queue } = onSimulated()
    await push(queues, queue, named('a', 1))
    await queues.putSchedule(queue, 'large', { everySeconds: 60, text: bulky('b', 4_000) })
    stage.clock.pass(61_000)
    await stage.engine(refusing).returnExpiredLocks()
    expect(await stage.rows(queue, 'b')).toEqual([])
    await queues.returnExpiredLocks()
    expect((await queues.inspect(queue)).count).toBe(2)
  })
})
