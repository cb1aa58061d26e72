import { describe, expect, it } from 'vitest'
import { counted, kinds, type LimitsOnWire, onRates, secret } from './rate-stage.ts'

describe('A window', () => {
  it('lets so many go, denies the rest with a time to come back, and begins anew.', async () => {
    const { clock, limits } = onRates()
    expect(counted(await kinds(150, () => limits.decide('user-123')))).toEqual({
      allowed: 100,
      denied: 50,
    })
    clock.pass(400)
    const denied = await limits.decide('user-123')
    expect(denied).toMatchObject({ limit: 100, remaining: 0, retryAfterMs: 600 })
    clock.pass(600)
    expect(await limits.decide('user-123')).toMatchObject({ kind: 'allowed', remaining: 99 })
  })

  it('is whole or nothing for a request of several slots.', async () => {
    const { limits } = onRates()
    await limits.configure('k', { maxRequests: 10 })
    expect(await kinds(4, () => limits.decide('k', { cost: 3 }))).toEqual([
      'allowed',
      'allowed',
      'allowed',
      'denied',
    ])
    expect((await limits.decide('k')).kind).toBe('allowed')
    await expect(limits.decide('k', { cost: 11 })).rejects.toMatchObject({ field: 'cost' })
  })
})

describe('A caller who waits', () => {
  it('gets the coming windows in order of arrival, then the line is full.', async () => {
    const { clock, limits } = onRates()
    await limits.configure('k', { maxRequests: 2, maxRequestsInQueue: 4 })
    const answers = []
    for (let i = 0; i < 7; i += 1) answers.push(await limits.decide('k', { canWait: true }))
    const told = answers.map((answer) =>
      answer.kind === 'promised' ? [answer.position, answer.waitMs] : answer.kind,
    )
    expect(told).toEqual([
      'allowed',
      'allowed',
      [1, 1_000],
      [2, 1_000],
      [3, 2_000],
      [4, 2_000],
      'denied',
    ])
    expect(answers.at(-1)).toMatchObject({ full: 'line', retryAfterMs: 1_000 })
    // Nobody overtakes those who wait.
    clock.pass(1_000)
    expect((await limits.decide('k')).kind).toBe('denied')
  })
})

describe('A place given up', () => {
  const line = async () => {
    const { clock, limits } = onRates()
    await limits.configure('k', { maxRequests: 1 })
    await limits.decide('k')
    const wait = async () => {
      const answer = await limits.admit('k', { canWait: true, maxWaitMs: 0 })
      if (answer.kind !== 'promised') throw new Error('expected a ticket')
      return answer
    }
    return { clock, limits, wait }
  }

  it('is never taken from the one who has it now.', async () => {
    const { limits, wait } = await line()
    const first = await wait()
    await limits.giveUp('k', first.ticket)
    const heir = await wait()
    // A second DELETE of the first: the cursor is where it was, and the place another's.
    expect(await limits.giveUp('k', first.ticket)).toEqual({ kind: 'kept' })
    expect((await wait()).turn.notBeforeMs).toBe(heir.turn.notBeforeMs + 1_000)
  })
})

describe('A key split into shards', () => {
  it('lets as many go in all, no matter which caller asks, and keeps each caller’s order.', async () => {
    const { limits } = onRates()
    await limits.configure('hot', { maxRequests: 100, shards: 7 })
    const callers = Array.from({ length: 150 }, (_, i) => ({ caller: `caller-${i}` }))
    const told: string[] = []
    for (const request of callers) told.push((await limits.decide('hot', request)).kind)
    expect(counted(told)).toEqual({ allowed: 100, denied: 50 })
    const turns: number[] = []
    for (let i = 0; i < 30; i += 1) {
      const answer = await limits.decide('hot', { canWait: true, caller: 'one' })
      if (answer.kind === 'promised') turns.push(answer.turn.notBeforeMs)
    }
    expect(turns).toEqual([...turns].sort((a, b) => a - b))
    expect(turns.length).toBe(30)
  })

  it('is met by processes that did not know it, and becomes one again.', async () => {
    const { clock, process } = onRates()
    const [admin, old] = [process(), process()]
    await old.decide('hot')
    await admin.configure('hot', { maxRequests: 4, shards: 4 })
    clock.pass(30_001)
    expect(counted(await kinds(8, () => old.decide('hot')))).toEqual({ allowed: 4, denied: 4 })
    await admin.unconfigure('hot')
    clock.pass(30_001)
    expect(counted(await kinds(110, () => old.decide('hot')))).toEqual({ allowed: 100, denied: 10 })
  })
})

describe('Limits', () => {
  it('that change are felt at once if the key has its own, in half a minute if a prefix has.', async () => {
    const { clock, process } = onRates()
    const [admin, old] = [process(), process()]
    await admin.configurePatterns([{ prefix: '', settings: { maxRequests: 1 } }])
    expect(counted(await kinds(5, () => old.decide('k')))).toEqual({ allowed: 1, denied: 4 })
    await admin.configurePatterns([{ prefix: '', settings: { maxRequests: 3 } }])
    clock.pass(30_001)
    expect(counted(await kinds(5, () => old.decide('k')))).toEqual({ allowed: 3, denied: 2 })
    await admin.configure('k', { maxRequests: 4 })
    clock.pass(1_001)
    expect(counted(await kinds(5, () => old.decide('k')))).toEqual({ allowed: 4, denied: 1 })
  })

  it('that change break no promise.', async () => {
    const { limits } = onRates()
    await limits.configure('k', { maxRequests: 1, maxRequestsInQueue: 10 })
    const tickets = []
    for (let i = 0; i < 4; i += 1) {
      const answer = await limits.admit('k', { canWait: true, maxWaitMs: 0 })
      if (answer.kind === 'promised') tickets.push(answer)
    }
    const last = tickets.at(-1)
    await limits.configure('k', { maxRequests: 50, windowMillis: 100, maxRequestsInQueue: 2_000 })
    for (const { ticket, turn } of tickets) {
      expect(await limits.verify('k', ticket)).toMatchObject({ turn })
    }
    const next = await limits.decide('k', { canWait: true })
    if (next.kind !== 'promised' || last === undefined) throw new Error('expected promises')
    expect(next.turn.notBeforeMs).toBeGreaterThanOrEqual(last.turn.notBeforeMs)
  })
})

it('Smooth lets no double burst pass at a window’s edge.', async () => {
  const { clock, limits } = onRates()
  const inOneSecond = async (key: string): Promise<number> => {
    let allowed = 0
    for (let ms = 0; ms < 1_000; ms += 10) {
      if ((await limits.decide(key)).kind === 'allowed') allowed += 1
      // Half a second of rest, then as much as goes around the edge.
      clock.pass(10)
    }
    return allowed
  }
  await limits.configure('window', { maxRequests: 10 })
  await limits.configure('smooth', { maxRequests: 10, algorithm: 'smooth' })
  clock.pass(500)
  expect(await inOneSecond('window')).toBe(20)
  clock.pass(500)
  expect(await inOneSecond('smooth')).toBe(10)
})

describe('Clocks', () => {
  it('that are slow get a slot in the window that has begun.', async () => {
    const { clock, process } = onRates()
    const [fast, slow] = [
      process({ clock: clock.skewed(4_000) }),
      process({ clock: clock.skewed(-4_000) }),
    ]
    expect((await fast.decide('k')).kind).toBe('allowed')
    const answer = await slow.decide('k')
    expect(answer).toMatchObject({
      kind: 'allowed',
      remaining: 98,
      window: { startMs: clock.now + 4_000 },
    })
  })

  it.each([3_600_000, -3_600_000, 15_001, -5_001])(
    'that are %i ms off the gateway’s change nothing.',
    async (offMs) => {
      const { clock, process, store } = onRates()
      const limits = process({ clock: clock.skewed(offMs) })
      const off = limits.decide('k', { receivedMs: clock.now })
      await expect(off).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true })
      await expect(limits.configure('k', {}, { receivedMs: clock.now })).rejects.toThrow('clock')
      expect([...store.items()]).toEqual([])
    },
  )

  it('that are far behind the item’s are refused if no gateway tells the time.', async () => {
    const { clock, process } = onRates()
    await process().decide('k')
    await expect(process({ clock: clock.skewed(-60_000) }).decide('k')).rejects.toThrow('60000 ms')
  })
})

describe('An idle key', () => {
  it('is forgotten after three windows, but not soon, and begins anew with no memory of it.', async () => {
    const { clock, process, store, row } = onRates()
    const limits = process()
    await kinds(100, () => limits.decide('k'))
    clock.pass(31_000)
    expect(store.expireTtl(clock.now / 1_000)).toBe(0)
    clock.pass(20_000)
    expect(store.expireTtl(clock.now / 1_000)).toBe(1)
    expect(row('k')).toBeUndefined()
    expect(await limits.decide('k')).toMatchObject({ kind: 'allowed', remaining: 99 })
  })

  it('is the same if nothing is ever deleted.', async () => {
    const { clock, limits } = onRates()
    await kinds(100, () => limits.decide('k'))
    clock.pass(86_400_000)
    expect(await limits.decide('k')).toMatchObject({ kind: 'allowed', remaining: 99 })
    expect(limits.wire.sent.filter(({ name }) => name === 'UpdateCommand').length).toBe(101)
  })
})

describe('Bad input', () => {
  it.each([
    ['key', (limits: LimitsOnWire) => limits.decide('')],
    ['key', (limits: LimitsOnWire) => limits.decide('a#b')],
    ['cost', (limits: LimitsOnWire) => limits.decide('k', { cost: 0 })],
    ['cost', (limits: LimitsOnWire) => limits.decide('k', { cost: 101 })],
    ['caller', (limits: LimitsOnWire) => limits.decide('k', { caller: '' })],
    ['maxWaitMs', (limits: LimitsOnWire) => limits.admit('k', { maxWaitMs: 20_001 })],
    [
      'windowMillis',
      (limits: LimitsOnWire) => limits.decide('k', { overrides: { windowMillis: 5 } }),
    ],
  ])('is an error that names %s.', async (field, call) => {
    const { limits } = onRates()
    await expect(call(limits)).rejects.toMatchObject({ code: 'INVALID_PARAMETER', field })
    expect(limits.wire.sent.filter(({ name }) => name === 'UpdateCommand')).toEqual([])
  })

  it('is a secret that is too short.', () => {
    expect(secret.byteLength).toBeGreaterThanOrEqual(16)
    expect(() => onRates().process({ secret: new Uint8Array(15) })).toThrow('secret')
  })
})
