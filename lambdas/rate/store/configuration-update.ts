import { Expression } from '../../foundation/expression.ts'
import { epochText } from '../core/epoch.ts'
import { type RateRow, ttlSeconds } from '../core/row.ts'
import { floorAt } from '../core/ruler.ts'
import { encodeConfiguration } from './rate-row.ts'
import { keep } from './slot-update.ts'

/** Puts the row under other settings, on condition that it is the row from which we computed them, or is absent. */
export function configurationUpdate(
  before: RateRow | undefined,
  after: RateRow,
  cursorMax: number,
): ReturnType<Expression['build']> {
  const update = new Expression()
  const { configuration } = after
  update.set('e', epochText(after.epoch))
  update.set('c', after.cursor)
  update.set('t', after.atMs)
  keep(update, 'o', after.overhang)
  keep(update, 'k', configuration && encodeConfiguration(configuration))
  if (configuration === undefined) {
    const position = Math.max(after.cursor, floorAt(after.epoch, after.atMs))
    update.set(update.name('ttl'), ttlSeconds(after.epoch, position))
  } else {
    // Configuration stays, however long the key is idle.
    update.removes.push(update.name('ttl'))
  }
  if (before === undefined) update.condition('attribute_not_exists(e)')
  else {
    update.condition(`e=${update.value(epochText(before.epoch))}`)
    update.condition(`t=${update.value(before.atMs)}`)
    update.condition(`c<=${update.value(cursorMax)}`)
  }
  return update.build()
}
