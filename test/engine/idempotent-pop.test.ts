import { expect, it } from 'vitest'
import { openSimulated } from './stage.ts'
import { drain, expectCode, lockItems, named, push, textsOf } from './traffic.ts'
import { timedOut } from './wire.ts'

const request = { requireAck: true, idempotencyKey: 'key' }

it.each([true, false])(
  'A pop with a key gets its items and lock again while the lock lives (competing: %s).',
  async (competing) => {
    const [stage, queue] = [openSimulated(), 'queue']
    await push(stage.engine(), queue, [...named('a', 4), ...named('b', 2, 3)])
    const first = await lockItems(stage.engine(), queue, { ...request, count: 5, competing })
    stage.clock.pass(10_000)
    const again = await lockItems(stage.engine(), queue, { ...request, count: 5, competing })
    expect(again.items).toEqual(first.items)
    expect(again.lock).toMatchObject({ id: first.lock.id, expiresAtMs: first.lock.expiresAtMs })
    await stage.engine().acknowledge(queue, { lockId: first.lock.id })
    expect(textsOf((await lockItems(stage.engine(), queue, request)).items)).toEqual(['"b1"'])
  },
)

it('After its lock expired, a pop with the same key is a new one.', async () => {
  const [stage, queue] = [openSimulated(), 'queue']
  await push(stage.engine(), queue, named('a', 2))
  const first = await lockItems(stage.engine(), queue, request)
  stage.clock.pass(30_000)
  const second = await lockItems(stage.engine(), queue, request)
  expect(second.lock.id).not.toBe(first.lock.id)
  expect(second.items).toMatchObject([{ text: '"a0"', deliveries: 2 }])
})

it('If the answer is lost, the repetition finds the lock.', async () => {
  const [stage, queue] = [openSimulated(), 'queue']
  await push(stage.engine(), queue, named('a', 6))
  let lost = 0
  const queues = stage.engine({
    after: ({ name }) => {
      if (name === 'UpdateCommand' && lost++ < 9) throw timedOut()
    },
  })
  await queues.pop(queue, { ...request, competing: true }).catch(() => {})
  const { items } = await lockItems(stage.engine(), queue, { ...request, competing: true })
  expect(textsOf(items)).toEqual(['"a0"'])
  expect((await stage.record(queue)).locks.size).toBe(1)
})

it('Six processes that pop with the same key at once share one lock.', async () => {
  const [stage, queue] = [openSimulated(), 'queue']
  await push(stage.engine(), queue, named('a', 20))
  const answers = await Promise.all(
    Array.from({ length: 6 }, () =>
      lockItems(stage.engine(), queue, { ...request, competing: true, count: 3 }),
    ),
  )
  expect(new Set(answers.map(({ lock }) => lock.id)).size).toBe(1)
  expect(new Set(answers.map(({ items }) => JSON.stringify(items))).size).toBe(1)
})

it('Repeated, a pop that acknowledged an earlier lock says so again.', async () => {
  const [stage, queue] = [openSimulated(), 'queue']
  await push(stage.engine(), queue, named('a', 4))
  const earlier = await lockItems(stage.engine(), queue, { count: 2 })
  const combined = { ...request, acknowledge: earlier.lock.id }
  const first = await lockItems(stage.engine(), queue, combined)
  expect(first.itemsAcknowledged).toBe(2)
  const again = await lockItems(stage.engine(), queue, combined)
  expect(again).toMatchObject({ items: first.items, lock: { id: first.lock.id } })
  expect(again.itemsAcknowledged).toBe(2)
  expect((await stage.record(queue)).locks.size).toBe(1)
})

it('A key without an acknowledgement to wait for is refused.', async () => {
  const queues = openSimulated().engine()
  await expectCode(queues.pop('queue', { idempotencyKey: 'key' }), 'INVALID_PARAMETER')
  const long = { requireAck: true, idempotencyKey: 'x'.repeat(129) }
  await expectCode(queues.pop('queue', long), 'INVALID_PARAMETER')
})

it('Nothing is left to repeat once a drained queue was popped in vain.', async () => {
  const [stage, queue] = [openSimulated(), 'queue']
  await push(stage.engine(), queue, named('a', 1))
  await drain(stage.engine(), queue)
  expect(await stage.engine().pop(queue, request)).toEqual({ kind: 'empty' })
})
