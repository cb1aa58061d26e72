import { checkKeysOnce } from './check-pushed.ts'
import { findStrays } from './check-stored.ts'
import { isAnsweredWithSuccess } from './ledger.ts'
import type { Model } from './model.ts'

/** After the drain: where every pushed item went, and what the store still holds. */
export function checkEnd(model: Model): void {
  const { world, ledger } = model
  for (const pushedBy of ledger.pushes()) {
    const { texts, appended } = pushedBy
    if (appended === 0 && isAnsweredWithSuccess(pushedBy)) {
      world.violated('every push is delivered, dead-lettered, purged or stored', texts.join())
    }
    if (appended !== 0 && appended !== texts.length) {
      world.violated('a bulk push is all or nothing', `${appended} of ${texts.length}`)
    }
  }
  for (const { text, appended, live, fate } of ledger.items()) {
    if (appended && (live !== 0 || (fate === undefined && !ledger.schedules.has(text)))) {
      world.violated('after a drain nothing is missing', `${text}: ${live} live, ${fate}`)
    }
    if (fate !== undefined) world.statistics.count(`fate ${fate}`)
    else if (!appended) world.statistics.count('fate never pushed')
    const business = model.rows.row(`business#${text}`, 'business')
    if (business !== undefined && !appended) world.violated('a transaction is all or nothing', text)
  }
  checkTransactions(model)
  checkKeysOnce(model)
  checkLeftovers(model)
}

/** What was pushed in a transaction came with the caller's own row. */
function checkTransactions({ ledger, rows, world }: Model): void {
  for (const { operations, appended } of ledger.pushes()) {
    const [operation] = operations
    if (operation === undefined) continue
    const { command } = operation
    if (appended === 0 || !('businessRow' in command)) continue
    if (rows.row(command.businessRow, 'business') !== undefined) continue
    world.violated('a transaction is all or nothing', `${command.businessRow} is not there`)
  }
}

function checkLeftovers(model: Model): void {
  const strays = findStrays(model)
  model.world.statistics.count('stray rows and objects', strays.length)
  if (model.world.faultFree && strays.length > 0) {
    model.world.violated('without faults nothing is left over', strays.join(', '))
  }
}
