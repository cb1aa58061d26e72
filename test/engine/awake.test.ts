import { describe, expect, it } from 'vitest'
import { Dynamo } from '../../aws/dynamo.ts'
import { LEASE_MS, RENEW_MS, Watch } from '../../engine/upkeep/wake.ts'
import { seeded } from '../../testing/random.ts'
import { createSimulatedClient, requestTimeout } from '../../testing/simulated/network.ts'
import { SimulatedStore } from '../../testing/simulated/store.ts'
import { ManualClock } from './manual-clock.ts'

// Every order in which the requests of a few processes can reach the store, each request answered, lost
// before or after the store carried it out, or the last that its process ever sent.

type Fault = 'none' | 'lost-before' | 'lost-after' | 'dies-before' | 'dies-after'
type Pending = {
  readonly process: number
  readonly carryOut: () => unknown
  readonly answer: (value: unknown) => void
  readonly fail: (error: unknown) => void
}
type End =
  | { readonly kind: 'told' }
  /** It went home; `stayMs`: what it knew it had to stay for. */
  | { readonly kind: 'home'; readonly stayMs: number }
  /** Another has taken over. */
  | { readonly kind: 'replaced' }

type Explored = { readonly runs: number; readonly twoAwake: number }
type Rules = {
  readonly processes: number
  readonly faultsMax: number
  /** A lease may end once, at any moment, although its holder lives. */
  readonly leaseEnds: boolean
}

/** What one run chose at each of its steps, out of how many. */
type Trail = { at: number; readonly chosen: number[]; readonly of: number[] }

async function explore(rules: Rules): Promise<Explored> {
  let [runs, twoAwake] = [0, 0]
  const trail: Trail = { at: 0, chosen: [], of: [] }
  for (;;) {
    trail.at = 0
    trail.of.length = 0
    const wereTwo = await play(rules, trail)
    if (wereTwo) twoAwake += 1
    runs += 1
    // The next run: the last choice that has an alternative takes it.
    let last = trail.chosen.length - 1
    while (last >= 0 && (trail.chosen[last] as number) + 1 >= (trail.of[last] as number)) last -= 1
    if (last < 0) return { runs, twoAwake }
    trail.chosen.length = last + 1
    ;(trail.chosen[last] as number) += 1
  }
}

function choose(trail: Trail, of: number): number {
  const { at } = trail
  if (trail.chosen[at] === undefined) trail.chosen[at] = 0
  trail.of[at] = of
  trail.at += 1
  return trail.chosen[at] as number
}

const stayOf = (process: number, nowMs: number): number => nowMs + 10_000 * (process + 1)

/** One run. Whether two were awake at once. */
async function play({ processes, faultsMax, leaseEnds }: Rules, trail: Trail) {
  const clock = new ManualClock()
  const startMs = clock.now
  const store = new SimulatedStore({ nowMs: () => clock.now })
  const pending: Pending[] = []
  const awake = new Set<number>()
  const died = new Set<number>()
  let wereTwo = false
  const ends = new Map<number, End>()
  const run = async (process: number): Promise<void> => {
    const client = createSimulatedClient(store, {
      deliver: (_request, carryOut) =>
        new Promise((answer, fail) => {
          pending.push({ process, carryOut, answer: answer as (value: unknown) => void, fail })
        }),
    })
    const dynamo = new Dynamo(client.dynamodb, store.tableName, clock, seeded(process))
    const place = { dynamo, clock, random: seeded(100 + process) }
    const stayMs = stayOf(process, startMs)
    const watch = await Watch.begin(place, stayMs)
    if (watch === undefined) {
      ends.set(process, { kind: 'told' })
      return
    }
    awake.add(process)
    wereTwo ||= awake.size > 1
    for (;;) {
      // It looks, finds nothing, and wants to go home each time.
      if (await watch.goHome()) break
    }
    awake.delete(process)
    ends.set(process, { kind: 'home', stayMs: Math.max(stayMs, watch.stayMs) })
  }
  for (let process = 0; process < processes; process += 1) run(process).catch(() => {})
  let faults = 0
  let ended = !leaseEnds
  for (;;) {
    await new Promise((resolve) => setImmediate(resolve))
    if (pending.length === 0) break
    const mayEnd = !ended && awake.size > 0
    const choice = choose(trail, pending.length + (mayEnd ? 1 : 0))
    if (choice === pending.length) {
      clock.now += LEASE_MS + 1
      ended = true
      continue
    }
    const [{ process, carryOut, answer, fail }] = pending.splice(choice, 1) as [Pending]
    const kinds: readonly Fault[] =
      faults < faultsMax
        ? ['none', 'lost-before', 'lost-after', 'dies-before', 'dies-after']
        : ['none']
    const fault = kinds[choose(trail, kinds.length)] as Fault
    if (fault !== 'none') faults += 1
    const isCarriedOut = !fault.endsWith('before')
    let outcome: { readonly value: unknown } | { readonly error: unknown } | undefined
    try {
      if (isCarriedOut) outcome = { value: carryOut() }
    } catch (error) {
      outcome = { error }
    }
    if (fault.startsWith('dies')) {
      died.add(process)
      awake.delete(process)
    } else if (fault.startsWith('lost')) fail(requestTimeout())
    else if (outcome !== undefined && 'error' in outcome) fail(outcome.error)
    else answer(outcome?.value)
  }
  for (let process = 0; process < processes; process += 1) {
    if (died.has(process)) continue
    expect(ends.has(process), `process ${process} never ends`).toBe(true)
  }
  // A dead run takes its knowledge along: the minute's sweep makes up for that.
  if (died.size === 0) {
    const stays = [...ends.values()].map((end) => (end.kind === 'home' ? end.stayMs : 0))
    for (const [process, { kind }] of ends) {
      if (kind !== 'told') continue
      const known = Math.max(...stays)
      expect(known, `what process ${process} told is lost`).toBeGreaterThanOrEqual(
        stayOf(process, startMs),
      )
    }
    expect([...store.items()].map((row) => Object.keys(row).sort())).toEqual([['pk', 'sk']])
  }
  return wereTwo
}

describe('The run that is awake', () => {
  it('is one of three that are called at once, and knows what the others were called for.', async () => {
    const { runs, twoAwake } = await explore({ processes: 3, faultsMax: 0, leaseEnds: false })
    expect(runs).toBeGreaterThan(200)
    expect(twoAwake).toBe(0)
  })

  it('loses no note, whichever answers get lost and whichever runs die.', async () => {
    const { runs } = await explore({ processes: 2, faultsMax: 2, leaseEnds: false })
    expect(runs).toBeGreaterThan(200)
  })

  it('takes over at once from one that is known to have ended, and reads its notes.', async () => {
    const clock = new ManualClock()
    const store = new SimulatedStore({ nowMs: () => clock.now })
    const { dynamodb } = createSimulatedClient(store)
    const place = { dynamo: new Dynamo(dynamodb, store.tableName, clock, seeded(1)), clock }
    const begin = (run: number, takesOver?: boolean) =>
      Watch.begin({ ...place, random: seeded(run) }, clock.now + run, takesOver)
    const first = await begin(1)
    clock.now += RENEW_MS
    expect(await begin(2)).toBeUndefined()
    const third = await begin(3, true)
    expect(third?.stayMs).toBe(clock.now + 2)
    // Were it alive after all, it would end now.
    expect(await first?.goOn()).toBe(false)
    expect(await third?.goOn()).toBe(true)
  })

  it('may be two for a while if the lease of one ends, and still nothing is lost.', async () => {
    const { runs, twoAwake } = await explore({ processes: 3, faultsMax: 0, leaseEnds: true })
    expect(runs).toBeGreaterThan(200)
    expect(twoAwake).toBeGreaterThan(0)
  })
})
