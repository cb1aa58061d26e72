import { expect, it } from 'vitest'
import type { StartTimersReport, SweepReport } from '../../../engine/queues.ts'
import {
  createSweeper,
  deploymentIn,
  deployPatterns,
  type QueueConfig,
} from '../../../lambdas/background/sweep.ts'
import { createLog, Tally } from '../../../lambdas/runtime/log.ts'
import { openSimulated } from '../../engine/stage.ts'

const swept: SweepReport = {
  ...{ queues: 0, itemsReturned: 0, itemsDeadLettered: 0, lagMs: 0 },
  ...{ occurrencesPushed: 0, failed: [], more: false },
}

/** A process of the sweeper that answers to the schedule; asking for timers ends as told, in turn. */
const tenant = { prefix: 'by-hand', settings: { segmentSize: 100, bufferSegments: 1 } }

function aSweeper(...outcomes: readonly (Partial<StartTimersReport> | Error)[]) {
  return aDeployedSweeper({}, outcomes)
}

function aDeployedSweeper(
  environment: Readonly<Record<string, string>>,
  outcomes: readonly (Partial<StartTimersReport> | Error)[] = [{}],
) {
  let nowMs = 1_000_000
  const asked: number[] = []
  const deployed: string[] = []
  const lines: string[] = []
  const queues = {
    returnExpiredLocks: async () => swept,
    announceWaiting: async () => ({ queues: 0, announced: 0, failed: 0 }),
    deploySchedules: async () => ({ isNew: false, more: false, results: [] }),
    async deployPatterns(_: unknown, hash: string) {
      deployed.push(hash)
      if (deployed.length === 1) throw new Error('store')
      return { revision: 3, patterns: [], replaced: { revision: 2, patterns: [tenant] } }
    },
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
  const log = createLog({ level: 'warn', service: 'x', write: (line) => lines.push(line) })
  const run = { tally: new Tally(), log, remainingMs: () => 60_000 }
  const sweep = createSweeper(queues, 60, deploymentIn(environment), clock)
  return {
    asked,
    deployed,
    lines,
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

it('Only one of several sweepers asks.', async () => {
  const { asked, runFor } = aSweeper({})
  await runFor(90, [1, 3])
  expect(asked).toEqual([])
  await runFor(90, [0, 2])
  expect(asked).toHaveLength(2)
})

it('Each process puts a deployment’s patterns when it starts, and once more, and the log has those that they replace.', async () => {
  const PUSHPOP_QUEUE_CONFIG = '[{"prefix":"tenant-7.","maxDeliveries":5}]'
  const { deployed, lines, runFor } = aDeployedSweeper({ PUSHPOP_QUEUE_CONFIG })
  await runFor(5, [1, 3])
  expect(deployed).toEqual([])
  await runFor(5)
  // The first failed, so the next run tried again.
  expect(deployed).toHaveLength(2)
  await runFor(60)
  expect(deployed).toHaveLength(3)
  expect(new Set(deployed).size).toBe(1)
  expect(lines.join()).toContain('queue patterns not deployed')
  expect(lines.join()).toContain('by-hand')
})

it('The last deployment’s patterns hold, even if a process of the one before was frozen and writes after it.', async () => {
  const stage = openSimulated()
  const log = createLog({ level: 'error', service: 'x', write: () => {} })
  const configOf = (capacity: number) =>
    deploymentIn({ PUSHPOP_QUEUE_CONFIG: JSON.stringify([{ prefix: 'tenant-', capacity }]) })
  const sweep = createSweeper(stage.engine(), 60, configOf(200), stage.clock)
  const capacity = async () => (await stage.engine().patterns()).patterns[0]?.settings.capacity
  const runFor = async (minutes: number) => {
    for (let minute = 0; minute < minutes; minute += 1) {
      await sweep({}, { tally: new Tally(), log, remainingMs: () => 60_000 })
      stage.clock.pass(60_000)
    }
  }
  await runFor(1)
  expect(await capacity()).toBe(200)
  await deployPatterns(stage.engine(), configOf(100).queueConfig as QueueConfig, log)
  expect(await capacity()).toBe(100)
  await runFor(7)
  expect(await capacity()).toBe(200)
  await stage.engine().configurePatterns([{ prefix: 'tenant-', settings: { capacity: 300 } }])
  await runFor(20)
  // What somebody puts by hand stays.
  expect(await capacity()).toBe(300)
})

it('A deployment that brings no patterns leaves them alone.', async () => {
  const { deployed, runFor } = aDeployedSweeper({})
  await runFor(5)
  expect(deployed).toEqual([])
})
