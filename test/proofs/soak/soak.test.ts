import { expect, it } from 'vitest'
import { kindsOfFault } from './fault-proxy.ts'
import { runSoak } from './run-soak.ts'

/** `npm run soak` goes on for a minute and more. */
const SECONDS = 2
/** Several times what it takes on a busy machine of two cores. */
const TIMEOUT_MS = 180_000

it(
  '64 clients lose nothing and see no error that is not documented, with faults beneath and functions that are killed.',
  async () => {
    const seed = Date.now() % 1_000_000
    const atLeast = { pushed: 201, deliveries: 201, kills: 6 }
    const report = await runSoak({ seconds: SECONDS, clients: 64, seed, killEveryMs: 300, atLeast })
    expect(report.violations, `seed ${seed}`).toEqual([])
    // The gateway answers for those that were killed, and for nobody else.
    expect(report.gatewayAnswers).toBeLessThanOrEqual(report.kills)
    // It has been through something.
    expect(report.kills).toBeGreaterThan(5)
    expect(report.counts.pushed).toBeGreaterThan(200)
    expect(report.counts.deliveries).toBeGreaterThan(200)
    expect(report.faults.size).toBe(kindsOfFault)
  },
  TIMEOUT_MS,
)
