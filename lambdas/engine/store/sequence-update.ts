import type { Expression } from '../../foundation/expression.ts'
import type { QueueRecord } from '../core/record.ts'
import { behind, type Sequence } from '../core/sequence.ts'
import { recordUpdate } from './record-update.ts'

/**
 * Requires that the queue has not come as far as this message. A copy that comes late, or a batch that is applied
 * again from its beginning, finds the number of its last message or a higher one. The numbers of another inbox do
 * not matter: they sort below or above all numbers of this one.
 */
export function comesAfter(update: Expression, first: Sequence): void {
  const [isBelow, isBeyond] = [`sn<${update.value(first)}`, `sn>${update.value(behind(first))}`]
  update.condition(`(attribute_not_exists(sn) OR ${isBelow} OR ${isBeyond})`)
}

/** Notes that the queue has come to this message, which brought nothing. */
export function passedUpdate(
  { born }: QueueRecord,
  sequence: Sequence,
  applied: string,
): ReturnType<Expression['build']> {
  const update = recordUpdate()
  update.condition(`born=${update.value(born)}`)
  comesAfter(update, sequence)
  update.set('sn', applied)
  return update.build()
}
