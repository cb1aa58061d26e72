// Puts a row under settings that are stored elsewhere, even while others write to it: the write names the row
// that it was computed from, and if that has moved on, we compute it anew, after some tries with slack for what comes
// meanwhile.

import { Expression } from '../aws/table.ts'
import { QueueError } from '../shared/errors.ts'
import { epochText, floorAt, type Ruling } from './core/epoch.ts'
import {
  encodeConfiguration,
  type RateRow,
  rowKey,
  ruledRow,
  slackAt,
  ttlSeconds,
} from './core/row.ts'
import {
  attempts,
  done,
  LOST_MAX,
  nowMs,
  PAUSE_MS,
  type Place,
  readRow,
  type SlotLimiter,
  seenRow,
} from './limiter.ts'
import { keep, outOfReach } from './take-slots.ts'

/** A busy row moves on between reading and writing; after some tries, we allow for that. */
export const ATTEMPTS_MAX = 16

/**
 * Puts a row under new settings that are stored elsewhere: on the key's first shard, or in a queue's record. The next
 * write by the old ones then fails, whichever process sends it, and shows that there are new ones. If nobody has used
 * the row yet, it is made, for the same reason. A row that knows these settings already, or newer ones, stays as it is.
 */
export async function tellRow(limiter: SlotLimiter, place: Place, ruling: Ruling): Promise<void> {
  const key = rowKey(place.key, place.shard)
  let row = await readRow(limiter, place)
  let lost = 0
  await attempts<void>(
    ATTEMPTS_MAX,
    async (attempt) => {
      if (row !== undefined && row.epoch.revision >= ruling.revision) return done(undefined)
      const slack = slackAt(attempt)
      const after = ruledRow(row, ruling, nowMs(limiter), { slack })
      const update = configurationUpdate(row, after, (row?.cursor ?? 0) + slack)
      const written = await limiter.dynamo.update(key, update)
      if (written.kind === 'unknown') {
        lost += 1
        if (lost > LOST_MAX) throw outOfReach(place.key, written.cause)
        row = await readRow(limiter, place)
      } else row = seenRow(limiter, place, written.row)
      if (written.kind === 'done') return done(undefined)
      await limiter.clock.sleep(PAUSE_MS * limiter.random())
      return { kind: 'again' }
    },
    () =>
      new QueueError(
        'BUSY',
        `Cannot tell a row of rate limit "${place.key}" of new settings because it is too busy; try again`,
      ),
  )
}

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
