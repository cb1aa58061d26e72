import { describe, expect, it } from 'vitest'
import type { Row } from '../../aws/dynamo.ts'
import type { QueuePatternInput } from '../../engine/queues.ts'
import { type EngineOnWire, openSimulated, type Stage } from './stage.ts'
import { lockItems, named, push } from './traffic.ts'
import { freezeAtPut, type Request, throttled } from './wire.ts'

const MINUTE_MS = 60_000
const many = Array.from({ length: 60 }, (_, n) => `t${n}`)
const all = (capacity: number): QueuePatternInput[] => [{ prefix: 't', settings: { capacity } }]

/** The sweeper's next runs, one a minute. */
async function minutes(
  stage: Stage,
  count: number,
  queues: EngineOnWire = stage.engine(),
): Promise<void> {
  for (let minute = 0; minute < count; minute += 1) {
    stage.clock.pass(MINUTE_MS)
    await queues.returnExpiredLocks()
  }
}

/** Queues that are there, and patterns for them whose walk the next sweep begins. */
async function walkToCome(capacity = 10, queues = many) {
  const stage = openSimulated()
  const engine = stage.engine()
  for (const queue of queues) await push(engine, queue, named('a', 1))
  await engine.configurePatterns(all(capacity))
  await engine.returnExpiredLocks()
  stage.clock.pass(MINUTE_MS)
  return { stage, queues: engine }
}

async function have(stage: Stage, capacity: number): Promise<number> {
  const rows = await stage.store.rows()
  return rows.filter(({ cfg }) => (cfg as { c?: number } | undefined)?.c === capacity).length
}

const rowOf = async (stage: Stage, sk: 'queues' | 'walk') =>
  (await stage.store.rows()).find((row) => row.pk === 'patterns' && row.sk === sk) as Row

const isPlace = ({ input }: Request) => String(input.UpdateExpression).startsWith('SET w=')
const isApplied = ({ input }: Request) => String(input.UpdateExpression).includes('cfg=')
const shardRead = ({ name, input }: Request) =>
  name === 'QueryCommand' && input.IndexName === 'directory'
    ? (input.ExpressionAttributeValues as { ':s': number })[':s']
    : undefined

describe('The walk', () => {
  it('goes on where a sweeper died, and ends with the newest patterns at every queue.', async () => {
    const { stage } = await walkToCome()
    let notes = 0
    const dying = stage.engine({
      before: (request) => (isPlace(request) && ++notes === 6 ? new Promise(() => {}) : undefined),
    })
    void dying.returnExpiredLocks()
    while (notes < 6) await new Promise((resolve) => setImmediate(resolve))
    expect(await have(stage, 10)).toBeGreaterThan(0)
    expect(await have(stage, 10)).toBeLessThan(60)
    const next = stage.engine()
    await next.returnExpiredLocks()
    expect(await have(stage, 10)).toBe(60)
    expect(next.wire.sent.filter((one) => shardRead(one) !== undefined).length).toBeLessThan(16)
  })

  it('takes patterns that change meanwhile along, goes on, and comes again for the rest.', async () => {
    const { stage } = await walkToCome()
    let notes = 0
    const sweeper = stage.engine({
      before: async (request) => {
        if (isPlace(request) && ++notes === 5) await stage.engine().configurePatterns(all(20))
      },
    })
    await sweeper.returnExpiredLocks()
    const shards = sweeper.wire.sent.map(shardRead).filter((shard) => shard !== undefined)
    expect(shards).toEqual([...Array(16).keys()])
    expect(await have(stage, 10)).toBeGreaterThan(0)
    expect((await have(stage, 10)) + (await have(stage, 20))).toBe(60)
    await minutes(stage, 1)
    expect(await have(stage, 20)).toBe(60)
  })

  it('reaches every queue though somebody changes the patterns every 40 seconds.', async () => {
    const { stage, queues } = await walkToCome()
    for (let change = 0; change < 9; change += 1) {
      await queues.configurePatterns(all(100 + change))
      stage.clock.pass(40_000)
      // Each run has time for four shards.
      const brief = stage.engine({
        before: (request) => {
          if (isPlace(request)) stage.clock.pass(15_000)
        },
      })
      await brief.returnExpiredLocks()
    }
    expect(await have(stage, 10)).toBe(0)
    const capacities = (await stage.store.rows()).map(({ cfg }) => (cfg as { c?: number })?.c ?? 0)
    expect(capacities.filter((capacity) => capacity >= 100)).toHaveLength(60)
  })

  it('does not lose a change that comes while it ends, though the sweeper dies then.', async () => {
    const { stage } = await walkToCome()
    const isEnd = ({ input }: Request) => String(input.UpdateExpression).includes('REMOVE s,w')
    let [ends, isDead] = [0, false]
    const dying = stage.engine({
      before: async (request) => {
        if (isEnd(request) && ++ends === 1) await stage.engine().configurePatterns(all(20))
      },
      after: (request) => {
        if (!isEnd(request)) return undefined
        isDead = true
        return new Promise(() => {})
      },
    })
    void dying.returnExpiredLocks()
    while (!isDead) await new Promise((resolve) => setImmediate(resolve))
    await minutes(stage, 2)
    expect(await have(stage, 20)).toBe(60)
  })

  it('that has ended is not gone on with by another sweeper.', async () => {
    const { stage } = await walkToCome()
    let thaw = (): void => {}
    const thawed = new Promise<void>((resolve) => {
      thaw = resolve
    })
    let isHeld = false
    const slow = stage.engine({
      before: (request) => {
        if (!isPlace(request) || isHeld) return undefined
        isHeld = true
        return thawed
      },
    })
    const swept = slow.returnExpiredLocks()
    while (!isHeld) await new Promise((resolve) => setImmediate(resolve))
    await stage.engine().returnExpiredLocks()
    const ended = await rowOf(stage, 'walk')
    thaw()
    await swept
    expect(await rowOf(stage, 'walk')).toEqual(ended)
  })

  it('by two sweepers at once comes to the same.', async () => {
    const { stage } = await walkToCome()
    const [one, other] = [stage.engine(), stage.engine()]
    await Promise.all([one.returnExpiredLocks(), other.returnExpiredLocks()])
    expect(await have(stage, 10)).toBe(60)
    const { length } = stage.background
    await minutes(stage, 2)
    expect(stage.background).toHaveLength(length)
  })

  it('stops when its time is up, says that there is more, and ends locks all the same.', async () => {
    const { stage, queues } = await walkToCome()
    await lockItems(queues, 't1')
    stage.clock.pass(MINUTE_MS)
    const sweeper = stage.engine()
    const tidyUntilMs = stage.clock.nowMs()
    const report = await sweeper.returnExpiredLocks({ tidyUntilMs })
    expect(report).toMatchObject({ more: true, itemsReturned: 1 })
    expect(await have(stage, 10)).toBe(0)
    expect(await sweeper.returnExpiredLocks()).toMatchObject({ more: false, failed: [] })
    expect(await have(stage, 10)).toBe(60)
  })

  it('does not make a sweep longer than its caller has time, though a store hangs.', async () => {
    const { stage } = await walkToCome()
    const hanging = stage.engine({
      before: (request) => (isApplied(request) ? new Promise(() => {}) : undefined),
    })
    const tidyUntilMs = stage.clock.nowMs() + 1_000
    expect(await hanging.returnExpiredLocks({ tidyUntilMs })).toMatchObject({ more: true })
    expect(stage.clock.nowMs()).toBeLessThan(tidyUntilMs + 100)
  })

  it('does a page that runs out of time again until every queue of it has had its turn.', async () => {
    const ids = Array.from({ length: 2_000 }, (_, n) => `t${n}`)
    const { stage } = await walkToCome(10, ids)
    const slow = stage.engine({
      before: (request) => {
        if (isApplied(request)) stage.clock.pass(500)
      },
    })
    for (let run = 0; run < 30; run += 1) {
      const { failed, more } = await slow.returnExpiredLocks()
      expect(failed).toEqual([])
      if (!more) break
    }
    expect(await have(stage, 10)).toBe(2_000)
  })

  it('does a page again during which the process was frozen.', async () => {
    const { stage } = await walkToCome()
    let reads = 0
    const frozen = stage.engine({
      before: (request) => {
        if (shardRead(request) !== undefined && ++reads === 3) stage.clock.pass(15_000)
      },
    })
    expect(await frozen.returnExpiredLocks()).toMatchObject({ failed: [] })
    expect(await have(stage, 10)).toBe(60)
  })

  it('passes a queue that it cannot write, tells of a hundred at most, and comes again for them.', async () => {
    const ids = Array.from({ length: 300 }, (_, n) => `t${n}`)
    const { stage } = await walkToCome(10, ids)
    const sick = stage.engine({
      before: (request) => {
        if (isApplied(request)) throw Object.assign(new Error(), { name: 'AccessDenied' })
      },
    })
    const { failed } = await sick.returnExpiredLocks()
    expect(failed).toHaveLength(100)
    await minutes(stage, 16)
    expect(await have(stage, 10)).toBe(300)
  })

  it('is repeated after the patterns are gone until it has passed no queue.', async () => {
    const { stage, queues } = await walkToCome(10, ['t1'])
    await queues.returnExpiredLocks()
    await queues.configurePatterns([])
    const sick = stage.engine({
      before: (request) => {
        if (isApplied(request)) throw throttled()
      },
    })
    for (let hour = 0; hour < 48; hour += 1) {
      stage.clock.pass(60 * MINUTE_MS)
      await sick.returnExpiredLocks()
    }
    expect(await have(stage, 10)).toBe(1)
    for (let hour = 0; hour < 25; hour += 1) {
      stage.clock.pass(60 * MINUTE_MS)
      await stage.engine().returnExpiredLocks()
    }
    expect(await have(stage, 10)).toBe(0)
    expect(await rowOf(stage, 'walk')).not.toHaveProperty('checkAt')
  })

  it('passes a part of the directory that it cannot read, and comes again for it.', async () => {
    const { stage } = await walkToCome()
    const sick = stage.engine({
      before: (request) => {
        if (shardRead(request) === 1) throw throttled()
      },
    })
    const { failed } = await sick.returnExpiredLocks()
    expect(failed).toMatchObject([{ shard: 1 }])
    const missed = 60 - (await have(stage, 10))
    expect(missed).toBeGreaterThan(0)
    expect(missed).toBeLessThan(15)
    await minutes(stage, 16)
    expect(await have(stage, 10)).toBe(60)
  })

  it('that comes again puts right what a frozen process has made since, and costs no write else.', async () => {
    const { stage, queues } = await walkToCome()
    const frozen = freezeAtPut()
    const pushed = push(stage.engine(frozen), 'late', named('a', 1))
    await frozen.reached
    const patterns = [...all(10), { prefix: 'late', settings: { capacity: 7 } }]
    await stage.engine().configurePatterns(patterns)
    await minutes(stage, 4)
    frozen.thaw()
    await pushed
    expect((await queues.configuration('late')).source).toEqual({ from: 'default' })
    const sweeper = stage.engine()
    await minutes(stage, 15, sweeper)
    expect((await stage.record('late')).configuration.capacity).toBe(7)
    expect(sweeper.wire.sent.filter(isApplied)).toHaveLength(1)
  })

  it('begins when no process uses older patterns any more.', async () => {
    const stage = openSimulated()
    const slow = stage.engine()
    await push(slow, 'other', named('a', 1))
    await stage.engine().configurePatterns([{ prefix: '', settings: { capacity: 10 } }])
    stage.clock.pass(1_000)
    await stage.engine().returnExpiredLocks()
    stage.clock.pass(20_000)
    await stage.engine().returnExpiredLocks()
    await push(slow, 'old', named('a', 1))
    expect((await stage.record('old')).configuration.source).toEqual({ from: 'default' })
    await minutes(stage, 1)
    expect((await stage.record('old')).configuration.capacity).toBe(10)
  })

  it('begins no later because the clock of the caller who changed the patterns is hours ahead.', async () => {
    const stage = openSimulated()
    await push(stage.engine(), 't1', named('a', 1))
    await stage.engine({ clock: stage.clock.skewed(36_000_000) }).configurePatterns(all(10))
    await minutes(stage, 2)
    expect(await have(stage, 10)).toBe(1)
  })

  it('of a sweeper that was frozen sends nothing by patterns that are history.', async () => {
    const { stage, queues } = await walkToCome(10, ['t1'])
    let thaw = (): void => {}
    let reach = (): void => {}
    const thawed = new Promise<void>((resolve) => {
      thaw = resolve
    })
    const reached = new Promise<void>((resolve) => {
      reach = resolve
    })
    const frozen = stage.engine({
      after({ name }) {
        if (name !== 'BatchGetCommand') return undefined
        reach()
        return thawed
      },
    })
    const swept = frozen.returnExpiredLocks()
    await reached
    await queues.configurePatterns([])
    await minutes(stage, 2)
    thaw()
    await swept
    expect(frozen.wire.sent.filter(isApplied)).toEqual([])
    expect((await stage.record('t1')).configuration.source).toEqual({ from: 'default' })
  })

  it('comes again ever more seldom, and no more once the patterns are gone for a day.', async () => {
    const { stage, queues } = await walkToCome()
    const pauses = async () => {
      const found: number[] = []
      for (let walk = 1; walk <= 7; walk += 1) {
        await stage.engine().returnExpiredLocks()
        const { checkAt } = (await rowOf(stage, 'walk')) as { checkAt?: number }
        found.push(Math.round(((checkAt ?? stage.clock.now) - stage.clock.now) / 1_000))
        if (checkAt === undefined) break
        stage.clock.now = checkAt
      }
      return found
    }
    expect(await pauses()).toEqual([900, 3_600, 14_400, 57_600, 86_400, 86_400, 86_400])
    await queues.configurePatterns([])
    expect(await pauses()).toEqual([45, 900, 3_600, 14_400, 57_600, 0])
  })

  it('is not asked for, and nothing is written, by a caller who puts the same patterns again.', async () => {
    const { stage, queues } = await walkToCome()
    await queues.returnExpiredLocks()
    const units = stage.store.writeUnits?.()
    for (const patterns of [all(10), [...all(10)].reverse()]) {
      expect(await stage.engine().configurePatterns(patterns)).toMatchObject({ revision: 1 })
    }
    expect(stage.store.writeUnits?.()).toBe(units)
  })

  it('costs a unit a page in writes, however large the patterns are.', async () => {
    const { stage, queues } = await walkToCome()
    const large = Array.from({ length: 99 }, (_, n) => ({
      prefix: `zz${n}`.padEnd(100, 'x'),
      settings: { maxDeliveries: 5, pushLimit: { maxRequests: 9 }, popLimit: { maxRequests: 9 } },
    }))
    await queues.configurePatterns([...all(10), ...large])
    await minutes(stage, 4)
    let [notes, units, before] = [0, 0, 0]
    const sweeper = stage.engine({
      before: () => {
        before = stage.store.writeUnits?.() ?? 0
      },
      after: (request) => {
        if (!isPlace(request)) return
        notes += 1
        units += (stage.store.writeUnits?.() ?? 0) - before
      },
    })
    await minutes(stage, 16, sweeper)
    expect([notes, units]).toEqual([15, 15])
  })
})
