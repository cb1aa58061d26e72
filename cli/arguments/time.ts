import { wrongUsage } from '../failure.ts'

const timeForm = /^(\d{4})-(\d\d-\d\dT\d\d:\d\d)(:\d\d(?:\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)?$/

/** The service takes a time from before 1974 or after 5137 for one in another unit. */
const YEAR_MIN = 2000
const YEAR_MAX = 5000

/**
 * A time as people write it, such as 2027-01-01T09:00Z. It must name its zone: the machine's zone is not the same for
 * the one who writes a script and for the one who runs it.
 */
export function msIn(what: string, option: string, time: string | undefined): number | undefined {
  if (time === undefined) return undefined
  const refused = (why: string, hint: string) =>
    wrongUsage(`Cannot ${what} because --${option} ${why}: ${JSON.stringify(time)}; ${hint}`)
  const match = timeForm.exec(time)
  if (match === null) throw refused('is no time', 'write it as 2027-01-01T09:00Z')
  const [, year, dayAndTime, seconds = '', zone] = match
  if (zone === undefined) {
    throw refused('has no time zone', 'write Z behind it for UTC, or an offset such as +02:00')
  }
  const written = `${year}-${dayAndTime}${seconds}`
  const ms = Date.parse(written + zone)
  if (Number.isNaN(ms) || !isOnCalendar(written)) {
    throw refused('is on no calendar or clock', 'write it as 2027-01-01T09:00Z')
  }
  if (Number(year) < YEAR_MIN || Number(year) > YEAR_MAX) {
    throw refused('is too far away', `give a time from ${YEAR_MIN} to ${YEAR_MAX}`)
  }
  return ms
}

/** JavaScript takes 30 February for 2 March, and 24:00 for the next day. */
function isOnCalendar(written: string): boolean {
  const ms = Date.parse(`${written}Z`)
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(written)
}

export const timeText = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z')
