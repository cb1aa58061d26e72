import { DeleteCommand } from '@aws-sdk/lib-dynamodb'
import { describe, expect, it } from 'vitest'
import { onSimulated, type Stage } from '../stage.ts'
import { bulky, drain, named, push, textsOf } from '../traffic.ts'
import { freezeAtTransaction, timedOut } from '../wire.ts'

// Each occurrence once, even with other processes at work and answers lost.

const MINUTE_MS = 60_000
const QUEUE = 'orders'
const NAME = 'report'

/** A schedule that is due once. */
async function due(text = '"report"') {
  const { stage } = onSimulated()
  const queues = stage.engine()
  await queues.putSchedule(QUEUE, NAME, { everySeconds: 3_600, text })
  stage.clock.pass(3_600_000)
  return { stage, queues }
}

const popped = async (stage: Stage): Promise<string[]> =>
  textsOf(await drain(stage.engine(), QUEUE))

/** Engines whose transactions meet a fault, one at a time. */
const faults = {
  'is lost before it is carried out': {
    before: (name: string) => {
      if (name === 'TransactWriteCommand') throw timedOut()
    },
  },
  'is carried out and its answer is lost': {
    after: (name: string) => {
      if (name === 'TransactWriteCommand') throw timedOut()
    },
  },
}

describe('A delete', () => {
  it('says that there was no schedule if another caller has deleted it first.', async () => {
    const { stage, queues } = await due()
    const frozen = freezeAtTransaction()
    const deleting = stage.engine(frozen).deleteSchedule(QUEUE, NAME)
    await frozen.reached
    expect(await queues.deleteSchedule(QUEUE, NAME)).toBe(true)
    frozen.thaw()
    expect(await deleting).toBe(false)
  })
})

describe('An occurrence is pushed once', () => {
  it.each(Object.entries(faults))('when its transaction %s.', async (_, fault) => {
    for (const text of ['"report"', bulky('large', 4_000)]) {
      const { stage } = await due(text)
      let left = 1
      const once = (act?: (name: string) => void) => (request: { name: string }) => {
        if (act === undefined || left === 0) return
        if (request.name === 'TransactWriteCommand') left -= 1
        act(request.name)
      }
      const sweeper = stage.engine({
        ...('before' in fault && { before: once(fault.before) }),
        ...('after' in fault && { after: once(fault.after) }),
      })
      await sweeper.returnExpiredLocks()
      await stage.engine().returnExpiredLocks()
      expect(left).toBe(0)
      expect(await popped(stage)).toEqual([text])
    }
  })

  it('when an abandoned transaction arrives after the next one.', async () => {
    const { stage } = await due()
    const frozen = freezeAtTransaction()
    const late = stage.engine(frozen).returnExpiredLocks()
    await frozen.reached
    await stage.engine().returnExpiredLocks()
    stage.clock.pass(3_600_000)
    frozen.thaw()
    await late
    await stage.engine().returnExpiredLocks()
    expect(await popped(stage)).toEqual(['"report"', '"report"'])
  })

  it.each(['before', 'after'] as const)(
    'when its sweeper dies at any of its requests, %s the store has carried it out.',
    async (when) => {
      for (const text of ['"report"', bulky('large', 4_000)]) {
        let requests = 0
        for (let isOver = false; !isOver; requests += 1) {
          const { stage } = await due(text)
          const died = Promise.withResolvers<boolean>()
          const sweeper = stage.engine({
            [when]: (_: unknown, number: number) => {
              if (number <= requests) return undefined
              died.resolve(false)
              return new Promise(() => {})
            },
          })
          const swept = sweeper.returnExpiredLocks().then(() => true)
          isOver = await Promise.race([swept, died.promise])
          await stage.engine().returnExpiredLocks()
          expect(await popped(stage)).toEqual([text])
        }
        expect(requests).toBeGreaterThan(19)
      }
    },
  )

  it('when two sweepers run it at the same time.', async () => {
    const { stage } = await due(bulky('large', 4_000))
    await Promise.all([stage.engine().returnExpiredLocks(), stage.engine().returnExpiredLocks()])
    expect(await popped(stage)).toHaveLength(1)
    expect(await stage.rows(QUEUE, 'b')).toHaveLength(1)
  })

  it('by clocks that are five seconds apart, and not before its time by the clock of the sweeper that pushes it.', async () => {
    const { stage } = await due()
    stage.clock.pass(-3_000)
    const { clock } = stage
    const behind = stage.engine({ clock: clock.skewed(-5_000) })
    expect(await behind.returnExpiredLocks()).toMatchObject({ occurrencesPushed: 0 })
    const ahead = stage.engine({ clock: clock.skewed(5_000) })
    expect(await ahead.returnExpiredLocks()).toMatchObject({ occurrencesPushed: 1 })
    stage.clock.pass(10_000)
    expect(await behind.returnExpiredLocks()).toMatchObject({ occurrencesPushed: 0 })
    expect(await popped(stage)).toHaveLength(1)
  })

  it('when the tail of its lane is full, which its sweeper seals.', async () => {
    const { stage, queues } = await due()
    for (let n = 0; n < 3; n += 1) await push(queues, QUEUE, named('a', 1))
    const record = await stage.stored(QUEUE)
    if (record === undefined) throw new Error('unreachable')
    await stage.plant({ ...record, b: 16_384 })
    expect(await stage.engine().returnExpiredLocks()).toMatchObject({
      occurrencesPushed: 1,
      failed: [],
    })
    expect(await popped(stage)).toEqual(['"a0"', '"a0"', '"a0"', '"report"'])
  })
})

describe('A change of a schedule whose answer is lost', () => {
  it.each(Object.entries(faults))('is made once when it %s.', async (_, fault) => {
    const { stage } = onSimulated()
    let left = 0
    const once = (act?: (name: string) => void) => (request: { name: string }) => {
      if (act === undefined || left === 0 || request.name !== 'TransactWriteCommand') return
      left -= 1
      act(request.name)
    }
    const queues = stage.engine({
      ...('before' in fault && { before: once(fault.before) }),
      ...('after' in fault && { after: once(fault.after) }),
    })
    const put = await queues.putSchedule(QUEUE, NAME, { everySeconds: 60, text: '1' })
    left = 1
    const again = await queues.putSchedule(QUEUE, NAME, { everySeconds: 60, text: '2' })
    expect(await queues.schedule(QUEUE, NAME)).toEqual({ ...put, ...again, text: '2' })
    left = 1
    const paused = await queues.pauseSchedule(QUEUE, NAME)
    expect(paused).toMatchObject({ paused: true })
    left = 1
    expect(await queues.deleteSchedule(QUEUE, NAME)).toBe(true)
    expect(await queues.schedules(QUEUE)).toEqual([])
    expect(left).toBe(0)
  })

  it('has an unknown outcome if another caller has changed it since.', async () => {
    const { stage } = onSimulated()
    const other = stage.engine()
    await other.putSchedule(QUEUE, NAME, { everySeconds: 60, text: '1' })
    let left = 1
    const queues = stage.engine({
      async after({ name }) {
        if (name !== 'TransactWriteCommand' || left === 0) return
        left -= 1
        await other.resumeSchedule(QUEUE, NAME)
        throw timedOut()
      },
    })
    await expect(queues.pauseSchedule(QUEUE, NAME)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      outcome: 'unknown',
    })
  })

  it('has an unknown outcome if another caller has deleted the new schedule since, and does not make it again.', async () => {
    const { stage } = onSimulated()
    const other = stage.engine()
    let left = 1
    const queues = stage.engine({
      async after({ name }) {
        if (name !== 'TransactWriteCommand' || left === 0) return
        left -= 1
        expect(await other.deleteSchedule(QUEUE, NAME)).toBe(true)
        throw timedOut()
      },
    })
    const put = queues.putSchedule(QUEUE, NAME, { everySeconds: 60, text: '1' })
    await expect(put).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'unknown' })
    expect(await other.schedules(QUEUE)).toEqual([])
  })

  it('is tried again if the sweeper has moved the schedule meanwhile.', async () => {
    const { stage } = await due()
    let left = 1
    const queues = stage.engine({
      async before({ name }) {
        if (name !== 'TransactWriteCommand' || left === 0) return
        left -= 1
        await stage.engine().returnExpiredLocks()
        throw timedOut()
      },
    })
    await queues.putSchedule(QUEUE, NAME, { everySeconds: 3_600, text: '"other"' })
    expect(await queues.schedule(QUEUE, NAME)).toMatchObject({ text: '"other"' })
    expect(await popped(stage)).toEqual(['"report"'])
  })
})

it('An occurrence of a schedule that was deleted and made again meanwhile is not pushed.', async () => {
  const { stage, queues } = await due()
  const frozen = freezeAtTransaction()
  const late = stage.engine(frozen).returnExpiredLocks()
  await frozen.reached
  await queues.deleteSchedule(QUEUE, NAME)
  // At the version that the sweeper has seen.
  const again = await queues.putSchedule(QUEUE, NAME, { everySeconds: 3_600, text: '"again"' })
  frozen.thaw()
  await late
  expect(await popped(stage)).toEqual([])
  expect(await queues.schedule(QUEUE, NAME)).toEqual(again)
})

it('A schedule whose item was deleted by hand says so, until it is put again.', async () => {
  const { stage, queues } = await due()
  const Key = { pk: `schedule-items#${QUEUE}`, sk: NAME }
  await stage.store.dynamodb.send(
    new DeleteCommand({ TableName: stage.store.tableName, Key }) as never,
  )
  expect(await stage.engine().returnExpiredLocks()).toMatchObject({
    occurrencesPushed: 0,
    lagMs: 0,
  })
  const refused = expect.stringContaining('put it again')
  expect(await queues.schedules(QUEUE)).toMatchObject([{ refused }])
  await queues.putSchedule(QUEUE, NAME, { everySeconds: 3_600, text: '"again"' })
  expect(await stage.engine().returnExpiredLocks()).toMatchObject({ occurrencesPushed: 1 })
})

it('A sweep leaves a schedule alone that a newer PushPop has written, and runs the others.', async () => {
  const { stage, queues } = await due()
  await queues.putSchedule(QUEUE, 'other', { everySeconds: 60, text: '"other"' })
  const rows = await stage.store.rows()
  const row = rows.find(({ pk, sk }) => pk === `schedules#${QUEUE}` && sk === NAME)
  await stage.plant({ ...row, fm: 2 } as never)
  stage.clock.pass(MINUTE_MS)
  const report = await stage.engine().returnExpiredLocks()
  expect(report).toMatchObject({
    occurrencesPushed: 1,
    failed: [{ error: { code: 'FORMAT_UNKNOWN' } }],
  })
  expect(await popped(stage)).toEqual(['"other"'])
})
