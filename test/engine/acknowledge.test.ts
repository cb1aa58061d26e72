import { describe, expect, it } from 'vitest'
import { useEmbedded } from './stage.ts'
import { drain, expectCode, idsOf, lockItems, named, textsOf } from './traffic.ts'

const stage = useEmbedded()

const locked = async (count = 3, items = count) => {
  const { queues, queue } = await stage.holding(named('a', items))
  return { queues, queue, ...(await lockItems(queues, queue, { count })) }
}

describe('An acknowledge', () => {
  it.each([false, true])("is one request (of a consumer's lock: %s).", async (forConsumer) => {
    const { queues, queue } = await stage.holding(named('a', 2))
    const { lock } = await lockItems(queues, queue, { forConsumer })
    const acknowledge = () => queues.acknowledge(queue, { lockId: lock.id })
    expect(await queues.wire.during(acknowledge)).toEqual(['UpdateCommand'])
  })

  it('of a part leaves the rest locked, reads nothing, and may be repeated.', async () => {
    const { queues, queue, lock, items } = await locked(4)
    const [first, second, third, fourth] = idsOf(items) as [string, string, string, string]
    const part = { lockId: lock.id, ids: [second, fourth, second] }
    const sent = await queues.wire.during(() => queues.acknowledge(queue, part))
    expect(sent).toEqual(['UpdateCommand'])
    expect(await queues.acknowledge(queue, part)).toEqual({ itemsAcknowledged: 2 })
    expect(await stage.engine().acknowledge(queue, part)).toEqual({ itemsAcknowledged: 2 })
    expect(await queues.pop(queue)).toMatchObject({ kind: 'locked' })
    expect(await queues.inspect(queue, { consistent: true })).toMatchObject({
      count: 2,
      lockedCount: 2,
      locks: [{ count: 2 }],
    })
    await queues.acknowledge(queue, { lockId: lock.id, ids: [first, third] })
    expect(await queues.pop(queue)).toEqual({ kind: 'empty' })
    expect(await queues.acknowledge(queue, { lockId: lock.id, ids: [first, third] })).toEqual({
      itemsAcknowledged: 2,
    })
  })
})

it('A consumer’s settlement gets its answer again, also from a process that has not seen it.', async () => {
  const { queues, queue } = await stage.holding(named('a', 2))
  const taken = await lockItems(queues, queue, { forConsumer: true })
  const lockId = taken.lock.id
  expect(await queues.release(queue, { lockId })).toEqual({ itemsReleased: 1 })
  expect(await stage.engine().release(queue, { lockId })).toEqual({ itemsReleased: 1 })
  await expectCode(stage.engine().acknowledge(queue, { lockId }), 'LOCK_EXPIRED')
})

it('An acknowledge of many locks gives each its own answer.', async () => {
  const { queues, queue } = await stage.holding(named('a', 40))
  const locks: string[] = []
  for (let lock = 0; lock < 38; lock += 1) {
    locks.push((await lockItems(queues, queue, { competing: true })).lock.id)
  }
  const short = { ttlSeconds: 1, competing: true }
  const expired = (await lockItems(queues, queue, short)).lock.id
  stage.clock.pass(1_000)
  const results = await queues.acknowledgeMany(queue, [...locks, expired, 'unknown'])
  expect(results.slice(0, 38)).toEqual(
    locks.map((lockId) => ({ lockId, kind: 'acknowledged', itemsAcknowledged: 1 })),
  )
  expect(results.slice(38)).toMatchObject([
    { lockId: expired, kind: 'refused', code: 'LOCK_EXPIRED' },
    // Which of the two depends on whether its neighbours are settled by then.
    {
      lockId: 'unknown',
      kind: 'refused',
      code: expect.stringMatching(/^(LOCK_NOT_FOUND|INVALID_LOCK_ID)$/),
    },
  ])
  expect(textsOf(await drain(queues, queue))).toEqual(['"a38"', '"a39"'])
  await expectCode(queues.acknowledgeMany(queue, []), 'INVALID_PARAMETER')
  const tooMany = Array.from({ length: 101 }, () => 'x')
  await expectCode(queues.acknowledgeMany(queue, tooMany), 'INVALID_PARAMETER')
})

describe('A pop that acknowledges an earlier lock in the same write', () => {
  it('settles it and takes the next, exclusive or competing.', async () => {
    for (const competing of [false, true]) {
      const { queues, queue } = await stage.holding(named('a', 5))
      const texts: string[] = []
      let acknowledge: string | undefined
      for (;;) {
        const request = { count: 2, requireAck: true, competing }
        const outcome = await queues.pop(queue, {
          ...request,
          ...(acknowledge !== undefined && { acknowledge }),
        })
        if (outcome.kind !== 'items') {
          expect(outcome).toEqual({ kind: 'empty', itemsAcknowledged: 1 })
          break
        }
        if (acknowledge !== undefined) expect(outcome.itemsAcknowledged).toBe(2)
        texts.push(...textsOf(outcome.items))
        acknowledge = outcome.lock?.id
      }
      expect(texts).toEqual(textsOf(named('a', 5)))
      expect((await queues.inspect(queue, { consistent: true })).count).toBe(0)
    }
  })

  it('takes nothing when that lock expired or is unknown.', async () => {
    for (const competing of [false, true]) {
      const { queues, queue, lock } = await locked(1, 3)
      const request = { competing, requireAck: true }
      const unknown = queues.pop(queue, { ...request, acknowledge: 'unknown' })
      await expectCode(unknown, 'INVALID_LOCK_ID')
      stage.clock.pass(30_000)
      const late = queues.pop(queue, { ...request, acknowledge: lock.id })
      await expectCode(late, 'LOCK_EXPIRED')
      expect(await queues.inspect(queue, { consistent: true })).toMatchObject({
        count: 3,
        lockedCount: 0,
      })
      await expectCode(queues.pop(queue, { acknowledge: 'unknown' }), 'LOCK_NOT_FOUND')
      await expectCode(queues.pop(stage.queue(), { acknowledge: 'x' }), 'LOCK_NOT_FOUND')
      expect(textsOf(await drain(queues, queue))).toHaveLength(3)
    }
  })

  it('repeated after its answer was lost pops on, and counts the acknowledge again.', async () => {
    const { queues, queue, lock } = await locked(1, 3)
    const first = await lockItems(queues, queue, { acknowledge: lock.id })
    expect(textsOf(first.items)).toEqual(['"a1"'])
    const again = { acknowledge: lock.id, competing: true }
    expect(await stage.engine().pop(queue, again)).toMatchObject({
      kind: 'items',
      items: [{ text: '"a2"' }],
      itemsAcknowledged: 1,
    })
  })

  it('is stopped by another live lock of an exclusive queue, and settles nothing.', async () => {
    const { queues, queue, lock } = await locked(1, 3)
    const other = await lockItems(queues, queue, { competing: true })
    expect(await queues.pop(queue, { acknowledge: lock.id })).toEqual({
      kind: 'locked',
      expiresAtMs: other.lock.expiresAtMs,
    })
    expect((await queues.inspect(queue, { consistent: true })).lockedCount).toBe(2)
  })
})

describe('A release', () => {
  it('of a part comes before what was never handed out, and the rest stays locked.', async () => {
    const { queues, queue, lock, items } = await locked(4, 6)
    const ids = idsOf(items).filter((_, index) => index % 2 === 1)
    await queues.release(queue, { lockId: lock.id, ids })
    const next = await queues.pop(queue, { count: 10, competing: true })
    expect(next).toMatchObject({
      items: [{ text: '"a1"' }, { text: '"a3"' }, { text: '"a4"' }, { text: '"a5"' }],
    })
    await queues.acknowledge(queue, { lockId: lock.id })
    expect(await queues.pop(queue)).toEqual({ kind: 'empty' })
  })
})
