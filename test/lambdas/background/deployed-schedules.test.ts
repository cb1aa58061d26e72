import { expect, it } from 'vitest'
import type { DeployedSchedule, DeployedSchedules } from '../../../engine/queues.ts'
import { createSweeper, deploymentIn } from '../../../lambdas/background/sweep.ts'
import { createLog, Tally } from '../../../lambdas/runtime/log.ts'

const MINUTE_MS = 60_000
const nothing: DeployedSchedules = { isNew: false, more: false, results: [] }
const place = { queue: 'reports', name: 'weekly' }
const put: DeployedSchedules = {
  ...{ isNew: true, more: false },
  results: [{ ...place, result: 'put' }],
}
const failed: DeployedSchedules = {
  ...{ isNew: true, more: true },
  results: [{ ...place, result: 'failed', error: new Error('store') }],
}

/** A process of the sweeper that runs each minute; asking for the schedules ends as told, the last one for ever. */
function aSweeper(
  environment: Readonly<Record<string, string>>,
  ...outcomes: readonly (DeployedSchedules | Error)[]
) {
  let nowMs = 1_000_000
  let unreadable = false
  const asked: { minute: number; schedules: readonly DeployedSchedule[]; hash: string }[] = []
  const lines: string[] = []
  let sweeps = 0
  const sweepsBefore: number[] = []
  const queues = {
    async returnExpiredLocks() {
      if (unreadable) throw new Error('index')
      sweeps += 1
      return {
        ...{ queues: 0, itemsReturned: 0, itemsDeadLettered: 0, lagMs: 0 },
        ...{ occurrencesPushed: 0, failed: [], more: false },
      }
    },
    announceWaiting: async () => ({ queues: 0, announced: 0, failed: 0 }),
    startTimers: async () => ({ queues: 0, started: 0, failed: 0, finished: true }),
    deployPatterns: async () => ({ revision: 0, patterns: [] }),
    async deploySchedules(
      schedules: readonly DeployedSchedule[],
      hash: string,
      { deadlineMs = 0 } = {},
    ) {
      expect(deadlineMs).toBe(nowMs + 5_000)
      sweepsBefore.push(sweeps)
      asked.push({ minute: (nowMs - 1_000_000) / MINUTE_MS, schedules, hash })
      const outcome = outcomes[Math.min(asked.length, outcomes.length) - 1] ?? nothing
      if (outcome instanceof Error) throw outcome
      return outcome
    },
  }
  const clock = {
    nowMs: () => nowMs,
    async sleep(ms: number) {
      nowMs += ms
    },
  }
  const log = createLog({ level: 'info', service: 'x', write: (line) => lines.push(line) })
  const sweep = createSweeper(queues, 60, deploymentIn(environment), clock)
  async function run(shards?: readonly number[]) {
    const tally = new Tally()
    const report = await sweep(shards && { shards }, { tally, log, remainingMs: () => MINUTE_MS })
    nowMs += MINUTE_MS
    return { ...report, failures: tally.metrics.get('SweepFailures') }
  }
  return {
    asked,
    lines,
    /** How many sweeps there were before each time that it asked. */
    sweepsBefore,
    indexIsReadable(is: boolean) {
      unreadable = !is
    },
    minutes: () => asked.map(({ minute }) => minute),
    run,
    async runFor(minutes: number) {
      for (let minute = 0; minute < minutes; minute += 1) await run()
    },
  }
}

const PUSHPOP_SCHEDULES = JSON.stringify([
  { ...place, cron: '0 9 * * 1', timeZone: 'Europe/Berlin', item: { report: 'sales', n: [1.5] } },
])

it('A process of the sweeper asks for the schedules of its deployment when it starts, and gives each its item.', async () => {
  const { asked, lines, runFor } = aSweeper({ PUSHPOP_SCHEDULES })
  await runFor(90)
  expect(asked[0]).toEqual({
    minute: 0,
    schedules: [
      {
        ...place,
        cron: '0 9 * * 1',
        timeZone: 'Europe/Berlin',
        text: '{"report":"sales","n":[1.5]}',
      },
    ],
    hash: expect.stringMatching(/^[\w-]{16}$/),
  })
  expect(lines).toEqual([])
})

it('A deployment without schedules asks as well, so that those of an earlier one are deleted.', async () => {
  const { asked, runFor } = aSweeper({})
  await runFor(90)
  expect(asked).toMatchObject([{ schedules: [] }, { schedules: [] }])
})

it('Other schedules have another hash, and the same ones the same.', async () => {
  const hashOf = async (text: string) => {
    const { asked, runFor } = aSweeper({ PUSHPOP_SCHEDULES: text })
    await runFor(1)
    return asked[0]?.hash
  }
  expect(await hashOf(PUSHPOP_SCHEDULES)).toBe(await hashOf(PUSHPOP_SCHEDULES))
  expect(await hashOf(PUSHPOP_SCHEDULES)).not.toBe(await hashOf('[]'))
})

it.each<[string, number[], DeployedSchedules[]]>([
  ['finds at first that nothing is to be done', [0, 5], [nothing]],
  ['changes something at first', [0, 5], [put, nothing]],
  ['changes something when it looks again', [0, 5, 10], [nothing, put, nothing]],
])(
  'A process that %s looks once more when no older sweeper runs any more.',
  async (_, expected, outcomes) => {
    const { minutes, runFor } = aSweeper({ PUSHPOP_SCHEDULES }, ...outcomes)
    await runFor(90)
    expect(minutes()).toEqual(expected)
  },
)

it('A run deploys after its first sweep: what is due by the schedules of before is pushed.', async () => {
  const { run, sweepsBefore, indexIsReadable } = aSweeper({ PUSHPOP_SCHEDULES }, put)
  indexIsReadable(false)
  await expect(run()).rejects.toThrow('index')
  expect(sweepsBefore).toEqual([])
  indexIsReadable(true)
  await run()
  expect(sweepsBefore).toEqual([1])
})

it('The log shows what a deployment puts.', async () => {
  const { lines, runFor } = aSweeper({ PUSHPOP_SCHEDULES }, put, nothing)
  await runFor(90)
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { level: 'info', message: 'schedules deployed', put: [place] },
  ])
})

it.each<[string, DeployedSchedules | Error]>([
  ['one of them', failed],
  ['all of it', new Error('store')],
])(
  'If %s fails, the run says so in its answer, its log and its metric, and the next run goes on.',
  async (_, outcome) => {
    const { minutes, lines, run } = aSweeper({ PUSHPOP_SCHEDULES }, outcome, outcome, nothing)
    for (let n = 0; n < 2; n += 1) {
      expect(await run()).toMatchObject({ answer: { failed: 1 }, failed: true, failures: 1 })
    }
    expect(await run()).toMatchObject({ answer: { failed: 0 }, failed: false, failures: undefined })
    expect(minutes()).toEqual([0, 1, 2])
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 'error' },
      { level: 'error' },
    ])
  },
)

it('If the time is up, the next run does the rest.', async () => {
  const { minutes, run, runFor } = aSweeper({ PUSHPOP_SCHEDULES }, { ...put, more: true }, nothing)
  expect(await run()).toMatchObject({ failed: false })
  await runFor(9)
  expect(minutes()).toEqual([0, 1, 6])
})

it('A warning names the schedules that callers had put or have changed since, without their items.', async () => {
  const timing = { everySeconds: 60, baseMs: 0 }
  const before = { ...place, timing, itemMark: 'x' } as never
  const { lines, runFor } = aSweeper(
    { PUSHPOP_SCHEDULES },
    {
      ...{ isNew: true, more: false },
      results: [
        { ...place, result: 'replaced', before },
        { queue: 'reports', name: 'daily', result: 'kept' },
      ],
    },
    nothing,
  )
  await runFor(1)
  expect(JSON.parse(lines[0] ?? '')).toEqual({
    level: 'warn',
    message: 'schedules deployed',
    replaced: [{ ...place, timing }],
    kept: [{ queue: 'reports', name: 'daily' }],
  })
})

it('An environment that cannot be read fails by itself: locks are swept.', async () => {
  const { asked, lines, run } = aSweeper({ PUSHPOP_SCHEDULES: '[{' })
  expect(await run()).toMatchObject({ answer: { sweeps: 1, failed: 1 } })
  expect(asked).toEqual([])
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    level: 'error',
    error: { message: 'Cannot read PUSHPOP_SCHEDULES as JSON', cause: { name: 'SyntaxError' } },
  })
})

it('Only one of several sweepers deploys the schedules.', async () => {
  const { minutes, run } = aSweeper({ PUSHPOP_SCHEDULES })
  await run([1, 3])
  expect(minutes()).toEqual([])
  await run([0, 2])
  expect(minutes()).toEqual([1])
})
