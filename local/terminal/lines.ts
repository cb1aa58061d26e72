// One line for each request, and one for each notice.

import type { LogLine } from '../functions/messages.ts'
import type { RequestRecord } from '../gateway/gateway.ts'
import { type Colour, type Paint, printable } from './paint.ts'

const PATH_CHARACTERS_MAX = 120

/** `10:04:12  POST   /queue/orders/push  200  12 ms  2 WRU` */
export function requestLine(request: RequestRecord, paint: Paint): string {
  const { atMs, method, path, status, durationMs, summary, otherPort } = request
  const shown = path.length > PATH_CHARACTERS_MAX ? `${path.slice(0, PATH_CHARACTERS_MAX)}…` : path
  const code = summary?.error_code
  return [
    paint('dim', clockTime(atMs)),
    method.padEnd(4),
    otherPort === undefined ? printable(shown) : `:${otherPort}${printable(shown)}`,
    paint(
      colourOf(status),
      typeof code === 'string' ? `${status} ${printable(code)}` : `${status}`,
    ),
    `${durationMs < 10 ? durationMs.toFixed(1) : Math.round(durationMs)} ms`,
    ...(summary ? [paint('dim', unitsOf(summary))] : []),
  ]
    .filter((part) => part !== '')
    .join('  ')
}

const REPEATED_WITHIN_MS = 2_000
const SHOWN_IN_A_ROW = 4

/**
 * Whether a request is to be shown: a consumer that polls would hide all other lines. After some equal GETs, each
 * within two seconds of the one before, it says so and shows no more of them until one comes later, or fails.
 */
export function withoutRepeated(): (request: RequestRecord) => 'show' | 'show-the-last' | 'hide' {
  const rows = new Map<string, { atMs: number; inARow: number }>()
  return ({ atMs, method, path, status, otherPort }) => {
    if (method !== 'GET' || status !== 200) return 'show'
    const name = `${otherPort ?? ''}${path}`
    for (const [other, row] of rows) if (atMs - row.atMs > REPEATED_WITHIN_MS) rows.delete(other)
    const inARow = (rows.get(name)?.inARow ?? 0) + 1
    rows.set(name, { atMs, inARow })
    if (inARow > SHOWN_IN_A_ROW) return 'hide'
    return inARow === SHOWN_IN_A_ROW ? 'show-the-last' : 'show'
  }
}

/** What the request cost: write and read units of DynamoDB, and requests to S3. */
function unitsOf(summary: LogLine): string {
  const units = [
    [summary.write_units, 'WRU'],
    [summary.read_units, 'RRU'],
    [summary.s3_requests, 'S3'],
  ]
  return units
    .filter(([amount]) => typeof amount === 'number' && amount > 0)
    .map(([amount, name]) => `${amount} ${name}`)
    .join(', ')
}

/** `10:04:12  Rebuilt Ship from ship.ts in 0.4 s.` */
export const noticeLine = (sentence: string, paint: Paint, atMs = Date.now()): string =>
  `${paint('dim', clockTime(atMs))}  ${paint('yellow', sentence)}`

function colourOf(status: number): Colour {
  if (status >= 500) return 'red'
  return status >= 400 ? 'yellow' : 'green'
}

/** In the time zone of this machine. */
export function clockTime(ms: number): string {
  const time = new Date(ms)
  return [time.getHours(), time.getMinutes(), time.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':')
}
