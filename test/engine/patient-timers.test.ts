import { describe, expect, it } from 'vitest'
import { isPatient } from '../../engine/core/record.ts'
import { type EngineOnWire, openSimulated } from './stage.ts'
import { lockItems, named, push } from './traffic.ts'
import { throttled } from './wire.ts'

/** A dead item cannot move, so housekeeping leaves a timer that looks at it again in a minute. */
async function stuck() {
  const stage = openSimulated()
  const queue = stage.queue()
  const broken = stage.engine({
    before({ name }) {
      if (name === 'TransactWriteCommand') throw throttled()
    },
  })
  await push(broken, queue, named('a', 3))
  const { lock } = await lockItems(broken, queue, { ttlSeconds: 200 })
  await broken.deadLetter(queue, { lockId: lock.id, reason: 'bad' })
  return { stage, queue, broken }
}

it('A timer of housekeeping that could not finish does not hide the end of a lock.', async () => {
  const { stage, queue, broken } = await stuck()
  await lockItems(stage.engine(), queue, { ttlSeconds: 100 })
  const lockedMs = stage.clock.now
  await broken.housekeep(queue)
  const called: number[] = []
  stage.clock.now = lockedMs + 59_000
  await stage.engine().returnExpiredLocks({ onNext: (ms) => called.push(ms) })
  // Wake comes for it, and stays awake until the lock ends.
  const [wakeMs = Number.POSITIVE_INFINITY] = called
  expect(wakeMs).toBeLessThanOrEqual(lockedMs + 100_000)
  stage.clock.now = wakeMs
  await stage.engine().returnExpiredLocks()
  expect((await stage.record(queue)).checkAtMs).toBe(lockedMs + 100_000)
})

it('A timer of housekeeping keeps nobody awake where no consumer waits.', async () => {
  const { stage, queue, broken } = await stuck()
  await broken.housekeep(queue)
  // Nobody moves the timer of a lock that has ended until it comes.
  stage.clock.pass(70_000)
  await broken.returnExpiredLocks()
  const called: number[] = []
  stage.clock.pass(50_000)
  await broken.returnExpiredLocks({ onNext: (ms) => called.push(ms) })
  expect(called).toEqual([])
  expect((await stage.record(queue)).near).toBe(false)
})

it('A reminder does not hide what a process schedules that remembers the timer before it.', async () => {
  const stage = openSimulated()
  const queue = stage.queue()
  const [producer, sweeper] = [0, 1].map(() => stage.engine({ remindAfterSeconds: 300 })) as [
    EngineOnWire,
    EngineOnWire,
  ]
  const startMs = stage.clock.now
  await push(producer, queue, [{ text: '1', delaySeconds: 100 }])
  stage.clock.pass(101_000)
  await sweeper.returnExpiredLocks()
  const { checkAtMs } = await stage.record(queue)
  expect([checkAtMs, isPatient(checkAtMs as number)]).toEqual([startMs + 400_999.5, true])
  stage.clock.pass(100_000)
  const requests = await producer.wire.during(() =>
    push(producer, queue, [{ text: '2', delaySeconds: 220 }]),
  )
  // The first one, which its condition refuses, returns the record.
  expect(requests).toEqual(['UpdateCommand', 'UpdateCommand'])
  expect((await stage.record(queue)).checkAtMs).toBe(startMs + 400_999)
})

it('An announcement does not hide what a process schedules that remembers a timer still ahead.', async () => {
  const stage = openSimulated()
  const queue = stage.queue()
  const [producer, operator] = [0, 1].map(() => stage.engine({ remindAfterSeconds: 60 })) as [
    EngineOnWire,
    EngineOnWire,
  ]
  await push(producer, queue, named('a', 1))
  const { ids } = await push(producer, queue, [{ text: '1', delaySeconds: 50 }])
  await operator.cancel(queue, ids)
  await operator.announceWaiting()
  const patientMs = (await stage.record(queue)).checkAtMs as number
  expect(isPatient(patientMs)).toBe(true)
  await push(producer, queue, [{ text: '2', delaySeconds: 300 }])
  expect((await stage.record(queue)).checkAtMs).toBe(Math.floor(patientMs))
})

describe('The timer of what waits in a full queue does not hide what comes due after it, once what waited is', () => {
  /** The sweeper has put the timer off for the first item. */
  async function waiting() {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    await queues.configure(queue, { capacity: 1 })
    await push(queues, queue, named('a', 1))
    const { ids } = await push(queues, queue, [{ text: '1', delaySeconds: 5 }])
    await push(queues, queue, [{ text: '2', delaySeconds: 100 }])
    stage.clock.pass(6_000)
    await stage.engine().returnExpiredLocks()
    const patientMs = (await stage.record(queue)).checkAtMs as number
    expect(isPatient(patientMs)).toBe(true)
    const isPrompt = async () =>
      expect((await stage.record(queue)).checkAtMs).toBe(Math.floor(patientMs))
    return { queues, queue, ids, isPrompt }
  }

  it('cancelled.', async () => {
    const { queues, queue, ids, isPrompt } = await waiting()
    await queues.cancel(queue, ids)
    await isPrompt()
  })

  it('cancelled by a process that read the queue before the sweeper put the timer off.', async () => {
    const stage = openSimulated()
    const [queues, queue] = [stage.engine(), stage.queue()]
    await queues.configure(queue, { capacity: 1 })
    await push(queues, queue, named('a', 1))
    const { ids } = await push(queues, queue, [{ text: '1', delaySeconds: 5 }])
    await push(queues, queue, [{ text: '2', delaySeconds: 20 }])
    let isSwept = false
    const operator = stage.engine({
      async before({ name }) {
        if (name !== 'UpdateCommand' || isSwept) return
        isSwept = true
        stage.clock.pass(6_000)
        await stage.engine().returnExpiredLocks()
        expect(isPatient((await stage.record(queue)).checkAtMs as number)).toBe(true)
      },
    })
    await operator.cancel(queue, ids)
    const { checkAtMs, scheduled } = await stage.record(queue)
    expect(scheduled.entries).toHaveLength(1)
    expect(isPatient(checkAtMs as number)).toBe(false)
  })

  it('moved to another queue.', async () => {
    const { queues, queue, ids, isPrompt } = await waiting()
    await queues.move(queue, { ids, queue: 'other' })
    await isPrompt()
  })
})

it('A process that remembers an earlier timer schedules in one request while the present one is near.', async () => {
  const stage = openSimulated()
  const [producer, other, queue] = [stage.engine(), stage.engine(), stage.queue()]
  const schedule = (queues: EngineOnWire, delaySeconds: number) =>
    push(queues, queue, [{ text: '1', delaySeconds }])
  await schedule(producer, 10)
  stage.clock.pass(11_000)
  await other.returnExpiredLocks()
  await schedule(other, 20)
  expect(await producer.wire.during(() => schedule(producer, 30))).toEqual(['UpdateCommand'])
})

it('A reminder does not hide the end of a lock that a process takes by the timer before it.', async () => {
  const stage = openSimulated()
  const queue = stage.queue()
  const [consumer, operator] = [stage.engine(), stage.engine({ remindAfterSeconds: 60 })]
  const competing = { competing: true, requireAck: true, ttlSeconds: 300 }
  await push(consumer, queue, named('a', 3))
  const { lock } = await lockItems(consumer, queue, { competing: true, ttlSeconds: 200 })
  await consumer.acknowledge(queue, { lockId: lock.id })
  // That lock is in the record until a pop under the fence comes.
  await operator.pop(queue)
  await operator.announceWaiting()
  expect(isPatient((await stage.record(queue)).checkAtMs as number)).toBe(true)
  const requests = await consumer.wire.during(() => consumer.pop(queue, competing))
  // The claim, which its condition refuses, returns the record, and the pop goes under the fence.
  expect(requests).toEqual(['UpdateCommand', 'UpdateCommand'])
  expect(isPatient((await stage.record(queue)).checkAtMs as number)).toBe(false)
})
