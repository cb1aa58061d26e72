import type { DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda'
import { describe, expect, it } from 'vitest'
import type { SweepReport, SweepRequest, WakeRequest } from '../../../engine/queues.ts'
import { type WakeEvent, wakerIn } from '../../../lambdas/background/call-wake.ts'
import { housekeepBatch } from '../../../lambdas/background/housekeep.ts'
import { sweepRun } from '../../../lambdas/background/sweep.ts'
import { wakeRun } from '../../../lambdas/background/wake.ts'
import { createLog, Tally } from '../../../lambdas/runtime/log.ts'

function aRun(remainingMs = 300_000) {
  const lines: string[] = []
  const log = createLog({ level: 'info', service: 'x', write: (line) => lines.push(line) })
  return { lines, run: { log, tally: new Tally(), remainingMs: () => remainingMs } }
}

/** Notes what Wake is called with. */
function aWaker() {
  const called: WakeEvent[] = []
  const wake = async (event: WakeEvent) => {
    called.push(event)
  }
  return { called, wake }
}

type Image = { readonly wk?: true; readonly work?: true; readonly checkAt?: number }

const imageOf = ({ wk, work, checkAt }: Image) => ({
  ...(wk && { wk: { S: 'y' } }),
  ...(work && { work: { S: 'y' } }),
  ...(checkAt !== undefined && { checkAt: { N: String(checkAt) } }),
})

const written = (queue: string, after: Image, before?: Image): DynamoDBRecord => ({
  dynamodb: {
    Keys: { pk: { S: `q#${queue}` }, sk: { S: 'queue' } },
    SequenceNumber: '1',
    NewImage: imageOf(after),
    ...(before && { OldImage: imageOf(before) }),
  },
})

async function housekeep(records: readonly DynamoDBRecord[]) {
  const { run } = aRun()
  const { called, wake } = aWaker()
  const visited: string[] = []
  const done = { sealed: 0, offloaded: 0, recalled: 0, trimmed: 0, deadLettered: 0, finished: true }
  const queues = {
    async housekeep(queue: string) {
      visited.push(queue)
      return done
    },
  }
  await housekeepBatch(queues, { Records: records } as DynamoDBStreamEvent, run, wake)
  return { called, visited }
}

describe('Wake is called', () => {
  it('for a schedule that comes due soon, and its queue is not visited for it.', async () => {
    const { Keys: _, ...images } = written('', { wk: true, checkAt: 4_000 }).dynamodb ?? {}
    const Keys = { pk: { S: 'schedules#orders' }, sk: { S: 'weekly' } }
    const { called, visited } = await housekeep([{ dynamodb: { ...images, Keys } }])
    expect({ called, visited }).toEqual({ called: [{ untilMs: 4_000 }], visited: [] })
  })

  it('once for a batch of the stream, for the latest of the timers that became near.', async () => {
    const { called, visited } = await housekeep([
      written('a', { wk: true, checkAt: 1_000 }, {}),
      written('b', { wk: true, checkAt: 3_000 }),
      written('c', { wk: true, checkAt: 2_000, work: true }, {}),
      written('d', { wk: true, checkAt: 9_000, work: true }, { wk: true }),
    ])
    expect(called).toEqual([{ untilMs: 3_000 }])
    // House is kept where there is work, and nowhere else.
    expect(visited).toEqual(['c', 'd'])
  })

  it('for no batch in which no timer became near.', async () => {
    const { called, visited } = await housekeep([written('a', { work: true, checkAt: 1_000 })])
    expect({ called, visited }).toEqual({ called: [], visited: ['a'] })
  })

  it('once in a run of the sweeper, for the first that comes due.', async () => {
    const { run } = aRun(70_000)
    const { called, wake } = aWaker()
    let nowMs = 0
    const clock = {
      nowMs: () => nowMs,
      async sleep(ms: number) {
        nowMs += ms
      },
    }
    const report = {
      queues: 0,
      itemsReturned: 0,
      itemsDeadLettered: 0,
      occurrencesPushed: 0,
      lagMs: 0,
      failed: [],
    }
    const queues = {
      async returnExpiredLocks({ onNext }: SweepRequest = {}): Promise<SweepReport> {
        if (nowMs > 0) onNext?.(nowMs + 5_000)
        return { ...report, more: false }
      },
    }
    await sweepRun(queues, { everySeconds: 10, wake }, run, clock)
    expect(called).toEqual([{ untilMs: 15_000 }])
  })

  it('by nobody in a stack without it; and where Lambda refuses the call, the log says so and no more.', async () => {
    expect(wakerIn({})).toBeUndefined()
    const { lines, run } = aRun()
    // Nobody listens there.
    const environment = {
      PUSHPOP_WAKE: 'Wake',
      AWS_REGION: 'us-east-1',
      AWS_ENDPOINT_URL_LAMBDA: 'http://127.0.0.1:9',
    }
    await wakerIn(environment)?.({ untilMs: 1 }, run.log)
    expect(lines.map((line) => JSON.parse(line).message)).toEqual(['Wake not called'])
  })
})

describe('A run of Wake', () => {
  const report = {
    queues: 3,
    itemsReturned: 2,
    occurrencesPushed: 2,
    lagMs: 1_500,
    looks: 9,
    failed: 0,
    left: false,
  }

  it('ends ten seconds before its time, and tells what it did.', async () => {
    const asked: WakeRequest[] = []
    const queues = {
      async wake(request: WakeRequest) {
        asked.push(request)
        return report
      },
    }
    const clock = { nowMs: () => 1_000, sleep: async () => {} }
    const { run } = aRun()
    const { answer } = await wakeRun(queues, { untilMs: 7_000 }, run, clock)
    await wakeRun(queues, undefined, aRun().run, clock)
    expect(asked).toEqual([{ untilMs: 7_000, deadlineMs: 291_000 }, { deadlineMs: 291_000 }])
    expect(answer).toMatchObject({
      items_returned: 2,
      occurrences_pushed: 2,
      lag_seconds: 1.5,
      left: false,
    })
    expect(run.tally.metrics.get('ItemsPushed')).toBe(2)
    expect(run.tally.metrics.get('LockReturnLag')).toBe(1.5)
  })

  it('that fails counts as a failure of the sweep, for its alarm.', async () => {
    const { run } = aRun()
    const queues = { wake: () => Promise.reject(new Error('throttled')) }
    await expect(wakeRun(queues, undefined, run)).rejects.toThrow('throttled')
    expect(run.tally.metrics.get('SweepFailures')).toBe(1)
  })
})
