import type { BrowsePage, PoppedItem } from '../../engine/queues.ts'

type Shown = PoppedItem & Partial<Pick<BrowsePage['items'][number], 'state' | 'retryAtMs'>>

/** Epoch seconds, as everywhere in the API. */
export const seconds = (ms: number): number => ms / 1000

/**
 * Between tokens, JSON may hold line breaks; within strings it cannot. As spaces they mean the same
 * and leave one item on one line.
 */
export const onOneLine = (text: string): string => text.replace(/[\r\n]+/g, ' ')

/** The fields beside an item, in the API's own names. */
export const detailsOf = (item: Shown) => ({
  priority: item.priority,
  id: item.id,
  pushed_at: seconds(item.pushedAtMs),
  deliveries: item.deliveries,
  scheduled_id: item.scheduledId,
  due_at: item.dueMs && seconds(item.dueMs),
  expires_at: item.expiresAtMs && seconds(item.expiresAtMs),
  state: item.state,
  retry_at: item.retryAtMs && seconds(item.retryAtMs),
  reason: item.reason,
  dead_lettered_at: item.deadLetteredAtMs && seconds(item.deadLetteredAtMs),
  prior_deliveries: item.priorDeliveries,
})

/**
 * `{"item":…,"priority":0,"id":…}`. The item goes in as the text it is: parsed and printed again
 * `1.0` would be `1`, and `1e400` would be `null`.
 */
export const itemLine = (item: Shown): string =>
  `{"item":${onOneLine(item.text)},${JSON.stringify(detailsOf(item)).slice(1)}`

/** `{"items":[…],…}`, in the same way. */
export const withItems = (texts: readonly string[], fields: object): string => {
  const others = JSON.stringify(fields)
  const items = `{"items":[${texts.map(onOneLine).join(',')}]`
  return others === '{}' ? `${items}}` : `${items},${others.slice(1)}`
}
