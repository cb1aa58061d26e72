import { describe, expect, it } from 'vitest'
import type { RateDecision } from '../../rate/rate-limits.ts'
import { counted, kinds, type LimitsOnWire, onRates } from './rate-stage.ts'

// The rules of a key change while it is in use: what was used counts, and a denial still says when to come back.

const SECOND_MS = 1_000
const HOUR_MS = 3_600_000

type Stage = ReturnType<typeof onRates>

async function denial(decide: () => Promise<RateDecision>): Promise<number> {
  const answer = await decide()
  if (answer.kind !== 'denied') throw new Error(`Expected a denial, and got "${answer.kind}"`)
  return answer.retryAfterMs
}

/** A millisecond before the time that the denial says, the call is still denied; then it goes. */
async function expectExact({ clock }: Stage, decide: () => Promise<RateDecision>): Promise<number> {
  const retryAfterMs = await denial(decide)
  clock.pass(retryAfterMs - 1)
  expect(await denial(decide)).toBe(1)
  clock.pass(1)
  expect((await decide()).kind).toBe('allowed')
  return retryAfterMs
}

/** At the beginning of an hour. */
function onTheHour(): Stage {
  const stage = onRates()
  stage.clock.pass(HOUR_MS - (stage.clock.nowMs() % HOUR_MS))
  return stage
}

const smooth = { algorithm: 'smooth' } as const
const changes: readonly [string, object, number, object, number][] = [
  ['a lower limit', { maxRequests: 3 }, 3, { maxRequests: 1, windowMillis: HOUR_MS }, HOUR_MS],
  ['a higher limit', { maxRequests: 5, windowMillis: HOUR_MS }, 5, { maxRequests: 3 }, SECOND_MS],
  [
    'a lower smooth limit',
    { maxRequests: 3, burst: 3, ...smooth },
    3,
    { maxRequests: 1, windowMillis: HOUR_MS, ...smooth },
    HOUR_MS,
  ],
  [
    'a higher smooth limit',
    { maxRequests: 1, windowMillis: HOUR_MS, ...smooth },
    1,
    { maxRequests: 4, ...smooth },
    250,
  ],
]

describe('A denial', () => {
  it.each(changes)('of %s of a prefix says when to come back.', async (...given) => {
    const [, before, uses, after, retryAfterMs] = given
    const stage = onTheHour()
    const { limits, process } = stage
    const give = (settings: object) => process().configurePatterns([{ prefix: '', settings }])
    await give({ maxRequestsInQueue: 0, ...before })
    expect(counted(await kinds(uses + 1, () => limits.decide('k')))).toEqual({
      allowed: uses,
      denied: 1,
    })
    await give({ maxRequestsInQueue: 0, ...after })
    const other = process()
    expect(await expectExact(stage, () => other.decide('k'))).toBe(retryAfterMs)
  })

  it.each(changes)('of %s of the key’s own says when to come back.', async (...given) => {
    const [, before, uses, after, retryAfterMs] = given
    const stage = onTheHour()
    const { limits, process } = stage
    await limits.configure('k', before)
    await kinds(uses, () => limits.decide('k'))
    await process().configure('k', after)
    // The process that used it up may remember that, and go on denying by the old rules for a while.
    const other = process()
    expect(await expectExact(stage, () => other.decide('k'))).toBe(retryAfterMs)
  })

  it('of a limit that the call itself chose says when to come back.', async () => {
    const stage = onTheHour()
    const { clock, limits } = stage
    await kinds(2, () => limits.decide('k'))
    clock.pass(30)
    const overrides = { maxRequests: 1, windowMillis: 24 * HOUR_MS }
    expect(await expectExact(stage, () => limits.decide('k', { overrides }))).toBe(970)
  })

  it('of a limit that the call itself chose changes nothing for others.', async () => {
    const { clock, limits } = onTheHour()
    await kinds(100, () => limits.decide('k'))
    const overrides = { maxRequests: 1, windowMillis: 24 * HOUR_MS }
    expect((await limits.decide('k', { overrides })).kind).toBe('denied')
    clock.pass(SECOND_MS)
    // Handed over to a day and back, all of the day would count in this second.
    expect(await limits.decide('k')).toMatchObject({ kind: 'allowed', remaining: 99 })
  })
})

describe('New rules of a prefix', () => {
  const five = { maxRequests: 5, maxRequestsInQueue: 0 }

  /** Five a minute, used up; then, in the same minute, five an hour. */
  async function lowered(): Promise<Stage & { readonly old: LimitsOnWire }> {
    const stage = onTheHour()
    const { clock, process } = stage
    const [admin, old] = [process(), process()]
    await admin.configurePatterns([{ prefix: '', settings: { ...five, windowMillis: 60_000 } }])
    await kinds(5, () => old.decide('k'))
    await admin.configurePatterns([{ prefix: '', settings: { ...five, windowMillis: HOUR_MS } }])
    clock.pass(30_001)
    return { ...stage, old }
  }

  it('give nobody a second helping: what was used counts until their window is over.', async () => {
    const { clock, old } = await lowered()
    expect((await old.decide('k')).kind).toBe('denied')
    clock.pass(60_000)
    expect(counted(await kinds(9, () => old.decide('k')))).toEqual({ denied: 9 })
    clock.pass(HOUR_MS - 90_001)
    expect(counted(await kinds(9, () => old.decide('k')))).toEqual({ allowed: 5, denied: 4 })
  })

  it('cost the calls that they deny one write in all.', async () => {
    const { old, process } = await lowered()
    await old.decide('k')
    const sent = await old.wire.during(() => kinds(50, () => old.decide('k')))
    expect(sent).toEqual([])
    const other = process()
    await other.decide('k')
    const first = other.wire.sent.filter(({ name }) => name === 'UpdateCommand')
    // It learns of the row by a refusal, and finds it under the new rules.
    expect(first).toHaveLength(1)
  })

  it('come through while others take slots by the old ones.', async () => {
    const { clock, process } = onTheHour()
    const [admin, old] = [process(), process()]
    await admin.configurePatterns([{ prefix: '', settings: { maxRequests: 90_000 } }])
    await kinds(10, () => old.decide('k'))
    await admin.configurePatterns([{ prefix: '', settings: { ...five, windowMillis: HOUR_MS } }])
    let others = 0
    const knowing = process({
      async before({ name }) {
        if (name !== 'UpdateCommand') return
        others += 1
        await kinds(3, () => old.decide('k'))
      },
    })
    expect((await knowing.decide('k')).kind).toBe('denied')
    expect(others).toBeLessThan(12)
    clock.pass(SECOND_MS)
    expect((await process().decide('k')).kind).toBe('denied')
  })
})
