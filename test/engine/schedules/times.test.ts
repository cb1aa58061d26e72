import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Timing } from '../../../engine/core/schedule.ts'
import { timesOf } from '../../../engine/verbs/push-due.ts'

const ms = (iso: string): number => Date.parse(iso)
const iso = (time: number | undefined): string | undefined =>
  time === undefined ? undefined : new Date(time).toISOString().slice(0, 16)

const at = (cron: string, timeZone = 'UTC') => timesOf({ timing: { cron, timeZone } })

/** The first so many from a time on, one by one, as the sweeper asks for them. */
async function first(timing: Timing, from: string, count: number): Promise<(string | undefined)[]> {
  const times = await timesOf({ timing })
  const found: number[] = []
  let next = times.from(ms(from))
  while (next !== undefined && found.length < count) {
    found.push(next)
    next = times.from(next + 1)
  }
  return found.map(iso)
}

describe('A schedule by the calendar', () => {
  it('is due on Mondays at nine where its people live, in summer and in winter.', async () => {
    const timing = { cron: '0 9 * * 1', timeZone: 'Europe/Berlin' }
    expect(await first(timing, '2027-03-16T00:00Z', 3)).toEqual([
      '2027-03-22T08:00',
      '2027-03-29T07:00',
      '2027-04-05T07:00',
    ])
    expect(await first(timing, '2027-10-20T00:00Z', 2)).toEqual([
      '2027-10-25T07:00',
      '2027-11-01T08:00',
    ])
  })

  it.each([
    ['0 9 1,15,30 * *', 'UTC', '2027-02-15T10:00Z', ['2027-03-01T09:00', '2027-03-15T09:00']],
    ['0 9 */5 * *', 'UTC', '2027-02-26T10:00Z', ['2027-03-01T09:00', '2027-03-06T09:00']],
    ['0 9 */15 * *', 'UTC', '2028-02-16T10:00Z', ['2028-03-01T09:00', '2028-03-16T09:00']],
    ['0 0 1,2,31 * *', 'Asia/Tokyo', '2027-02-02T00:00Z', ['2027-02-28T15:00', '2027-03-01T15:00']],
  ])(
    'comes on the first of March although %s names a day that February has not.',
    async (cron, timeZone, from, times) => {
      expect(await first({ cron, timeZone }, from, 2)).toEqual(times)
    },
  )

  it.each([
    ['Europe/Berlin', '30 2 * * *', '2027-03-27T12:00Z', ['2027-03-28T01:00', '2027-03-29T00:30']],
    [
      'America/New_York',
      '30 2 * * *',
      '2027-03-13T12:00Z',
      ['2027-03-14T07:00', '2027-03-15T06:30'],
    ],
    // Half past two does not fall into its gap of half an hour: a quarter past does.
    [
      'Australia/Lord_Howe',
      '15 2 * * *',
      '2027-10-02T00:00Z',
      ['2027-10-02T15:30', '2027-10-03T15:15'],
    ],
  ])(
    'is due right after the hour that %s leaves out in spring, if its time lies in it.',
    async (timeZone, cron, from, times) => {
      expect(await first({ cron, timeZone }, from, 2)).toEqual(times)
    },
  )

  it.each([
    ['Europe/Berlin', '30 2 * * *', '2027-10-30T12:00Z', ['2027-10-31T00:30', '2027-11-01T01:30']],
    [
      'America/New_York',
      '30 1 * * *',
      '2027-11-06T12:00Z',
      ['2027-11-07T05:30', '2027-11-08T06:30'],
    ],
    [
      'Australia/Lord_Howe',
      '45 1 * * *',
      '2027-04-03T00:00Z',
      ['2027-04-03T14:45', '2027-04-04T15:15'],
    ],
  ])(
    'is due once, the first time, when %s has its time twice in autumn.',
    async (timeZone, cron, from, times) => {
      expect(await first({ cron, timeZone }, from, 2)).toEqual(times)
    },
  )

  it.each([
    ['Europe/Berlin', '2027-03-28T00:00Z', '2027-10-30T23:00Z'],
    ['America/New_York', '2027-03-14T05:00Z', '2027-11-07T04:00Z'],
    ['Australia/Lord_Howe', '2027-10-02T14:00Z', '2027-04-03T13:00Z'],
  ])(
    'is due each quarter of an hour over both changes of %s.',
    async (timeZone, spring, autumn) => {
      for (const from of [spring, autumn]) {
        const times = await first({ cron: '*/15 * * * *', timeZone }, from, 16)
        expect(times).toEqual(times.map((_, index) => iso(ms(from) + index * 15 * 60_000)))
      }
    },
  )

  it('counts a time itself, to the millisecond, and looks back before one.', async () => {
    const times = await at('0 9 * * *')
    expect(iso(times.from(ms('2027-01-01T09:00Z')))).toBe('2027-01-01T09:00')
    expect(iso(times.from(ms('2027-01-01T09:00Z') + 1))).toBe('2027-01-02T09:00')
    expect(iso(times.from(ms('2027-01-01T09:00Z') - 1))).toBe('2027-01-01T09:00')
    expect(times.before(ms('2027-01-02T09:00Z'), 2).map(iso)).toEqual([
      '2027-01-01T09:00',
      '2026-12-31T09:00',
    ])
    expect(times.before(ms('2027-01-02T09:00Z') + 1, 1).map(iso)).toEqual(['2027-01-02T09:00'])
  })

  it.each(['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe'])(
    'finds the same times backwards as forwards in %s.',
    async (timeZone) => {
      const crons = ['*/30 * * * *', '30 2 * * *', '15 1-3 * * 0', '0 0 1 * *', '45 1 L * *']
      for (const cron of crons) {
        const times = await at(cron, timeZone)
        fc.assert(
          fc.property(fc.integer({ min: ms('2027-01-01'), max: ms('2028-01-01') }), (from) => {
            const next = times.from(from)
            if (next === undefined) return
            expect(next).toBeGreaterThanOrEqual(from)
            expect(times.before(next + 1, 1)).toEqual([next])
            expect(times.before(next, 1)[0]).toBeLessThan(from)
          }),
          { numRuns: 60, seed: 7 },
        )
      }
    },
    60_000,
  )

  it('is not due before it starts nor after it ends, and at both.', async () => {
    const timing = { cron: '0 9 * * *', timeZone: 'UTC' }
    const startsAtMs = ms('2027-02-01T09:00Z')
    const endsAtMs = ms('2027-02-02T09:00Z')
    const times = await timesOf({ timing, startsAtMs, endsAtMs })
    expect(iso(times.from(0))).toBe('2027-02-01T09:00')
    expect(iso(times.from(startsAtMs + 1))).toBe('2027-02-02T09:00')
    expect(times.from(endsAtMs + 1)).toBeUndefined()
    expect(times.before(ms('2028-01-01'), 5).map(iso)).toEqual([
      '2027-02-02T09:00',
      '2027-02-01T09:00',
    ])
  })

  it.each([
    ['cron', '0 9 * *', 'UTC'],
    ['cron', '0 0 9 * * 1', 'UTC'],
    ['cron', '@daily', 'UTC'],
    ['cron', '0 25 * * *', 'UTC'],
    ['cron', '? 9 * * *', 'UTC'],
    ['cron', '5/10 * * * *', 'UTC'],
    ['cron', 'a b c d e', 'UTC'],
    ['cron', `0 9 * * ${'1,'.repeat(200)}1`, 'UTC'],
    ['time_zone', '0 9 * * *', 'Mars/Olympus'],
  ])('refuses what it cannot read, and names %s (%s).', async (field, cron, zone) => {
    await expect(at(cron, zone)).rejects.toMatchObject({ code: 'INVALID_PARAMETER', field })
  })
})

describe('A schedule by the interval', () => {
  it('counts from its base, so that nothing adds up.', () => {
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 10, max: 200_000 }),
        fc.integer({ min: 0, max: 10_000_000 }),
        async (everySeconds, from) => {
          const times = await timesOf({ timing: { everySeconds, baseMs: 5_000 } })
          const next = times.from(from) as number
          expect((next - 5_000) % (everySeconds * 1000)).toBe(0)
          expect(next - from).toBeGreaterThanOrEqual(0)
          expect(next - from).toBeLessThan(everySeconds * 1000)
          expect(times.before(next, 1)).toEqual([next - everySeconds * 1000])
        },
      ),
    )
  })
})
