import { Expression } from '../../foundation/expression.ts'
import type { PatternsWalk, QueuePatternsRow } from './queue-patterns-row.ts'

/**
 * Notes how far a walk has come, or when the next begins; refused once the patterns have changed, or another
 * sweeper has ended this walk. A place that another sweeper noted may be overwritten with an earlier one:
 * some queues are then looked at twice.
 */
export function patternsWalkUpdate(
  { revision, walkAtMs, walks }: QueuePatternsRow,
  next: { readonly at: PatternsWalk } | { readonly againAtMs: number | undefined },
): ReturnType<Expression['build']> {
  const update = new Expression()
  update.condition(`r=${update.value(revision)}`)
  update.condition(`checkAt=${update.value(walkAtMs)}`)
  if ('at' in next) {
    update.set('w', next.at)
    return update.build()
  }
  update.removes.push('w')
  update.set('n', walks + 1)
  if (next.againAtMs === undefined) update.removes.push('checkAt')
  else update.set('checkAt', next.againAtMs)
  return update.build()
}
