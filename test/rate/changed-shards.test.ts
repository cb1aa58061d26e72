import { describe, expect, it } from 'vitest'
import { shardOfCaller } from '../../rate/core/settings.ts'
import { counted, kinds, type LimitsOnWire, openSimulatedStage } from './rate-stage.ts'

// A key that is split into shards gets new settings while processes use its shards by the ones before.

const HOUR_MS = 3_600_000
const plenty = { maxRequests: 400, windowMillis: 1_000, shards: 4 }
const fourAnHour = { maxRequests: 4, windowMillis: HOUR_MS, shards: 4 }

/** One for each shard, so that `callers[3]` asks the fourth. */
const callers = Array.from({ length: 4 }, (_, shard) =>
  ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'].find(
    (caller) => shardOfCaller(caller, 4) === shard,
  ),
)

function open() {
  const stage = openSimulatedStage()
  const ask = (limits: LimitsOnWire, shard: number) =>
    limits.decide('k', { caller: callers[shard], canWait: true })
  return { ...stage, stage, clock: stage.clock, process: stage.process.bind(stage), ask }
}

/** At the beginning of an hour, with a process that has met all shards. */
async function warmed() {
  const opened = open()
  const { clock, process, ask } = opened
  const [admin, old] = [process(), process()]
  clock.pass(HOUR_MS - (clock.nowMs() % HOUR_MS))
  await admin.configure('k', { ...plenty, maxRequestsInQueue: 0 })
  for (const shard of [0, 1, 2, 3]) await ask(old, shard)
  // Those windows are over; but the process believes for half a minute what it read.
  clock.pass(2_000)
  return { ...opened, admin, old }
}

describe('New settings of a sharded key', () => {
  it.each([0, 1, 2, 3])(
    'hold with the next write to shard %i, whichever process makes it.',
    async (shard) => {
      const { admin, old, ask } = await warmed()
      await admin.configure('k', { ...fourAnHour, maxRequestsInQueue: 0 })
      expect(counted(await kinds(20, () => ask(old, shard)))).toEqual({ allowed: 1, denied: 19 })
    },
  )

  it('hold for many calls at once.', async () => {
    const { admin, old, clock } = await warmed()
    await admin.configure('k', { ...fourAnHour, maxRequestsInQueue: 0 })
    const decisions = await Promise.all(Array.from({ length: 50 }, () => old.decide('k')))
    expect(counted(decisions.map(({ kind }) => kind))).toEqual({ allowed: 4, denied: 46 })
    clock.pass(60_000)
    expect(counted(await kinds(20, () => old.decide('k')))).toEqual({ denied: 20 })
  })

  it('hold in a shard that nobody had used before.', async () => {
    const { admin, process } = await warmed()
    await admin.configure('new', plenty)
    const old = process()
    const askNew = (shard: number) => old.decide('new', { caller: callers[shard], canWait: true })
    await askNew(0)
    await admin.configure('new', { ...fourAnHour, maxRequestsInQueue: 0 })
    expect(counted(await kinds(9, () => askNew(2)))).toEqual({ allowed: 1, denied: 8 })
  })

  it('hold although the row of its shard was idle and is forgotten.', async () => {
    const { admin, old, ask, clock, store } = await warmed()
    await admin.configure('k', { ...plenty, windowMillis: 100, maxRequestsInQueue: 0 })
    await ask(old, 1)
    await admin.configure('k', { ...fourAnHour, windowMillis: 100, maxRequestsInQueue: 0 })
    for (let second = 0; second < 30; second += 1) {
      clock.pass(1_000)
      store.expireTtl(Math.floor(clock.nowMs() / 1_000))
    }
    expect(counted(await kinds(9, () => ask(old, 1)))).toEqual({ allowed: 1, denied: 8 })
  })

  it('hold although another call of the process has just read the ones before.', async () => {
    const { admin, old, ask, clock } = await warmed()
    clock.pass(31_000)
    // One call looks at the first shard again, and the settings change in the same millisecond.
    await ask(old, 2)
    await admin.configure('k', { ...fourAnHour, maxRequestsInQueue: 0 })
    expect(counted(await kinds(9, () => ask(old, 1)))).toEqual({ allowed: 1, denied: 8 })
  })

  it('hold although the change took half a minute.', async () => {
    const { process, old, ask, clock } = await warmed()
    let isDue = true
    const admin = process({
      async before({ name, input }) {
        if (!isDue || name !== 'UpdateCommand' || !JSON.stringify(input.Key).includes('k#0')) return
        isDue = false
        clock.pass(31_000)
        // It looks at the first shard again: as its clock has it, that is long after the change began.
        await ask(old, 1)
      },
    })
    await admin.configure('k', { ...fourAnHour, maxRequestsInQueue: 0 })
    expect(counted(await kinds(9, () => ask(old, 2)))).toEqual({ allowed: 1, denied: 8 })
  })

  it.each([
    ['fewer shards', { ...plenty, maxRequests: 2, windowMillis: HOUR_MS, shards: 2 }, 2],
    ['one shard', { ...plenty, maxRequests: 2, windowMillis: HOUR_MS, shards: 1 }, 2],
    ['more shards', { ...plenty, maxRequests: 8, windowMillis: HOUR_MS, shards: 8 }, 8],
  ])('hold at once with %s.', async (_, settings, most) => {
    const { admin, old } = await warmed()
    await admin.configure('k', { ...settings, maxRequestsInQueue: 0 })
    const told = await kinds(40, () => old.decide('k'))
    expect(counted(told)).toEqual({ allowed: most, denied: 40 - most })
  })

  it('give way at once to those of its prefix.', async () => {
    const { admin, old, process } = await warmed()
    await process().configurePatterns([
      { prefix: 'k', settings: { maxRequests: 3, windowMillis: HOUR_MS } },
    ])
    await admin.unconfigure('k')
    expect(counted(await kinds(9, () => old.decide('k', { caller: callers[3] })))).toEqual({
      allowed: 3,
      denied: 6,
    })
  })

  it('are the newest everywhere, whoever tells the shards last.', async () => {
    const { process, old, ask } = await warmed()
    const [late, soon] = [process(), process()]
    let isDue = true
    late.wire.steering = {
      // The first shard has its settings; before it tells the others, somebody configures the key once more.
      async before({ input }) {
        if (!isDue || !JSON.stringify(input.Key).includes('r#k#2')) return
        isDue = false
        await ask(old, 0)
        await soon.configure('k', { ...fourAnHour, maxRequestsInQueue: 0 })
      },
    }
    await late.configure('k', { ...plenty, maxRequests: 40, maxRequestsInQueue: 0 })
    expect(isDue).toBe(false)
    // The one that was told late comes first: from another, the process would learn of the newest.
    for (const shard of [2, 1, 3]) {
      expect(counted(await kinds(9, () => ask(old, shard)))).toEqual({ allowed: 1, denied: 8 })
    }
  })

  it('are not said to hold while a shard cannot be told; in half a minute they do.', async () => {
    const { process, old, ask, clock } = await warmed()
    const admin = process({
      before({ name, input }) {
        const isTold = name === 'UpdateCommand' && JSON.stringify(input.Key).includes('r#k#2')
        if (isTold) throw Object.assign(new Error('socket hang up'), { name: 'TimeoutError' })
      },
    })
    await expect(
      admin.configure('k', { ...fourAnHour, maxRequestsInQueue: 0 }),
    ).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'unknown' })
    expect(counted(await kinds(9, () => ask(old, 1)))).toEqual({ allowed: 1, denied: 8 })
    clock.pass(30_001)
    expect(counted(await kinds(9, () => ask(old, 2)))).toEqual({ allowed: 1, denied: 8 })
  })

  it('come through to a shard that takes requests all the time.', async () => {
    const { process, old, ask } = await warmed()
    const admin = process({
      async before({ name, input }) {
        const isShard = JSON.stringify(input.Key).includes('r#k#1')
        if (name === 'UpdateCommand' && isShard) await kinds(3, () => ask(old, 1))
      },
    })
    await admin.configure('k', { ...fourAnHour, maxRequestsInQueue: 0 })
    expect((await ask(old, 1)).kind).toBe('denied')
  })

  it('cost a key of one shard what they did.', async () => {
    const { process } = open()
    const admin = process()
    const sent = await admin.wire.during(() => admin.configure('one', { maxRequests: 5 }))
    expect(sent).toEqual(['GetCommand', 'GetCommand', 'UpdateCommand'])
  })
})
