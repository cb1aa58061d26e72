import type { Schedule } from '../../engine/queues.ts'
import { present } from '../../foundation/shared/present.ts'
import { type Answer, ok, seconds } from '../answer.ts'

// The answers of calls about schedules. The command line uses this too.

const etagOf = ({ tag }: Schedule): string => `"${tag}"`

const secondsIf = (ms: number | undefined): unknown => (ms === undefined ? undefined : seconds(ms))

function waitingFor({ retryAtMs, refused }: Schedule): 'queue_full' | 'refused' | undefined {
  if (retryAtMs === undefined) return undefined
  return refused === undefined ? 'queue_full' : 'refused'
}

export const scheduleBody = (schedule: Schedule) => {
  const { timing, paused, nextMs } = schedule
  return present({
    name: schedule.name,
    ...('cron' in timing
      ? { cron: timing.cron, time_zone: timing.timeZone }
      : { every_seconds: timing.everySeconds }),
    priority: schedule.priority,
    starts_at: secondsIf(schedule.startsAtMs),
    ends_at: secondsIf(schedule.endsAtMs),
    missed: schedule.missed,
    paused,
    next_at: paused ? undefined : secondsIf(nextMs),
    last_at: secondsIf(schedule.lastMs),
    waiting: waitingFor(schedule),
    deployed: schedule.deployed,
    refused: schedule.refused,
    etag: etagOf(schedule),
  })
}

/** Includes its item as text: parsing and printing could change it. */
export const scheduleAnswer = (schedule: Schedule & { readonly text: string }): Answer => {
  const body = JSON.stringify(scheduleBody(schedule))
  return ok(`${body.slice(0, -1)},"item":${schedule.text}}`, { etag: etagOf(schedule) })
}

export const changedAnswer = (schedule: Schedule): Answer =>
  ok(scheduleBody(schedule), { etag: etagOf(schedule) })
