import { Expression } from '../../foundation/expression.ts'
import { epochText } from '../core/epoch.ts'
import type { SlotCondition, SlotWrite } from '../core/slot-plan.ts'

/** Takes a stretch of slots, on conditions that make sure that nobody else has it. */
export function slotUpdate(write: SlotWrite): ReturnType<Expression['build']> {
  const { cursor, condition } = write
  const update = new Expression()
  const epoch = epochText(write.epoch)
  // An add changes nothing but the cursor.
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
  // Somebody may have changed the rules, so that another ruler applies to the cursor.
  const sameRuler = `e=${update.value(condition.epochText)}`
  // A later window may have begun by another process's clock; then ours may be over.
  const sameTime =
    condition.atMs === undefined ? `t<=${update.value(atMs)}` : `t=${update.value(condition.atMs)}`
  // The window may be full or over, or the line full; or others may have moved the cursor on since we saw it.
  const inReach = `c BETWEEN ${update.value(cursorMin)} AND ${update.value(cursorMax)}`
  const all = `${sameRuler} AND ${sameTime} AND ${inReach}`
  return condition.orAbsent ? `(attribute_not_exists(e) OR (${all}))` : all
}

/** Sets the value if there is one, and removes the attribute if not. */
export function keep(update: Expression, name: 'o' | 'k', value: unknown): void {
  if (value === undefined || value === 0) update.removes.push(name)
  else update.set(name, value)
}
