import { checkQueueId } from '../../../foundation/queue-id.ts'
import { present } from '../../../foundation/shared/present.ts'
import { checkLimit } from '../../core/check-limit.ts'
import { deadLetterOf, decodeItem, escapedBytes } from '../../core/entry.ts'
import { expiryOf } from '../../core/expiry.ts'
import { itemId } from '../../core/keys.ts'
import { ANSWER_BYTES_MAX, ITEMS_PER_POP_MAX, PAGE_DEFAULT } from '../../core/limits.ts'
import { checkPriority } from '../../core/push-request.ts'
import { countOf, includes, numbersOf, subtract, take } from '../../core/ranges.ts'
import { deliveriesOf, type QueueRecord, stretchesOf } from '../../core/record.ts'
import {
  type BrowsePlace,
  decodeCursor,
  encodeCursor,
  lanesFrom,
  lockedNow,
  visibleIn,
} from '../../core/views.ts'
import type { BrowsePage, BrowseRequest } from '../../verbs.ts'
import { attempts } from '../attempts/attempts.ts'
import { act, answer, done } from '../attempts/decision.ts'
import type { Engine } from '../attempts/engine.ts'
import { readingCourse } from '../attempts/missing-items.ts'

/** The next items in pop order, without taking them. */
export async function browse(
  engine: Engine,
  queue: string,
  request: BrowseRequest = {},
): Promise<BrowsePage> {
  checkQueueId(queue)
  const { priority, limit = PAGE_DEFAULT, cursor } = request
  if (priority !== undefined) checkPriority(priority, 'priority')
  checkLimit(limit, ITEMS_PER_POP_MAX)
  const place = cursor === undefined ? undefined : decodeCursor(cursor)
  const course = { ...readingCourse(queue), from: 'store' } as const
  return attempts<BrowsePage>(engine, queue, course, ({ record }) => {
    if (record === undefined) return answer({ items: [] })
    return act(async () => {
      const page = await pageOf(engine, record, priority, limit, place)
      return page === undefined ? { kind: 'missing', record } : done(page)
    })
  })
}

async function pageOf(
  engine: Engine,
  record: QueueRecord,
  priority: number | undefined,
  limit: number,
  place: BrowsePlace | undefined,
): Promise<BrowsePage | undefined> {
  const nowMs = engine.clock.nowMs()
  const items: BrowsePage['items'][number][] = []
  let bytes = ANSWER_BYTES_MAX
  for (const { priority: p, lane, from } of lanesFrom(record, priority, place)) {
    const visible = subtract(visibleIn(record, lane), [{ from: 0, to: from }])
    const locked = lockedNow(record, p, visible, nowMs)
    const picks = take(visible, limit - items.length)
    const read = await engine.items.read(record, stretchesOf(p, picks), bytes)
    if (read.kind === 'missing') return undefined
    const numbers = [...numbersOf(picks)]
    for (const [index, entry] of read.entries.entries()) {
      const item = decodeItem(entry)
      const { text, pushedAtMs } = item
      const sequence = numbers[index] as number
      const isLocked = includes(locked, sequence)
      const expiresAtMs = expiryOf(item, record.configuration)
      const isOver = expiresAtMs !== undefined && expiresAtMs <= nowMs
      bytes -= escapedBytes(text)
      if (items.length > 0 && bytes < 0) {
        return { items, cursor: encodeCursor({ priority: p, epoch: lane.epoch, sequence }) }
      }
      items.push({
        text,
        id: itemId({ epoch: lane.epoch, priority: p, sequence }),
        priority: p,
        pushedAtMs,
        deliveries: deliveriesOf(lane, sequence) + (isLocked ? 1 : 0),
        state: isLocked ? 'locked' : isOver ? 'expired' : 'ready',
        ...deadLetterOf(item),
        ...present({ expiresAtMs }),
      })
    }
    const seen = read.entries.length
    if (countOf(visible) > seen && (items.length >= limit || read.more || bytes <= 0)) {
      const sequence = numbers[seen] ?? (numbers[seen - 1] ?? from - 1) + 1
      return { items, cursor: encodeCursor({ priority: p, epoch: lane.epoch, sequence }) }
    }
  }
  return { items }
}
