// A queue that fills while its consumer ends is picked up again, whatever dies on the way: no run
// polls, so only the events of the queue's own writes can wake a consumer. Where an event is lost, or no
// consumer was there yet to hear it, a reminder comes.

import { beforeAll, describe, expect, it } from 'vitest'
import { Statistics } from '../world/harness/statistics.ts'
import { runSeed } from './run-seed.ts'

const SEEDS = 2_000

describe(`${SEEDS} seeds`, () => {
  const broken: string[] = []
  const seen = new Statistics()

  beforeAll(async () => {
    for (let seed = 1; seed <= SEEDS && broken.length < 3; seed += 1) {
      const { violations, history, met } = await runSeed(seed)
      seen.add(met.toJSON())
      if (violations.length === 0) continue
      broken.push(`seed ${seed}: ${violations.join('; ')}\n${history.slice(-60).join('\n')}`)
    }
  }, 600_000)

  it('leave no item that nobody comes for, and none out of order or beside another.', () => {
    expect(broken).toEqual([])
  })

  it('meet every way for a run to end or not to be called, often enough to prove something.', () => {
    const missing = Object.entries(wanted).filter(([name, times]) => seen.get(name) < times)
    expect(missing.map(([name]) => [name, seen.get(name)])).toEqual([])
  })
})

/** `its` time is over: killed in the middle of a handler by its limit. */
const wanted = {
  empty: 4_000,
  locked: 400,
  continued: 500,
  waiting: 12,
  killed: 200,
  its: 200,
  failed: 8,
  purge: 500,
  'limit of the queue': 1_000,
  'late consumer': 130,
  'events off': 110,
  dropped: 110,
  stranger: 110,
  reminded: 130,
}
