import { describe, expect, it } from 'vitest'
import { IN_FLIGHT_MAX, LANES_MAX } from '../../lambdas/engine/core/limits.ts'
import { openSimulated } from './stage.ts'
import { drain, expectCode, lockItems, named, push, textsOf, tidy } from './traffic.ts'

// A priority whose items cannot move to the other queue must not keep those of all others.

const QUEUE = 'orders'
const DEAD = 'orders-deadletter'

/** One item in each of as many priorities as a queue may have. */
const onePerLane = Array.from({ length: LANES_MAX }, (_, priority) => ({
  text: `"old ${priority}"`,
  priority,
}))

async function queueWithFullDeadLetters() {
  const stage = openSimulated()
  const queues = stage.engine()
  await push(queues, DEAD, onePerLane)
  const bury = async (priority: number, count = 1, reason = 'broken') => {
    await push(queues, QUEUE, named(`p${priority}-`, count, priority))
    const { lock } = await lockItems(queues, QUEUE, { count })
    return queues.deadLetter(QUEUE, { lockId: lock.id, reason })
  }
  return { stage, queues, bury }
}

describe('Where a dead-letter queue takes no further priority', () => {
  it('the dead of all others move, and the error names the queue that is in the way.', async () => {
    const { stage, queues, bury } = await queueWithFullDeadLetters()
    await bury(LANES_MAX)
    expect(stage.background).toMatchObject([{ step: 'dead-letter' }])
    const { error } = stage.background[0] as { error: Error }
    expect(error.message).toContain(`priority ${LANES_MAX} from queue "${QUEUE}" to "${DEAD}"`)
    expect(error).toMatchObject({ code: 'TOO_MANY_PRIORITIES' })
    for (const priority of [0, 5, 999]) await bury(priority, 3)
    expect(await queues.inspect(QUEUE, { consistent: true })).toMatchObject({ deadCount: 1 })
    expect((await queues.inspect(DEAD, { consistent: true })).count).toBe(LANES_MAX + 9)
  })

  it('and then was emptied by somebody else, a process that remembers it full goes on.', async () => {
    const { stage, queues, bury } = await queueWithFullDeadLetters()
    await bury(LANES_MAX)
    const operator = stage.engine()
    await operator.purge(DEAD)
    await operator.housekeep(DEAD)
    expect(await queues.housekeep(QUEUE)).toMatchObject({ deadLettered: 1, finished: true })
    expect(await operator.inspect(DEAD, { consistent: true })).toMatchObject({ count: 1 })
  })

  it('and somebody else drops its lanes first, nobody is told that there is no room.', async () => {
    const { stage, queues, bury } = await queueWithFullDeadLetters()
    await bury(LANES_MAX)
    const operator = stage.engine()
    await operator.purge(DEAD)
    // Both see the empty lanes; the other's write comes first, and leaves none that is empty.
    let isFirst = true
    queues.wire.steering = {
      before: async ({ name, input }) => {
        const { pk } = (input.Key ?? {}) as { pk?: string }
        if (!isFirst || name !== 'UpdateCommand' || pk !== `q#${DEAD}`) return
        isFirst = false
        await tidy(operator, DEAD)
        const { lanes } = await stage.record(DEAD)
        const items = [...lanes.keys()].map((priority) => ({ text: '1', priority }))
        await push(operator, DEAD, items)
      },
    }
    expect(await queues.housekeep(QUEUE)).toMatchObject({ deadLettered: 1, finished: true })
  })

  it('housekeeping does the rest of its work, and comes back to it.', async () => {
    const { stage, queues, bury } = await queueWithFullDeadLetters()
    await bury(LANES_MAX)
    await queues.configure(QUEUE, { segmentSize: 5 })
    const texts = named('x', 60).map((item) => ({ ...item, text: item.text.padEnd(200) }))
    for (const item of texts) await push(queues, QUEUE, [item])
    expect(await queues.housekeep(QUEUE)).toMatchObject({ offloaded: 9, finished: false })
    const before = await stage.stored(QUEUE)
    expect(before?.checkAt).toBeDefined()
    const operator = stage.engine()
    await operator.purge(DEAD, { priority: 3 })
    await operator.housekeep(DEAD)
    expect(await queues.housekeep(QUEUE)).toMatchObject({ deadLettered: 1, finished: true })
  })

  it('consumers go on giving up items, though what is kept of a reason gets short.', async () => {
    const { stage, queues, bury } = await queueWithFullDeadLetters()
    for (let n = 0; n < 100; n += 1) await bury(LANES_MAX, 1, `${n}`.padStart(250, 'reason '))
    await bury(LANES_MAX, 1, 'the last of all the reasons there are')
    const operator = stage.engine()
    await operator.purge(DEAD)
    await operator.housekeep(DEAD)
    await queues.housekeep(QUEUE)
    const reasons = (await drain(queues, DEAD)).map(({ reason = '' }) => reason)
    expect(reasons).toHaveLength(101)
    expect(reasons[0]).toHaveLength(250)
    expect(reasons.at(-1)).toBe('the last of all ')
  })

  it('a pop that finds no room in flight says what takes it up.', async () => {
    const { queues, bury } = await queueWithFullDeadLetters()
    for (let n = 0; n < IN_FLIGHT_MAX / 100; n += 1) await bury(LANES_MAX, 100)
    await push(queues, QUEUE, named('x', 1))
    const refused = queues.pop(QUEUE, { requireAck: true, competing: true })
    await expectCode(refused, 'TOO_MANY_LOCKS')
    await expect(refused).rejects.toThrow(`2000 of them are dead and wait to be moved to "${DEAD}"`)
  })
})

describe('A push to more priorities than one expression names', () => {
  const wide = Array.from({ length: 60 }, (_, n) => ({ text: '1', priority: LANES_MAX + n }))

  it('is not refused for priorities that are remembered, and gone since.', async () => {
    const stage = openSimulated()
    const [queues, operator] = [stage.engine(), stage.engine()]
    await push(queues, QUEUE, onePerLane)
    await operator.purge(QUEUE)
    await tidy(operator, QUEUE)
    await push(queues, QUEUE, wide)
    expect(await operator.inspect(QUEUE, { consistent: true })).toMatchObject({ count: 60 })
  })

  it('is not refused for items that are remembered, and gone since.', async () => {
    const stage = openSimulated()
    const [queues, operator] = [stage.engine(), stage.engine()]
    await operator.configure(QUEUE, { capacity: 60 })
    await push(queues, QUEUE, wide)
    await operator.purge(QUEUE)
    await push(queues, QUEUE, wide)
    expect(await operator.inspect(QUEUE, { consistent: true })).toMatchObject({ count: 60 })
  })

  it('is refused where they are still there.', async () => {
    const queues = openSimulated().engine()
    await push(queues, QUEUE, onePerLane)
    await expectCode(push(queues, QUEUE, wide), 'TOO_MANY_PRIORITIES')
    await queues.configure(QUEUE, { capacity: LANES_MAX })
    await expectCode(push(queues, QUEUE, wide), 'QUEUE_FULL')
  })
})

it('A redrive moves what it can, and names the priority that it cannot move.', async () => {
  const stage = openSimulated()
  const queues = stage.engine()
  // The best priority is the one that is in the way.
  await push(queues, QUEUE, named('dead', 4, 0))
  const first = await lockItems(queues, QUEUE, { count: 4 })
  await queues.deadLetter(QUEUE, { lockId: first.lock.id })
  await push(queues, QUEUE, named('dead', 3, 7))
  const second = await lockItems(queues, QUEUE, { count: 3 })
  await queues.deadLetter(QUEUE, { lockId: second.lock.id })
  const others = Array.from({ length: LANES_MAX }, (_, n) => ({ text: '1', priority: n + 1 }))
  stage.clock.pass(3_600_000)
  await queues.housekeep(QUEUE)
  await queues.returnExpiredLocks()
  await push(queues, QUEUE, others)
  const redriven = queues.redrive(DEAD)
  await expectCode(redriven, 'TOO_MANY_PRIORITIES')
  await expect(redriven).rejects.toMatchObject({ outcome: 'unknown' })
  await expect(redriven).rejects.toThrow(`priority 0 from queue "${DEAD}" to "${QUEUE}"`)
  expect(textsOf(await drain(queues, DEAD))).toEqual(textsOf(named('dead', 4)))
  const { items } = await queues.browse(QUEUE, { priority: 7 })
  expect(textsOf(items)).toEqual(['1', ...textsOf(named('dead', 3))])
})
