import { describe, expect, it } from 'vitest'
import type { SweepReport, SweepRequest } from '../../../engine/queues.ts'
import { sweepRun } from '../../../lambdas/background/sweep.ts'
import { createLog, Tally } from '../../../lambdas/runtime/log.ts'

const nothing: SweepReport = {
  queues: 0,
  itemsReturned: 0,
  itemsDeadLettered: 0,
  occurrencesPushed: 0,
  lagMs: 0,
  failed: [],
  more: false,
}

type Sweep = SweepReport | Error

/** A run whose sweeps end as told (the last one for ever), each after so long. */
async function run({
  every,
  sweeps,
  lastsMs = 100,
  remainingMs = 70_000,
  shards,
}: {
  every: number
  sweeps: readonly Sweep[]
  lastsMs?: number
  remainingMs?: number
  shards?: readonly number[]
}) {
  let nowMs = 1_000_000
  const startedMs = nowMs
  const at: number[] = []
  const requests: SweepRequest[] = []
  const tally = new Tally()
  const lines: string[] = []
  const log = createLog({ level: 'info', service: 'x', write: (line) => lines.push(line) })
  const queues = {
    async returnExpiredLocks(request: SweepRequest = {}) {
      at.push((nowMs - startedMs) / 1000)
      requests.push(request)
      nowMs += lastsMs
      const outcome = sweeps[Math.min(at.length, sweeps.length) - 1] ?? nothing
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
  const left = () => startedMs + remainingMs - nowMs
  const summary = sweepRun(
    queues,
    { everySeconds: every, ...(shards && { shards }) },
    { tally, log, remainingMs: left },
    clock,
  )
  return { summary, at, requests, tally, lines, startedMs }
}

const found: SweepReport = {
  ...nothing,
  queues: 3,
  itemsReturned: 5,
  itemsDeadLettered: 2,
  occurrencesPushed: 4,
  lagMs: 61_500,
  failed: [{ queue: 'orders', error: new Error('gone') }],
}

describe('A run of the sweeper', () => {
  it('sweeps once if the schedule alone is asked for.', async () => {
    const { summary, at, requests, startedMs } = await run({ every: 60, sweeps: [found] })
    expect(await summary).toEqual({
      sweeps: 1,
      queues: 3,
      items_returned: 5,
      items_dead_lettered: 2,
      occurrences_pushed: 4,
      failed: 1,
      lag_seconds: 61.5,
      more: false,
    })
    expect(at).toEqual([0])
    const endMs = startedMs + 60_000
    expect(requests).toEqual([{ deadlineMs: endMs, tidyUntilMs: endMs }])
  })

  it.each([
    ['every so many seconds until the next run takes over', { every: 10 }, [0, 10, 20, 30, 40, 50]],
    ['at its beat when a sweep takes long', { every: 10, lastsMs: 14_000 }, [0, 20, 40]],
    ['only as long as its function may run', { every: 5, remainingMs: 25_000 }, [0, 5, 10]],
  ])('sweeps %s.', async (_, options, times) => {
    const { summary, at } = await run({ ...options, sweeps: [nothing] })
    expect((await summary).sweeps).toBe(times.length)
    expect(at).toEqual(times)
  })

  it('leaves what takes long when the next sweep is due, so that no lock waits for it.', async () => {
    const { summary, requests, startedMs } = await run({ every: 20, sweeps: [nothing] })
    await summary
    const until = requests.map(({ tidyUntilMs = 0 }) => (tidyUntilMs - startedMs) / 1000)
    expect(until).toEqual([20, 40, 60])
  })

  it('looks at its part of the shards if it is one of several.', async () => {
    const { summary, requests } = await run({ every: 60, sweeps: [nothing], shards: [1, 9] })
    await summary
    expect(requests).toMatchObject([{ shards: [1, 9] }])
  })

  it('counts what it did.', async () => {
    const { summary, tally } = await run({ every: 30, sweeps: [found] })
    await summary
    expect(Object.fromEntries(tally.metrics)).toEqual({
      ItemsPushed: 8,
      ItemsReturned: 10,
      ItemsDeadLettered: 4,
      LockReturnLag: 61.5,
      SweepFailures: 2,
    })
  })

  it('tells how late it is also where it could end no lock at all.', async () => {
    const { summary, tally } = await run({
      every: 60,
      sweeps: [{ ...nothing, lagMs: 120_000, more: true }],
    })
    await summary
    expect(tally.metrics.get('LockReturnLag')).toBe(120)
  })

  it('goes on after a sweep that failed, and counts it.', async () => {
    const { summary, at, tally, lines } = await run({
      every: 20,
      sweeps: [new Error('no index'), found],
    })
    expect((await summary).sweeps).toBe(2)
    expect(at).toEqual([0, 20, 40])
    expect(tally.metrics.get('SweepFailures')).toBe(3)
    expect(lines[0]).toContain('no index')
  })

  it('fails only if not one sweep worked.', async () => {
    const { summary, tally } = await run({ every: 20, sweeps: [new Error('no index')] })
    await expect(summary).rejects.toThrow('no index')
    expect(tally.metrics.get('SweepFailures')).toBe(3)
  })
})
