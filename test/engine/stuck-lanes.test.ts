import { describe, expect, it } from 'vitest'
import { IN_FLIGHT_MAX, LANES_MAX } from '../../engine/core/limits.ts'
import type { PushItem } from '../../engine/queues.ts'
import { onSimulated, openSimulated } from './stage.ts'
import { drain, expectCode, lockItems, named, push, pushWide, textsOf, tidy } from './traffic.ts'
import type { Steering } from './wire.ts'

// A priority whose items cannot move to the other queue must not keep those of all others.

const QUEUE = 'orders'
const DEAD = 'orders-deadletter'

/** One item in each of as many priorities as a queue may have. */
const onePerLane = Array.from({ length: LANES_MAX }, (_, priority) => ({
  text: `"old ${priority}"`,
  priority,
}))

async function queueWithFullDeadLetters() {
  const { stage, queues } = onSimulated()
  await pushWide(queues, DEAD, onePerLane)
  const bury = async (priority: number, count = 1, reason = 'broken') => {
    await push(queues, QUEUE, named(`p${priority}-`, count, priority))
    const { lock } = await lockItems(queues, QUEUE, { count })
    return queues.deadLetter(QUEUE, { lockId: lock.id, reason })
  }
  return { stage, queues, bury }
}

describe('If a dead-letter queue accepts no further priority', () => {
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

  it('and somebody else drops its lanes first, no move is refused for lack of room.', async () => {
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

  it.each([1, 200])('%i that wait cost a call no more than one does.', async (count) => {
    const { stage, queues, bury } = await queueWithFullDeadLetters()
    for (let n = 0; n < count; n += 1) await bury(LANES_MAX + n)
    await push(queues, QUEUE, named('last', 1, LANES_MAX))
    const { lock } = await lockItems(queues, QUEUE)
    const unitsBefore = stage.store.readUnits?.() ?? 0
    const dying = () => queues.deadLetter(QUEUE, { lockId: lock.id })
    expect((await queues.wire.during(dying)).length).toBeLessThanOrEqual(4)
    expect((await queues.wire.during(() => queues.housekeep(QUEUE))).length).toBeLessThanOrEqual(7)
    expect((stage.store.readUnits?.() ?? 0) - unitsBefore).toBeLessThanOrEqual(80)
  })

  it('each change of the queue does not have it tried again: that is left to the timer.', async () => {
    const { stage, queues, bury } = await queueWithFullDeadLetters()
    await bury(LANES_MAX)
    const onTheStream = stage.engine()
    const housekeep = () => onTheStream.housekeep(QUEUE, { leaveStuck: true })
    expect(await housekeep()).toMatchObject({ finished: false })
    expect(stage.background.filter(({ step }) => step === 'dead-letter')).toHaveLength(2)
    const { checkAt = 0 } = (await stage.stored(QUEUE)) ?? {}
    for (let n = 0; n < 5; n += 1) {
      await push(queues, QUEUE, named('x', 1, LANES_MAX + 5))
      expect(await onTheStream.wire.during(housekeep)).toEqual(['GetCommand'])
    }
    expect(stage.background.filter(({ step }) => step === 'dead-letter')).toHaveLength(2)
    // A call by hand always tries, and so does the sweeper.
    expect(
      (await onTheStream.wire.during(() => onTheStream.housekeep(QUEUE))).length,
    ).toBeGreaterThan(3)
    await stage.engine().purge(DEAD, { priority: 3 })
    expect(checkAt).toBeLessThanOrEqual(stage.clock.nowMs() + 60_000)
    stage.clock.pass(61_000)
    expect(await onTheStream.returnExpiredLocks()).toMatchObject({ itemsDeadLettered: 1 })
    await bury(LANES_MAX + 1)
    expect(await housekeep()).toMatchObject({ deadLettered: 0, finished: false })
    stage.clock.pass(61_000)
    await stage.engine().purge(DEAD, { priority: 4 })
    expect(await housekeep()).toMatchObject({ deadLettered: 1, finished: true })
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

describe('If the store refuses to move some priorities', () => {
  /** Refuses every move but of items with that in their texts. */
  const refuseAllBut =
    (text: string): NonNullable<Steering['before']> =>
    ({ name, input }) => {
      if (name !== 'TransactWriteCommand' || JSON.stringify(input).includes(text)) return
      const $metadata = { httpStatusCode: 400 }
      throw Object.assign(new Error('refused'), { name: 'ValidationException', $metadata })
    }

  async function tenPrioritiesThatWait() {
    const queues = openSimulated().engine({ before: refuseAllBut('nothing') })
    for (let priority = 0; priority < 10; priority += 1) {
      await push(queues, QUEUE, named(`p${priority}-`, 1, priority))
      const { lock } = await lockItems(queues, QUEUE)
      await queues.deadLetter(QUEUE, { lockId: lock.id })
    }
    return queues
  }

  it('a call moves its own items first, and tries few others.', async () => {
    const queues = await tenPrioritiesThatWait()
    queues.wire.steering = { before: refuseAllBut('own') }
    await push(queues, QUEUE, named('own', 1, 99))
    const { lock } = await lockItems(queues, QUEUE)
    const dying = () => queues.deadLetter(QUEUE, { lockId: lock.id })
    const moves = (await queues.wire.during(dying)).filter((name) => name.startsWith('Transact'))
    expect(moves.length).toBeLessThanOrEqual(4)
    expect(textsOf(await drain(queues, DEAD))).toEqual(['"own0"'])
  })

  it('housekeeping moves the others, and asks once for each that is refused.', async () => {
    const queues = await tenPrioritiesThatWait()
    queues.wire.steering = { before: refuseAllBut('p7-') }
    const asked = await queues.wire.during(() => queues.housekeep(QUEUE))
    expect(asked.filter((name) => name.startsWith('Transact'))).toHaveLength(10)
    expect(asked.filter((name) => name === 'GetCommand').length).toBeLessThanOrEqual(5)
    expect(textsOf(await drain(queues, DEAD))).toEqual(['"p7-0"'])
  })
})

describe('If S3 is out of reach', () => {
  const s3IsAway: NonNullable<Steering['before']> = ({ name }) => {
    if (name !== 'GetObjectCommand') return
    throw Object.assign(new Error('away'), {
      name: 'InternalError',
      $metadata: { httpStatusCode: 500 },
    })
  }

  /** In each of three priorities 60 items, most of them for S3, and in a further one five. */
  const items = [0, 1, 2].flatMap((priority) =>
    named(`p${priority}-`, 60, priority).map(({ text }) => ({ text: text.padEnd(300), priority })),
  )
  const all: readonly PushItem[] = [...items, ...named('p7-', 5, 7)]

  it('a redrive moves the priorities that do not need it, and asks it for one of the others.', async () => {
    const { stage, queues } = onSimulated()
    await queues.configure(DEAD, { segmentSize: 5, bufferSegments: 1 })
    for (const item of all) {
      await push(queues, QUEUE, [item])
      const { lock } = await lockItems(queues, QUEUE)
      await queues.deadLetter(QUEUE, { lockId: lock.id })
    }
    await tidy(queues, DEAD)
    const other = stage.engine({ before: s3IsAway })
    await expectCode(other.redrive(DEAD), 'SEGMENT_UNAVAILABLE')
    const last = await queues.browse(QUEUE, { priority: 7 })
    expect(textsOf(last.items)).toEqual(textsOf(named('p7-', 5)))
    const asked = other.wire.sent.filter(({ name }) => name === 'GetObjectCommand')
    expect(new Set(asked.map(({ input }) => input.Key)).size).toBe(1)
  })

  it('housekeeping moves the dead of priorities that do not need it.', async () => {
    const { stage, queues } = onSimulated()
    await queues.configure(QUEUE, { segmentSize: 5, bufferSegments: 1 })
    for (const item of all) await push(queues, QUEUE, [item])
    await tidy(queues, QUEUE)
    const stored = structuredClone(await stage.stored(QUEUE))
    if (stored === undefined) throw new Error('unreachable')
    // Dead since before they were offloaded.
    for (const [priority, lane] of Object.entries(stored.L)) {
      const [from] = priority === '7' ? [0] : (lane.o ?? [])
      if (from === undefined) throw new Error('unreachable')
      lane.q = [from * lane.z, from * lane.z + 5, 0]
      lane.w = ['broken']
    }
    // Whichever comes first.
    for (let process = 1; process <= 4; process += 1) {
      await stage.plant({ ...stored, i: stored.i + 20, work: 'y' })
      await stage.engine({ before: s3IsAway }).housekeep(QUEUE)
      expect((await stage.record(QUEUE)).lanes.get(7)?.dead).toEqual([])
    }
  })
})

it('A redrive moves what it can, and names the priority that it cannot move.', async () => {
  const { stage, queues } = onSimulated()
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
  await pushWide(queues, QUEUE, others)
  const redriven = queues.redrive(DEAD)
  await expectCode(redriven, 'TOO_MANY_PRIORITIES')
  await expect(redriven).rejects.toMatchObject({ outcome: 'unknown' })
  await expect(redriven).rejects.toThrow(`priority 0 from queue "${DEAD}" to "${QUEUE}"`)
  expect(textsOf(await drain(queues, DEAD))).toEqual(textsOf(named('dead', 4)))
  const { items } = await queues.browse(QUEUE, { priority: 7 })
  expect(textsOf(items)).toEqual(['1', ...textsOf(named('dead', 3))])
})
