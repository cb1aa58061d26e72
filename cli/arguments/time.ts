import { wrongUsage } from '../failure.ts'

/** A time as people write it, such as 2027-01-01T09:00Z. */
export function msIn(what: string, option: string, time: string | undefined): number | undefined {
  if (time === undefined) return undefined
  const ms = Date.parse(time)
  if (!Number.isNaN(ms)) return ms
  throw wrongUsage(
    `Cannot ${what} because --${option} is no time: ${JSON.stringify(time)}; write it as 2027-01-01T09:00Z`,
  )
}

export const timeText = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z')
