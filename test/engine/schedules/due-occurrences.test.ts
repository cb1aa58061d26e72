import { describe, expect, it } from 'vitest'
import {
  dueOccurrences,
  intervalTimes,
  MISSED_AFTER_MS,
  MISSED_ALL_MAX,
  type Schedule,
  withinBounds,
} from '../../../engine/core/schedule.ts'

const MINUTE_MS = 60_000

/** Each minute, from minute 0 on; it is due at minute 10. */
const each: Schedule = {
  queue: 'orders',
  name: 'each-minute',
  tag: 'abcdef',
  version: 1,
  itemMark: 'abcdef',
  timing: { everySeconds: 60, baseMs: 0 },
  priority: 0,
  missed: 'one',
  paused: false,
  nextMs: 10 * MINUTE_MS,
}

/** What is due at a minute, in minutes. */
function dueAt(minute: number, change: Partial<Schedule> = {}, occurrencesMax = 100_000) {
  const schedule = { ...each, ...change }
  const times = withinBounds(intervalTimes(0, 60), schedule)
  const due = dueOccurrences(schedule, times, minute * MINUTE_MS, occurrencesMax)
  if (due === undefined) return 'nothing'
  const { dues, nextMs } = due
  return { dues: dues.map(minuteOf), next: nextMs === undefined ? 'never' : minuteOf(nextMs) }
}

const minuteOf = (ms: number): number => ms / MINUTE_MS
/** From this many minutes on an occurrence counts as missed. */
const GRACE = MISSED_AFTER_MS / MINUTE_MS

describe('The due occurrences of a schedule', () => {
  it('are none before its time, while it is paused, when it has ended and while it waits.', () => {
    expect(dueAt(9.999)).toBe('nothing')
    expect(dueAt(11, { paused: true })).toBe('nothing')
    expect(dueAt(11, { nextMs: undefined })).toBe('nothing')
    expect(dueAt(11, { retryAtMs: 11 * MINUTE_MS + 1 })).toBe('nothing')
  })

  it.each(['skip', 'one', 'all'] as const)(
    'is each occurrence since the last one, when nothing was missed (%s).',
    (missed) => {
      expect(dueAt(10, { missed })).toEqual({ dues: [10], next: 11 })
      expect(dueAt(10 + GRACE, { missed })).toEqual({ dues: [10, 11, 12, 13], next: 14 })
    },
  )

  it('leave out missed ones, with skip.', () => {
    expect(dueAt(30, { missed: 'skip' })).toEqual({ dues: [27, 28, 29, 30], next: 31 })
    const times = { ...intervalTimes(0, 3_600) }
    const hourly = { ...each, missed: 'skip', nextMs: 60 * MINUTE_MS } as const
    const due = dueOccurrences(hourly, times, 90 * MINUTE_MS, 100)
    expect(due).toEqual({ dues: [], nextMs: 120 * MINUTE_MS })
  })

  it('are one for all missed ones, with one: the last of them.', () => {
    expect(dueAt(30, { missed: 'one' })).toEqual({ dues: [30], next: 31 })
    expect(dueAt(30, { missed: 'one', endsAtMs: 20 * MINUTE_MS })).toMatchObject({ dues: [20] })
  })

  it('are all missed ones, with all, in parts if they are too many for one push.', () => {
    expect(dueAt(14, { missed: 'all' })).toEqual({ dues: [10, 11, 12, 13, 14], next: 15 })
    expect(dueAt(14, { missed: 'all' }, 2)).toEqual({ dues: [10, 11], next: 12 })
  })

  it('are the last thousand, with all, if more were missed.', () => {
    const now = 5_000
    const due = dueAt(now, { missed: 'all' })
    const first = now - GRACE - MISSED_ALL_MAX
    expect(due).toMatchObject({ next: now + 1 })
    expect((due as { dues: number[] }).dues[0]).toBe(first)
    expect((due as { dues: number[] }).dues).toHaveLength(MISSED_ALL_MAX + GRACE + 1)
  })

  it('include one that waited for room, even with skip, and leave out those behind it.', () => {
    const waiting = { missed: 'skip', retryAtMs: 29 * MINUTE_MS } as const
    expect(dueAt(30, waiting)).toEqual({ dues: [10, 27, 28, 29, 30], next: 31 })
    expect(dueAt(30, { ...waiting, missed: 'one' })).toEqual({ dues: [10, 30], next: 31 })
    expect(dueAt(12, { ...waiting, retryAtMs: 0 })).toEqual({ dues: [10, 11, 12], next: 13 })
    expect(dueAt(5_000, { ...waiting, missed: 'all' })).toMatchObject({ next: 5_001 })
    expect(dueAt(5_000, { ...waiting, missed: 'all' }, 2)).toMatchObject({
      dues: [10, 5_000 - GRACE - MISSED_ALL_MAX],
    })
  })

  it('end with the last one before the end.', () => {
    expect(dueAt(12, { endsAtMs: 11 * MINUTE_MS })).toEqual({ dues: [10, 11], next: 'never' })
    expect(dueAt(40, { endsAtMs: 11 * MINUTE_MS, missed: 'skip' })).toEqual({
      dues: [],
      next: 'never',
    })
    expect(dueAt(40, { endsAtMs: 11 * MINUTE_MS })).toEqual({ dues: [11], next: 'never' })
  })
})
