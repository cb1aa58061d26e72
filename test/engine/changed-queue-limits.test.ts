import { TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import { describe, expect, it } from 'vitest'
import type { QueueError } from '../../shared/errors.ts'
import { type EngineOnWire, openSimulated } from './stage.ts'
import { expectCode, named, push } from './traffic.ts'

// A queue's limit changes while processes push and pop that remember the one before.

const stage = openSimulated()

const HOUR_MS = 3_600_000
const CALLS = 20
const plenty = { maxRequests: 1_000, windowMillis: 1_000 }
const oneAnHour = { maxRequests: 1, windowMillis: HOUR_MS }

type Call = (queues: EngineOnWire, queue: string) => Promise<unknown>

const key = () => `k${Math.random()}`
const pushes: readonly (readonly [string, Call])[] = [
  ['pushes', (queues, queue) => queues.push(queue, { items: [{ text: '1' }] })],
  [
    'pushes with a key',
    (queues, queue) => queues.push(queue, { items: [{ text: '1' }], idempotencyKey: key() }),
  ],
  ['pushes of bulk', (queues, queue) => queues.push(queue, { items: named('bulk', 1_000) })],
]
const pops: readonly (readonly [string, Call])[] = [
  ['pops', (queues, queue) => queues.pop(queue)],
  ['pops with a lock', (queues, queue) => queues.pop(queue, { requireAck: true })],
  ['competing pops', (queues, queue) => queues.pop(queue, { requireAck: true, competing: true })],
]
const all = [
  ...pushes.map(([name, call]) => [name, 'pushLimit', call] as const),
  ...pops.map(([name, call]) => [name, 'popLimit', call] as const),
]

/** A queue under a limit that one process has met; the time is that of a window's beginning. */
async function met(setting: 'pushLimit' | 'popLimit', call: Call) {
  const [warm, rival, queue] = [stage.engine(), stage.engine(), stage.queue()]
  await push(warm, queue, named('a', 50))
  await warm.configure(queue, { [setting]: plenty })
  await call(warm, queue)
  // A new hour, so that the calls so far count in none of what follows.
  stage.clock.pass(HOUR_MS - (stage.clock.nowMs() % HOUR_MS))
  return { warm, rival, queue }
}

const outcomes = (calls: readonly Promise<unknown>[]): Promise<string[]> =>
  Promise.all(
    calls.map((call) =>
      call.then(
        () => 'passed',
        (error: unknown) => (error as QueueError).code,
      ),
    ),
  )

const passed = (told: readonly string[]): number =>
  told.filter((outcome) => outcome === 'passed').length

const passedBy = (queues: EngineOnWire, queue: string, call: Call, calls = CALLS) =>
  outcomes(Array.from({ length: calls }, () => call(queues, queue))).then(passed)

describe('A limit that another process lowers', () => {
  it.each(all)('holds at once for all %s of a process that sends many.', async (...given) => {
    const [, setting, call] = given
    const { warm, rival, queue } = await met(setting, call)
    await rival.configure(queue, { [setting]: oneAnHour })
    // Exactly: no call takes a slot of the limit before, which would count, too.
    let count = await passedBy(warm, queue, call)
    expect(count).toBe(1)
    stage.clock.pass(2_000)
    for (const queues of [warm, stage.engine(), warm]) {
      const more = await passedBy(queues, queue, call)
      count += more
    }
    expect(count).toBe(1)
  })

  it('holds all the same if nobody can tell the row that counts.', async () => {
    const [, call] = pops[0] as (typeof pops)[0]
    const { warm, queue } = await met('popLimit', call)
    const rival = stage.engine({
      before({ name, input }) {
        if (name !== 'UpdateCommand' || !JSON.stringify(input.Key).includes('r#pop~')) return
        throw Object.assign(new Error('socket hang up'), { name: 'TimeoutError' })
      },
    })
    await rival.configure(queue, { popLimit: oneAnHour })
    expect(stage.background.map(({ step }) => step)).toEqual(['tell-limit'])
    stage.background.length = 0
    expect(await passedBy(warm, queue, call)).toBe(0)
    stage.clock.pass(2_000)
    expect(await passedBy(stage.engine(), queue, call)).toBe(0)
  })

  it.each(all)('while one of the %s is under way holds for that call.', async (...given) => {
    const [, setting, call] = given
    const { rival, queue } = await met(setting, call)
    let isDue = false
    const warm = stage.engine({
      async after({ input }) {
        if (!isDue || !JSON.stringify(input.Key).includes(`~${queue}#`)) return
        // It has its slot of the old limit. Now the limit changes, and another call uses the new one up.
        isDue = false
        await rival.configure(queue, { [setting]: oneAnHour })
        stage.clock.pass(1_000)
        await call(rival, queue)
      },
    })
    await call(warm, queue)
    isDue = true
    await expectCode(call(warm, queue), 'RATE_LIMITED')
    expect(isDue).toBe(false)
  })

  it('by a pattern holds at once for all, as soon as the queue has it.', async () => {
    const [warm, rival, sweeper] = [stage.engine(), stage.engine(), stage.engine()]
    const queue = stage.queue()
    const give = (pushLimit: typeof plenty) =>
      rival.configurePatterns([{ prefix: queue, settings: { pushLimit } }])
    const [[, call]] = pushes as [(typeof pushes)[0]]
    await give(plenty)
    await call(warm, queue)
    await give(oneAnHour)
    for (let minute = 0; minute < 2; minute += 1) {
      stage.clock.pass(60_000)
      await sweeper.returnExpiredLocks()
    }
    expect((await rival.configuration(queue)).pushLimit).toMatchObject(oneAnHour)
    expect(await passedBy(warm, queue, call)).toBeLessThanOrEqual(1)
  })

  it('refuses an entry of a transaction that was made before.', async () => {
    const [queues, queue] = [stage.engine(), stage.queue()]
    await queues.configure(queue, { pushLimit: plenty })
    const { Update } = await queues.pushTransactItem(queue, { text: '1' })
    await stage.engine().configure(queue, { pushLimit: oneAnHour })
    const entry = new TransactWriteCommand({ TransactItems: [{ Update }] })
    await expect(stage.store.dynamodb.send(entry as never)).rejects.toThrow('cancelled')
    expect((await queues.inspect(queue)).count).toBe(0)
  })
})

describe('A slot that a call has taken', () => {
  it.each([
    ['push', 'pushLimit', (queues, queue) => queues.push(queue, { items: [{ text: '1' }] }), 2],
    // It compares the version, so it loses the race, and writes again.
    ['pop', 'popLimit', (queues, queue) => queues.pop(queue), 3],
  ] as const satisfies readonly (readonly [string, string, Call, number])[])(
    'is good for its %s while the limit stays, whatever else changes.',
    async (_, setting, call, updates) => {
      const { rival, queue } = await met(setting, call)
      let isDue = false
      const warm = stage.engine({
        async after({ input }) {
          if (!isDue || !JSON.stringify(input.Key).includes(`~${queue}#`)) return
          isDue = false
          await rival.configure(queue, { capacity: 1_000 })
        },
      })
      await call(warm, queue)
      isDue = true
      const sent = await warm.wire.during(() => call(warm, queue))
      expect(sent.filter((name) => name === 'UpdateCommand')).toHaveLength(updates)
      expect(isDue).toBe(false)
    },
  )

  it('does no harm where the limit is gone by then.', async () => {
    const [, call] = pushes[0] as (typeof pushes)[0]
    const { warm, rival, queue } = await met('pushLimit', call)
    await rival.configure(queue, { pushLimit: null })
    const sent = await warm.wire.during(() => call(warm, queue))
    expect(sent).toEqual(['UpdateCommand', 'UpdateCommand'])
    const next = await warm.wire.during(() => call(warm, queue))
    expect(next).toEqual(['UpdateCommand'])
  })
})
