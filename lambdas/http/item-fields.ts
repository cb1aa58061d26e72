import type { PoppedItem } from '../engine/queues.ts'
import { secondsText } from './answer.ts'

// How answers present items, shared by pops and lists. In its own file, so that a list need not load a pop's code.

export const itemTexts = (items: readonly PoppedItem[]): string =>
  `[${items.map(({ text }) => text).join(',')}]`

/** An id consists of characters that need no escape; a reason may contain anything. */
export function detailFields(item: PoppedItem): string {
  const { id, priority, pushedAtMs, deliveries, scheduledId, dueMs, expiresAtMs } = item
  const { reason, deadLetteredAtMs, priorDeliveries } = item
  const pushedAt = secondsText(pushedAtMs)
  const always = `"id":"${id}","priority":${priority},"pushed_at":${pushedAt},"deliveries":${deliveries}`
  const expiry = expiresAtMs === undefined ? '' : `,"expires_at":${secondsText(expiresAtMs)}`
  const scheduled = scheduledId === undefined ? '' : `,"scheduled_id":"${scheduledId}"`
  const due = dueMs === undefined ? '' : `,"due_at":${secondsText(dueMs)}`
  const fields = always + expiry + scheduled + due
  if (reason === undefined) return fields
  const why = `${fields},"reason":${JSON.stringify(reason)}`
  if (deadLetteredAtMs === undefined) return why
  const at = secondsText(deadLetteredAtMs)
  return `${why},"dead_lettered_at":${at},"prior_deliveries":${priorDeliveries}`
}
