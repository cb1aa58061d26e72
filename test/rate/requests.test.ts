import { describe, expect, it } from 'vitest'
import type { Item } from '../../testing/simulated/dynamodb/values.ts'
import { itemSize } from '../../testing/simulated/dynamodb/values.ts'
import { counted, kinds, onRates, openSimulatedStage } from './rate-stage.ts'

/** What a decision costs, in requests: the bars of the issue, by one process and by many. */

describe('One request each:', () => {
  it('a decision of one caller, the first of a window as well.', async () => {
    const { limits, clock } = onRates()
    const told: string[] = []
    for (let second = 0; second < 10; second += 1) {
      told.push(...(await kinds(20, () => limits.decide('user-123'))))
      clock.pass(1_000)
    }
    expect(counted(told)).toEqual({ allowed: 200 })
    const names = limits.wire.sent.map(({ name }) => name)
    // The patterns, once in half a minute for all keys.
    expect(counted(names)).toEqual({ GetCommand: 1, UpdateCommand: 200 })
  })

  it('ten thousand keys that nobody has asked for before.', async () => {
    const { limits } = onRates()
    for (let i = 0; i < 10_000; i += 1) await limits.decide(`user-${i}`)
    expect(limits.wire.sent.length).toBe(10_001)
  })

  it('a request that waits, and each of a configured key.', async () => {
    const { limits } = onRates()
    await limits.configure('user-123', { maxRequests: 2 })
    const sent = await limits.wire.during(() =>
      kinds(10, () => limits.decide('user-123', { canWait: true })),
    )
    expect(counted(sent)).toEqual({ UpdateCommand: 10 })
  })
})

describe('No request:', () => {
  it('a denial that this process remembers.', async () => {
    const { limits } = onRates()
    await kinds(100, () => limits.decide('user-123'))
    const sent = await limits.wire.during(async () => {
      expect(counted(await kinds(1_000, () => limits.decide('user-123')))).toEqual({
        denied: 1_000,
      })
    })
    expect(sent).toEqual([])
  })

  it('the verification of a ticket.', async () => {
    const { limits, process } = onRates()
    await limits.configure('user-123', { maxRequests: 1 })
    await limits.decide('user-123')
    const answer = await limits.admit('user-123', { canWait: true, maxWaitMs: 0 })
    if (answer.kind !== 'promised') throw new Error('expected a ticket')
    const other = process()
    expect((await other.verify('user-123', answer.ticket)).kind).toBe('waiting')
    expect(other.wire.sent).toEqual([])
  })
})

describe('A hot key', () => {
  it('far above its limit takes 1.2 × its limit in writes, from 16 processes.', async () => {
    const stage = openSimulatedStage()
    const processes = Array.from({ length: 16 }, () => stage.process())
    await processes[0]?.decide('hot')
    stage.clock.pass(1_000)
    const windows = 5
    for (let window = 0; window < windows; window += 1) {
      const told: string[] = []
      for (let round = 0; round < 50; round += 1) {
        for (const limits of processes) told.push((await limits.decide('hot')).kind)
      }
      expect(counted(told)).toEqual({ allowed: 100, denied: 700 })
      stage.clock.pass(1_000)
    }
    const sent = processes.flatMap(({ wire }) => wire.sent.map(({ name }) => name))
    const writes = sent.filter((name) => name === 'UpdateCommand').length
    expect(writes / (windows * 100)).toBeLessThanOrEqual(1.2)
  })

  it('asked for by a thousand calls of one process at once costs its limit, and one.', async () => {
    const { limits } = onRates()
    const thousand = Array.from({ length: 1_000 }, () => limits.decide('hot'))
    const told = (await Promise.all(thousand)).map(({ kind }) => kind)
    expect(counted(told)).toEqual({ allowed: 100, denied: 900 })
    expect(limits.wire.sent.length).toBeLessThanOrEqual(102)
    const line = Array.from({ length: 1_000 }, () => limits.decide('hot', { canWait: true }))
    const answers = await Promise.all(line)
    expect(counted(answers.map(({ kind }) => kind))).toEqual({ promised: 400, denied: 600 })
    // In order of arrival.
    const positions = answers.flatMap((one) => (one.kind === 'promised' ? [one.position] : []))
    expect(positions).toEqual(Array.from({ length: 400 }, (_, i) => i + 1))
    expect(limits.wire.sent.length).toBeLessThanOrEqual(503)
  })

  it('that is not so hot costs hardly more from 16 processes than from one.', async () => {
    const stage = openSimulatedStage()
    const processes = Array.from({ length: 16 }, () => stage.process())
    let decisions = 0
    for (let second = 0; second < 20; second += 1) {
      for (const limits of processes) {
        expect((await limits.decide('warm')).kind).toBe('allowed')
        decisions += 1
      }
      stage.clock.pass(1_000)
    }
    const sent = processes.flatMap(({ wire }) => wire.sent)
    const writes = sent.filter(({ name }) => name === 'UpdateCommand').length
    expect(writes / decisions).toBeLessThanOrEqual(1.2)
  })

  it('is asked again when its time has come, and not before.', async () => {
    const { limits, clock, process } = onRates()
    await limits.configure('daily', { maxRequests: 1, windowMillis: 86_400_000 })
    await limits.decide('daily')
    const denied = await limits.decide('daily')
    expect(denied).toMatchObject({ kind: 'denied', full: 'window' })
    // Within a minute a limit that another process has raised is felt.
    await process().configure('daily', { maxRequests: 2, windowMillis: 86_400_000 })
    expect((await limits.decide('daily')).kind).toBe('denied')
    clock.pass(60_001)
    expect((await limits.decide('daily')).kind).toBe('allowed')
  })
})

it('A million waiters are one number: same item, same cost, same answer.', async () => {
  const { limits, clock, row, store } = onRates()
  const line = { maxRequests: 1_000, maxRequestsInQueue: 1_000_000, windowMillis: 1_000 }
  await limits.configure('hot', line)
  const sizeNow = (): number => itemSize(row('hot') as unknown as Item)
  await limits.decide('hot', { canWait: true })
  const before = sizeNow()
  // A thousand slots at a time: what matters is how many are promised.
  for (let i = 0; i < 1_000; i += 1) await limits.decide('hot', { canWait: true, cost: 1_000 })
  expect((await limits.state('hot')).shards[0]?.waiting).toBe(1_000_000)
  expect(sizeNow()).toBeLessThanOrEqual(before + 8)
  expect(sizeNow()).toBeLessThan(300)
  const writesBefore = store.meter.writeUnits
  const sent = await limits.wire.during(() => limits.decide('hot', { canWait: true }))
  expect(sent).toEqual([])
  clock.pass(1_000)
  const next = await limits.wire.during(async () => {
    const turn = await limits.decide('hot', { canWait: true })
    expect(turn).toMatchObject({ kind: 'promised', position: 999_001 })
  })
  expect(next).toEqual(['UpdateCommand'])
  expect(store.meter.writeUnits - writesBefore).toBe(1)
})

describe('Faults:', () => {
  it('a lost answer wastes a slot and grants none twice.', async () => {
    const { limits } = onRates()
    await limits.configure('few', { maxRequests: 3 })
    let answers = 0
    limits.wire.steering = {
      after: () => {
        answers += 1
        if (answers === 1) throw timeout()
      },
    }
    // The first took slot 0, was not heard, and took slot 1.
    expect(await kinds(3, () => limits.decide('few'))).toEqual(['allowed', 'allowed', 'denied'])
  })

  it('a call that hangs holds up no other for long.', async () => {
    const { limits, clock } = onRates()
    let first = true
    limits.wire.steering = {
      before: ({ name }) => {
        if (name !== 'UpdateCommand' || !first) return
        first = false
        return new Promise(() => {})
      },
    }
    void limits.decide('stuck')
    await new Promise((resolve) => setImmediate(resolve))
    clock.pass(2_000)
    expect((await limits.decide('stuck')).kind).toBe('allowed')
  }, 5_000)

  it('a store out of reach is an error that says what may have happened.', async () => {
    const stage = openSimulatedStage()
    const limits = stage.process({
      before: ({ name }) => {
        if (name === 'UpdateCommand') throw timeout()
      },
    })
    await expect(limits.decide('few')).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      outcome: 'unknown',
    })
    expect(limits.wire.sent.filter(({ name }) => name === 'UpdateCommand').length).toBe(3)
  })
})

const timeout = (): Error => Object.assign(new Error('socket hang up'), { name: 'TimeoutError' })
