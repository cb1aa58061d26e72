import type { Admission } from '../../../../../lambdas/rate/rate-limits.ts'
import type { RateCall } from './rate-call.ts'
import { isFull, isIdle } from './read-row.ts'
import type { RateRows } from './rows.ts'

type Denied = Extract<Admission, { kind: 'denied' }>

/** "Denied" is remembered for a minute at most, and clocks may be set by ten seconds meanwhile. */
const REMEMBERED_MAX_MS = 60_000 + 10_000
const REMEMBERED_MIN_MS = 1_000 + 10_000

/** Nobody is denied while there is room, but by a memory of when there was none. Only for keys of one shard. */
export function checkDenial(
  rows: RateRows,
  { command, operation }: RateCall,
  answer: Denied,
): void {
  if (command.verb !== 'admit') return
  const { cost = 1, canWait = false, overrides } = command.request
  // Of the shortest line that may have applied to it.
  const inLine = canWait ? Math.min(rows.lines.min, overrides?.maxRequestsInQueue ?? 1e9) : 0
  const { states } = rows.of(`r#${command.key}#0`)
  const keptMs = Math.min(
    REMEMBERED_MAX_MS,
    Math.max(REMEMBERED_MIN_MS, answer.windowMillis / 10 + 10_000),
  )
  // As it was at that time, and ever since.
  const sinceMs = operation.startedMs - keptMs
  const first = states.findLastIndex(({ fromMs }) => fromMs <= sinceMs)
  const { clockMinMs } = operation
  const isJustified = states.slice(Math.max(0, first)).some(({ row }) => {
    if (row === undefined) return false
    const isAsRuled =
      row.max === answer.limit &&
      row.windowMs === answer.windowMillis &&
      row.window === (answer.algorithm === 'window')
    // Under other rules the row would be handed over, and the model cannot know the answer.
    if (!isAsRuled) return !isIdle(row, clockMinMs)
    // Its burst may be another's; that there is one, the probe sees.
    return isFull({ ...row, burst: 1 }, cost, inLine, clockMinMs)
  })
  const told = [operation.id, answer, clockMinMs, states.at(-1)?.row]
  rows.must(isJustified, 'no denial while there is room', ...told)
}
