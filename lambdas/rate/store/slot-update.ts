import { Expression } from '../../foundation/expression.ts'
import { epochText } from '../core/epoch.ts'
import type { SlotCondition, SlotWrite } from '../core/slot-plan.ts'

/** Takes a stretch of slots, on the conditions that make it nobody else's. */
export function slotUpdate(write: SlotWrite): ReturnType<Expression['build']> {
  const { cursor, condition } = write
  const update = new Expression()
  const epoch = epochText(write.epoch)
  // An add leaves everything but the cursor as it met it.
  if (cursor.kind === 'add') update.sets.push(`c=c+${update.value(cursor.value)}`)
  else {
    update.set('e', epoch)
    update.set('c', cursor.value)
  }
  update.set('t', write.atMs)
  if (write.ttl !== undefined) update.set(update.name('ttl'), write.ttl)
  if (write.overhang !== undefined) keep(update, 'o', write.overhang)
  update.condition(slotCondition(update, condition, write.atMs))
  return update.build()
}

function slotCondition(update: Expression, condition: SlotCondition, atMs: number): string {
  const { cursorMin, cursorMax } = condition
  // Somebody changed the rules: the cursor is read by another ruler now.
  const sameRuler = `e=${update.value(condition.epochText)}`
  // A later window has begun by another's clock: then ours may be past.
  const sameTime =
    condition.atMs === undefined ? `t<=${update.value(atMs)}` : `t=${update.value(condition.atMs)}`
  // The window is full, or over, or the line is; or others moved the cursor on since it was seen.
  const inReach = `c BETWEEN ${update.value(cursorMin)} AND ${update.value(cursorMax)}`
  const all = `${sameRuler} AND ${sameTime} AND ${inReach}`
  return condition.orAbsent ? `(attribute_not_exists(e) OR (${all}))` : all
}

/** Sets what is there to be said, and removes what is not. */
export function keep(update: Expression, name: 'o' | 'k', value: unknown): void {
  if (value === undefined || value === 0) update.removes.push(name)
  else update.set(name, value)
}
