import { describe, expect, it } from 'vitest'
import type { DeployedSchedule, Queues } from '../../../engine/queues.ts'
import { onSimulated, type Stage } from '../stage.ts'
import { drain, textsOf } from '../traffic.ts'
import { freezeAtTransaction, timedOut, unsent } from '../wire.ts'

// Schedules that a deployment brings: put once, deleted once it has them no more, and what callers do is theirs.

const HOUR_MS = 3_600_000
const QUEUE = 'reports'

const hourly = (name: string, text = `"${name}"`): DeployedSchedule => ({
  queue: QUEUE,
  name,
  everySeconds: 3_600,
  text,
})
const [a, b, c] = ['a', 'b', 'c'].map((name) => hourly(name)) as [
  DeployedSchedule,
  DeployedSchedule,
  DeployedSchedule,
]

/** What became of each, by name. */
async function deploy(queues: Queues, hash: string, ...schedules: readonly DeployedSchedule[]) {
  const { results, ...rest } = await queues.deploySchedules(schedules, hash)
  return { ...rest, ...Object.fromEntries(results.map(({ name, result }) => [name, result])) }
}

const names = async (stage: Stage): Promise<string[]> =>
  (await stage.engine().schedules(QUEUE)).map(({ name }) => name)

const texts = async (stage: Stage): Promise<Record<string, string>> =>
  Object.fromEntries(
    await Promise.all(
      (await names(stage)).map(async (name) => [
        name,
        (await stage.engine().schedule(QUEUE, name)).text,
      ]),
    ),
  )

const byName = <R extends { readonly name: string }>(results: readonly R[]): readonly R[] =>
  [...results].sort((one, other) => (one.name < other.name ? -1 : 1))

const nothing = { isNew: false, more: false }
const done = { isNew: true, more: false }

describe('Schedules of a deployment', () => {
  it('are put once, and say that they come from a deployment.', async () => {
    const { stage } = onSimulated()
    expect(await deploy(stage.engine(), 'one', a, b)).toEqual({ ...done, a: 'put', b: 'put' })
    expect(await stage.engine().schedules(QUEUE)).toMatchObject([
      { name: 'a', deployed: true },
      { name: 'b', deployed: true },
    ])
    const again = stage.engine()
    expect(await deploy(again, 'one', a, b)).toEqual(nothing)
    expect(again.wire.sent).toHaveLength(1)
  })

  it('cost a read if there never were any.', async () => {
    const { stage } = onSimulated()
    const queues = stage.engine()
    expect(await deploy(queues, 'none')).toEqual(nothing)
    expect(queues.wire.sent).toHaveLength(1)
    expect(await stage.store.rows()).toEqual([])
  })

  it('are deleted when a deployment has them no more, and all of them by one that has none.', async () => {
    const { stage } = onSimulated()
    await deploy(stage.engine(), 'one', a, b, c)
    await stage.engine().putSchedule(QUEUE, 'by-hand', { everySeconds: 60, text: '1' })
    expect(await deploy(stage.engine(), 'two', a)).toMatchObject({ b: 'deleted', c: 'deleted' })
    expect(await names(stage)).toEqual(['a', 'by-hand'])
    expect(await deploy(stage.engine(), 'none')).toEqual({ ...done, a: 'deleted' })
    expect(await names(stage)).toEqual(['by-hand'])
    expect(await deploy(stage.engine(), 'none')).toEqual(nothing)
  })

  it('go on undisturbed if another deployment has them as they were, what is due just then included.', async () => {
    const { stage } = onSimulated()
    await deploy(stage.engine(), 'one', a)
    const before = await stage.engine().schedule(QUEUE, 'a')
    stage.clock.pass(HOUR_MS)
    expect(await deploy(stage.engine(), 'two', a, b)).toMatchObject({ a: 'as_it_was', b: 'put' })
    expect(await stage.engine().schedule(QUEUE, 'a')).toEqual(before)
    await stage.engine().returnExpiredLocks()
    expect(textsOf(await drain(stage.engine(), QUEUE))).toEqual(['"a"'])
    expect(await stage.engine().schedule(QUEUE, 'a')).toMatchObject({ deployed: true })
  })

  it('lose nothing that is due when a deployment deletes them, or gives them other times.', async () => {
    const { stage } = onSimulated()
    await deploy(stage.engine(), 'one', a, b)
    stage.clock.pass(HOUR_MS + 1_000)
    const other = { ...b, everySeconds: 7_200 }
    expect(await deploy(stage.engine(), 'two', other)).toEqual({
      ...done,
      a: 'deleted',
      b: 'put',
    })
    await stage.engine().returnExpiredLocks()
    expect(textsOf(await drain(stage.engine(), QUEUE)).sort()).toEqual(['"a"', '"b"'])
    expect(await names(stage)).toEqual(['b'])
  })

  it('stay paused when a deployment changes them.', async () => {
    const { stage } = onSimulated()
    await deploy(stage.engine(), 'one', a)
    await stage.engine().pauseSchedule(QUEUE, 'a')
    expect(await deploy(stage.engine(), 'two', hourly('a', '2'))).toMatchObject({ a: 'put' })
    expect(await stage.engine().schedule(QUEUE, 'a')).toMatchObject({ paused: true, text: '2' })
    expect(await deploy(stage.engine(), 'none')).toMatchObject({ a: 'deleted' })
  })

  it('are the callers’ once they have changed them: no deployment deletes them then.', async () => {
    const { stage } = onSimulated()
    await deploy(stage.engine(), 'one', a, b)
    await stage.engine().putSchedule(QUEUE, 'a', { everySeconds: 3_600, text: '"mine"' })
    await stage.engine().deleteSchedule(QUEUE, 'b')
    expect(await stage.engine().schedule(QUEUE, 'a')).not.toHaveProperty('deployed')
    expect(await deploy(stage.engine(), 'one', a, b)).toEqual(nothing)
    expect(await deploy(stage.engine(), 'none')).toEqual({ ...done, a: 'kept', b: 'gone' })
    expect(await texts(stage)).toEqual({ a: '"mine"' })
  })

  it('are a caller’s, too, who puts them as they are: what is due and their times go on.', async () => {
    const { stage } = onSimulated()
    await deploy(stage.engine(), 'one', a)
    const { queue, name, ...input } = a
    const before = await stage.engine().schedule(queue, name)
    stage.clock.pass(HOUR_MS)
    const put = await stage.engine().putSchedule(queue, name, input)
    expect(put).not.toHaveProperty('deployed')
    expect(put).toMatchObject({ timing: before.timing, nextMs: before.nextMs })
    const again = stage.engine()
    await again.putSchedule(queue, name, input)
    expect(again.wire.sent.map(({ name: command }) => command)).not.toContain(
      'TransactWriteCommand',
    )
    expect(await deploy(stage.engine(), 'none')).toEqual({ ...done, a: 'kept' })
    expect(await names(stage)).toEqual(['a'])
  })

  it('replace what callers have put under their names, and are a deployment’s from then on.', async () => {
    const { stage } = onSimulated()
    const { queue, name, ...input } = a
    await stage.engine().putSchedule(queue, name, input)
    await stage.engine().putSchedule(QUEUE, 'b', { everySeconds: 60, text: '"mine"' })
    const { queue: _, name: __, ...withoutItem } = c
    await stage.engine().putSchedule(QUEUE, 'c', { ...withoutItem, text: '"mine"' })
    const report = await stage.engine().deploySchedules([a, b, c], 'one')
    expect(byName(report.results)).toMatchObject([
      // It was as the deployment has it: nobody loses anything.
      { name: 'a', result: 'put' },
      { name: 'b', result: 'replaced', before: { timing: { everySeconds: 60 } } },
      { name: 'c', result: 'replaced' },
    ])
    expect(await stage.engine().schedule(QUEUE, 'a')).toMatchObject({ deployed: true })
    const gone = { a: 'deleted', b: 'deleted', c: 'deleted' }
    expect(await deploy(stage.engine(), 'none')).toMatchObject(gone)
  })

  it('may have ended: that is no failure, and nothing comes of them.', async () => {
    const { stage } = onSimulated()
    const endsAtMs = stage.clock.nowMs() - (stage.clock.nowMs() % 1_000) - 60_000
    expect(await deploy(stage.engine(), 'one', { ...a, endsAtMs })).toEqual({ ...done, a: 'put' })
    stage.clock.pass(2 * HOUR_MS)
    await stage.engine().returnExpiredLocks()
    expect(await drain(stage.engine(), QUEUE)).toEqual([])
  })

  it('make room for each other: what goes, goes first.', async () => {
    const { stage } = onSimulated()
    const full = Array.from({ length: 100 }, (_, n) => hourly(`s${n}`))
    await deploy(stage.engine(), 'one', ...full)
    const [, ...rest] = full
    expect(await deploy(stage.engine(), 'two', a, ...rest)).toMatchObject({
      ...done,
      a: 'put',
      s0: 'deleted',
    })
  })
})

describe('A deployment of schedules', () => {
  it('puts all others if one fails, and tries that one alone again.', async () => {
    const { stage } = onSimulated()
    const wrong = { ...b, everySeconds: 5 }
    const report = await stage.engine().deploySchedules([a, wrong, c], 'one')
    expect(report).toMatchObject({ isNew: true, more: true })
    expect(byName(report.results)).toMatchObject([
      { name: 'a', result: 'put' },
      { name: 'b', result: 'failed', error: { code: 'INVALID_PARAMETER', field: 'every_seconds' } },
      { name: 'c', result: 'put' },
    ])
    // What a caller does meanwhile holds.
    await stage.engine().putSchedule(QUEUE, 'a', { everySeconds: 60, text: '"mine"' })
    expect(await deploy(stage.engine(), 'one', a, wrong, c)).toEqual({
      ...{ isNew: true, more: true },
      b: 'failed',
    })
    expect(await deploy(stage.engine(), 'two', a, c)).toEqual({
      ...done,
      ...{ a: 'replaced', b: 'gone', c: 'as_it_was' },
    })
  })

  it('stops when its time is up, and the next run goes on.', async () => {
    const { stage } = onSimulated()
    const { clock } = stage
    const begun = stage.engine({
      after({ name }) {
        if (name === 'PutCommand') clock.pass(10)
      },
    })
    const soonMs = clock.nowMs() + 10
    expect(await begun.deploySchedules([a, b, c], 'one', { deadlineMs: soonMs })).toEqual({
      ...{ isNew: true, more: true },
      results: [],
    })
    const deadlineMs = clock.nowMs() + 10
    const slow = stage.engine({
      after({ name }) {
        if (name === 'TransactWriteCommand') clock.pass(10)
      },
    })
    expect(await slow.deploySchedules([a, b, c], 'one', { deadlineMs })).toMatchObject({
      isNew: true,
      more: true,
      results: [{ result: 'put' }],
    })
    expect(Object.keys(await deploy(stage.engine(), 'one', a, b, c))).toHaveLength(4)
    expect(await names(stage)).toEqual(['a', 'b', 'c'])
  })

  it('leaves to the next run, as no failure, what its own deadline has cut off.', async () => {
    const { stage } = onSimulated()
    const { clock } = stage
    let transactions = 0
    const slow = stage.engine({
      before({ name }) {
        if (name !== 'TransactWriteCommand') return
        transactions += 1
        clock.pass(transactions === 1 ? 5 : 10)
        if (transactions > 1) throw unsent()
      },
    })
    const deadlineMs = clock.nowMs() + 10
    const { results, more } = await slow.deploySchedules([a, b, c], 'one', { deadlineMs })
    expect(results).toMatchObject([{ result: 'put' }])
    expect(more).toBe(true)
    expect(Object.keys(await deploy(stage.engine(), 'one', a, b, c))).toHaveLength(4)
  })

  it('comes to all others in the end if one takes all of the time of each run, and says that this one fails.', async () => {
    const { stage } = onSimulated()
    const { clock } = stage
    const told: unknown[] = []
    for (let run = 0; run < 20; run += 1) {
      const stuck = stage.engine({
        before({ name, input }) {
          if (name !== 'TransactWriteCommand' || !JSON.stringify(input).includes('"a"')) return
          clock.pass(3_000)
          throw unsent()
        },
      })
      const deadlineMs = clock.nowMs() + 5_000
      const { results } = await stuck.deploySchedules([a, b, c], 'one', { deadlineMs })
      told.push(...results.map(({ name, result }) => `${name} ${result}`))
    }
    expect(await names(stage)).toEqual(['b', 'c'])
    expect(new Set(told)).toEqual(new Set(['a failed', 'b put', 'c put']))
  })

  it.each(['before', 'after'] as const)(
    'comes to the same if its sweeper dies at any request, %s the store has carried it out.',
    async (when) => {
      let requests = 0
      for (let isOver = false; !isOver; requests += 1) {
        const { stage } = onSimulated()
        await deploy(stage.engine(), 'one', a, b)
        const died = Promise.withResolvers<boolean>()
        const dying = stage.engine({
          [when]: (_: unknown, number: number) => {
            if (number <= requests) return undefined
            died.resolve(false)
            return new Promise(() => {})
          },
        })
        const deployed = deploy(dying, 'two', b, hourly('c', '3')).then(() => true)
        isOver = await Promise.race([deployed, died.promise])
        await deploy(stage.engine(), 'two', b, hourly('c', '3'))
        expect(await texts(stage)).toEqual({ b: '"b"', c: '3' })
        expect(await deploy(stage.engine(), 'two', b, hourly('c', '3'))).toEqual(nothing)
        await deploy(stage.engine(), 'none')
        expect(await names(stage)).toEqual([])
      }
      expect(requests).toBeGreaterThan(10)
    },
  )

  it('comes to the same if any of its answers is lost.', async () => {
    let lost = 0
    for (let isOver = false; !isOver; lost += 1) {
      const { stage } = onSimulated()
      await deploy(stage.engine(), 'one', a, b)
      isOver = true
      const unlucky = stage.engine({
        after(_, number) {
          if (number !== lost + 1) return
          isOver = false
          throw timedOut()
        },
      })
      await deploy(unlucky, 'two', b, hourly('c', '3')).catch(() => {})
      await deploy(stage.engine(), 'two', b, hourly('c', '3'))
      expect(await texts(stage)).toEqual({ b: '"b"', c: '3' })
    }
    expect(lost).toBeGreaterThan(10)
  })

  it('of an older environment undoes nothing once a newer one has begun, wherever it was.', async () => {
    const { stage } = onSimulated()
    await deploy(stage.engine(), 'one', a, b)
    const frozen = freezeAtTransaction()
    const late = deploy(stage.engine(frozen), 'old', hourly('a', '"old"'), hourly('c', '"old"'))
    await frozen.reached
    const wanted = [hourly('a', '"new"'), hourly('b', '"new"')]
    const newer = freezeAtTransaction()
    const soon = deploy(stage.engine(newer), 'new', ...wanted)
    await newer.reached
    frozen.thaw()
    expect(await late).toMatchObject({ more: true })
    expect(await texts(stage)).toEqual({ a: '"a"', b: '"b"' })
    newer.thaw()
    await soon
    expect(await texts(stage)).toEqual({ a: '"new"', b: '"new"' })
    expect(await deploy(stage.engine(), 'new', ...wanted)).toEqual(nothing)
  })

  it('that begins while another does loses nothing of what that one puts.', async () => {
    const { stage } = onSimulated()
    await deploy(stage.engine(), 'one', a)
    let isFirst = true
    const overtaken = stage.engine({
      async before({ name }) {
        if (name !== 'PutCommand' || !isFirst) return
        isFirst = false
        await deploy(stage.engine(), 'old', b)
      },
    })
    expect(await deploy(overtaken, 'new', c)).toMatchObject({ b: 'deleted', c: 'put' })
    expect(await names(stage)).toEqual(['c'])
  })

  it('that an older one has come after is applied again when it looks again.', async () => {
    const { stage } = onSimulated()
    await deploy(stage.engine(), 'new', a)
    await deploy(stage.engine(), 'old', b)
    expect(await deploy(stage.engine(), 'new', a)).toEqual({ ...done, a: 'put', b: 'deleted' })
    expect(await names(stage)).toEqual(['a'])
  })

  it.each(['deletes', 'puts'] as const)(
    'is applied once by two sweepers: what a caller %s in between holds.',
    async (does) => {
      const { stage } = onSimulated()
      const frozen = freezeAtTransaction()
      const late = deploy(stage.engine(frozen), 'one', a, b)
      await frozen.reached
      await deploy(stage.engine(), 'one', a, b)
      if (does === 'deletes') await stage.engine().deleteSchedule(QUEUE, 'a')
      else await stage.engine().putSchedule(QUEUE, 'a', { everySeconds: 60, text: '"mine"' })
      frozen.thaw()
      expect(await late).toEqual({ ...done, a: 'as_it_was', b: 'as_it_was' })
      expect(await texts(stage)).toEqual(
        does === 'deletes' ? { b: '"b"' } : { a: '"mine"', b: '"b"' },
      )
      expect(await deploy(stage.engine(), 'one', a, b)).toEqual(nothing)
    },
  )

  it('by two sweepers at once is one.', async () => {
    const { stage } = onSimulated()
    await Promise.all([
      deploy(stage.engine(), 'one', a, b),
      deploy(stage.engine(), 'one', a, b).catch(() => {}),
    ])
    await deploy(stage.engine(), 'one', a, b)
    expect(await names(stage)).toEqual(['a', 'b'])
    expect(await deploy(stage.engine(), 'one', a, b)).toEqual(nothing)
  })
})
