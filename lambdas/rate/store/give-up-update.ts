import { Expression } from '../../foundation/expression.ts'
import type { Turn } from '../core/turn.ts'

/**
 * Gives the last turn back. This is exact, because its conditions say that nothing was issued after it: the cursor is
 * right behind it, and has never gone back since. For the same reason, a second copy of this write, however late,
 * finds another count and changes nothing.
 */
export function giveUpUpdate(turn: Turn, width: number): ReturnType<Expression['build']> {
  const { epoch, position, giveUps } = turn
  const update = new Expression()
  update.set('c', position)
  update.set('x', giveUps + 1)
  update.condition(`e=${update.value(epoch)}`)
  update.condition(`c=${update.value(position + width)}`)
  update.condition(giveUps === 0 ? 'attribute_not_exists(x)' : `x=${update.value(giveUps)}`)
  return update.build()
}
