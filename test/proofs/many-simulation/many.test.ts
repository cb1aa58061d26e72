// Processes that work many queues: whoever dies, whatever is lost, each item is done or rightly dead at last,
// none is passed over, no queue waits for long, and whoever stops or has nothing to do is quiet.

import { beforeAll, describe, expect, it } from 'vitest'
import { Statistics } from '../world/harness/statistics.ts'
import { runSeed } from './run-seed.ts'

/** A sample; `npm run nightly` plays many more. */
const SEEDS = 150

describe(`${SEEDS} seeds of processes that work many queues`, () => {
  const broken: string[] = []
  const seen = new Statistics()

  beforeAll(async () => {
    for (let seed = 1; seed <= SEEDS && broken.length < 3; seed += 1) {
      const { violations, history, met } = await runSeed(seed)
      seen.add(met.toJSON())
      if (violations.length === 0) continue
      broken.push(`seed ${seed}: ${violations.join('; ')}\n${history.slice(-40).join('\n')}`)
    }
  }, 600_000)

  it('lose no item, bury no innocent one, and end cleanly.', () => {
    expect(broken).toEqual([])
  })

  it('meet every way for an item and a process to fare, often enough to prove something.', () => {
    const missing = Object.entries(wanted).filter(([name, least]) => seen.get(name) < least)
    expect(missing.map(([name]) => [name, seen.get(name)])).toEqual([])
  })
})

const wanted = {
  handled: 3_000,
  refused: 500,
  lost: 200,
  late: 30,
  limited: 12,
  'waited for a record that could not be read': 8,
  died: 70,
  stopped: 300,
  'item flaky': 200,
  'item killer': 8,
  'buried for max_deliveries': 40,
  'buried for poison': 70,
  'fairness checked': 6,
  'checked for locks that are left': 10,
}
