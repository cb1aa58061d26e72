import { describe, expect, test } from 'vitest'
import { parseSchedule } from '../../../local/events/schedules.ts'

const at = (iso: string) => Date.parse(`${iso}Z`)
// A Wednesday.
const now = at('2026-11-18T10:07:30')

describe('a schedule', () => {
  test.each([
    ['rate(1 minute)', '2026-11-18T10:08:30'],
    ['rate(5 minutes)', '2026-11-18T10:12:30'],
    ['rate(2 hours)', '2026-11-18T12:07:30'],
    ['rate(1 day)', '2026-11-19T10:07:30'],
    ['cron(* * * * ? *)', '2026-11-18T10:08:00'],
    ['cron(0/15 * * * ? *)', '2026-11-18T10:15:00'],
    ['cron(0 10 * * ? *)', '2026-11-19T10:00:00'],
    ['cron(30 8 ? * MON-FRI *)', '2026-11-19T08:30:00'],
    ['cron(0 0 ? * 1 *)', '2026-11-22T00:00:00'],
    ['cron(15,45 9-17/4 * * ? *)', '2026-11-18T13:15:00'],
    ['cron(0 0 1 JAN ? 2030)', '2030-01-01T00:00:00'],
    ['cron(0 0 29 2 ? *)', '2028-02-29T00:00:00'],
    // The examples of EventBridge's documentation.
    ['cron(15 12 * * ? *)', '2026-11-18T12:15:00'],
    ['cron(0 18 ? * MON-FRI *)', '2026-11-18T18:00:00'],
    ['cron(0 8 1 * ? *)', '2026-12-01T08:00:00'],
    ['cron(0/10 * ? * MON-FRI *)', '2026-11-18T10:10:00'],
    ['cron(0/5 8-17 ? * MON-FRI *)', '2026-11-18T10:10:00'],
    ['cron(0/30 20-2 ? * MON-FRI *)', '2026-11-18T20:00:00'],
    ['cron(0 9 ? * 2#1 *)', '2026-12-07T09:00:00'],
    ['cron(0 9 ? * 6L *)', '2026-11-27T09:00:00'],
    ['cron(0 9 ? * L *)', '2026-11-21T09:00:00'],
    ['cron(0 9 L * ? *)', '2026-11-30T09:00:00'],
    ['cron(0 9 LW * ? *)', '2026-11-30T09:00:00'],
    ['cron(0 9 15W * ? *)', '2026-12-15T09:00:00'],
    ['cron(0 10 ? * 6L 2027-2028)', '2027-01-29T10:00:00'],
  ])('%s fires next at %s', (expression, next) => {
    expect(parseSchedule(expression)(now)).toBe(at(next))
  })

  test('the time itself is not the next', () => {
    const schedule = parseSchedule('cron(0 12 * * ? *)')
    expect(schedule(at('2026-11-18T12:00:00'))).toBe(at('2026-11-19T12:00:00'))
  })

  test('goes over midnight where EventBridge does', () => {
    const schedule = parseSchedule('cron(0/30 20-2 ? * MON-FRI *)')
    expect(schedule(at('2026-11-19T00:00:00'))).toBe(at('2026-11-19T00:30:00'))
    expect(schedule(at('2026-11-19T02:30:00'))).toBe(at('2026-11-19T20:00:00'))
  })

  test('goes over midnight beside other hours', () => {
    const schedule = parseSchedule('cron(0 22-1,8 * * ? *)')
    expect(schedule(at('2026-11-19T01:00:00'))).toBe(at('2026-11-19T08:00:00'))
    expect(schedule(at('2026-11-19T23:00:00'))).toBe(at('2026-11-20T00:00:00'))
  })

  test('comes on the first of March although February has no 30th', () => {
    const schedule = parseSchedule('cron(0 9 1,15,30 * ? *)')
    expect(schedule(at('2027-02-15T10:00:00'))).toBe(at('2027-03-01T09:00:00'))
  })

  test('a time that has passed for good never comes', () => {
    expect(parseSchedule('cron(0 0 1 1 ? 2020)')(now)).toBeUndefined()
    expect(parseSchedule('cron(0 0 31 2 ? *)')(now)).toBeUndefined()
  })

  test.each([
    'rate(0 minutes)',
    'rate(1 minutes)',
    'rate(5 minute)',
    'cron(0 12 * * * *)',
    'cron(0 12 1 * MON *)',
    'cron(0 ? * * ? *)',
    'rate(5 seconds)',
    'rate(x minutes)',
    'cron(* * * * *)',
    'cron(60 * * * ? *)',
    'cron(0 9 ? * 8 *)',
    'cron(5-1 * * * ? *)',
    'cron(0 0 X * ? *)',
    'cron(0 0 1 * ? * *)',
    'cron()',
    'cron(0/0 * * * ? *)',
    'at(2026-01-01T00:00:00)',
    '',
  ])('%s is refused in one sentence', (expression) => {
    expect(() => parseSchedule(expression)).toThrow(/^Cannot run the schedule/)
  })
})
