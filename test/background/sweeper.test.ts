import { expect, it } from 'vitest'
import { createSweeper } from '../../lambdas/background/sweep/sweeper.ts'
import type { StartTimersReport, SweepReport } from '../../lambdas/engine/queues.ts'
import { createLog } from '../../lambdas/runtime/log.ts'
import { Tally } from '../../lambdas/runtime/tally.ts'

const swept: SweepReport = {
  ...{ queues: 0, itemsReturned: 0, itemsDeadLettered: 0, lagMs: 0 },
  ...{ failed: [], more: false },
}

/** A process of the sweeper that answers to the schedule; asking for timers ends as told, in turn. */
function aSweeper(...outcomes: readonly (Partial<StartTimersReport> | Error)[]) {
  let nowMs = 1_000_000
  const asked: number[] = []
  const queues = {
    returnExpiredLocks: async () => swept,
    announceWaiting: async () => ({ queues: 0, announced: 0, failed: 0 }),
    async startTimers() {
      const outcome = outcomes[Math.min(asked.length, outcomes.length - 1)]
      asked.push(nowMs)
      if (outcome instanceof Error) throw outcome
      return { queues: 0, started: 0, failed: 0, finished: true, ...outcome }
    },
  }
  const clock = {
    nowMs: () => nowMs,
    async sleep(ms: number) {
      nowMs += ms
    },
  }
  const log = createLog({ level: 'error', service: 'x', write: () => {} })
  const run = { tally: new Tally(), log, remainingMs: () => 60_000 }
  const sweep = createSweeper(queues, 60, clock)
  return {
    asked,
    async runFor(minutes: number, shards?: readonly number[]) {
      for (let minute = 0; minute < minutes; minute += 1) {
        await sweep(shards && { shards }, run)
        nowMs += 60_000
      }
    },
  }
}

it('A process of the sweeper asks for timers when it starts, and every hour.', async () => {
  const { asked, runFor } = aSweeper({})
  await runFor(3 * 60)
  expect(asked).toEqual([0, 60, 120].map((minute) => 1_000_000 + minute * 60_000))
})

it('A walk that failed or did not end goes on in the next run.', async () => {
  const { asked, runFor } = aSweeper(new Error('store'), { queues: 9, finished: false }, {})
  await runFor(10)
  expect(asked).toHaveLength(3)
})

it('Of several sweepers one asks.', async () => {
  const { asked, runFor } = aSweeper({})
  await runFor(90, [1, 3])
  expect(asked).toEqual([])
  await runFor(90, [0, 2])
  expect(asked).toHaveLength(2)
})
