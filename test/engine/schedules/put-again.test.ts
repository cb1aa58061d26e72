import { describe, expect, it } from 'vitest'
import { onSimulated, type Stage } from '../stage.ts'
import { drain } from '../traffic.ts'

// What a schedule that is put again or resumed does about what is due just then.

const QUEUE = 'orders'
const NAME = 'report'
const daily = { cron: '0 9 * * *', text: '"report"' } as const
const longer = { ...daily, endsAtMs: Date.parse('2028-01-01') }

function at(stage: Stage, time: string): void {
  stage.clock.pass(Date.parse(`2027-01-04T${time}Z`) - stage.clock.nowMs())
}

/** A schedule for nine o'clock, put at eight. The stage's clock begins in 2030, so we go back. */
async function daySchedule() {
  const { stage } = onSimulated()
  at(stage, '08:00:00')
  await stage.engine().putSchedule(QUEUE, NAME, daily)
  return stage
}

const pushed = async (stage: Stage): Promise<number> => (await drain(stage.engine(), QUEUE)).length

describe('A schedule that is put with other times', () => {
  it('still pushes what is due and not yet pushed, if the new times have it too.', async () => {
    for (const missed of ['skip', 'one', 'all'] as const) {
      const stage = await daySchedule()
      at(stage, '09:00:20')
      await stage.engine().putSchedule(QUEUE, NAME, { ...longer, missed })
      at(stage, '09:01:00')
      await stage.engine().returnExpiredLocks()
      expect(await pushed(stage)).toBe(1)
    }
  })

  it('does not push it if the new times do not have it.', async () => {
    const stage = await daySchedule()
    at(stage, '09:00:20')
    const put = await stage.engine().putSchedule(QUEUE, NAME, { ...daily, cron: '30 9 * * *' })
    expect(put.nextMs).toBe(Date.parse('2027-01-04T09:30:00Z'))
  })

  it('does not push again what a sweeper pushed whose clock is ahead.', async () => {
    const stage = await daySchedule()
    at(stage, '08:59:57')
    const ahead = stage.engine({ clock: stage.clock.skewed(5_000) })
    expect(await ahead.returnExpiredLocks()).toMatchObject({ occurrencesPushed: 1 })
    at(stage, '09:00:03')
    const behind = stage.engine({ clock: stage.clock.skewed(-5_000) })
    const put = await behind.putSchedule(QUEUE, NAME, longer)
    expect(put.nextMs).toBe(Date.parse('2027-01-05T09:00:00Z'))
    at(stage, '09:01:00')
    await stage.engine().returnExpiredLocks()
    expect(await pushed(stage)).toBe(1)
  })
})

it('A schedule that is resumed goes by its rule, however short the pause was.', async () => {
  for (const [missed, occurrences] of [
    ['skip', 0],
    ['one', 1],
    ['all', 17],
  ] as const) {
    const { stage } = onSimulated()
    const queues = stage.engine()
    await queues.putSchedule(QUEUE, NAME, { everySeconds: 10, text: '1', missed })
    await queues.pauseSchedule(QUEUE, NAME)
    stage.clock.pass(170_000)
    await queues.resumeSchedule(QUEUE, NAME)
    await queues.returnExpiredLocks()
    expect([missed, await pushed(stage)]).toEqual([missed, occurrences])
  }
})
