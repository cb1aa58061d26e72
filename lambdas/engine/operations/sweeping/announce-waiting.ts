import { QueueError } from '../../../foundation/errors.ts'
import { SHARDS } from '../../core/limits.ts'
import { endThose, hasAny, isOver } from '../../core/locks.ts'
import type { QueueRecord } from '../../core/record.ts'
import { announced, waitsForSomebody } from '../../core/reminder.ts'
import type { AnnounceReport, AnnounceRequest } from '../../verbs.ts'
import { attempts } from '../attempts/attempts.ts'
import { again, answer, asStored, done } from '../attempts/decision.ts'
import { changeOf, type Engine } from '../attempts/engine.ts'
import { checkPrefix } from '../looking/directory.ts'
import { type WalkPage, type WalkPlace, walkOn, walkStart } from '../looking/walk.ts'
import { sideBySide } from './side-by-side.ts'

const QUEUES_AT_ONCE = 16
/** As for the sweep: 2,000 items in consumers' locks at 40 a write, and room for lost races. */
const ATTEMPTS_MAX = 80
/** How long a call runs if its caller sets no deadline. */
const RUN_MS = 60_000

/**
 * Announces every queue that has free items and no live lock, no matter when it was last announced: for a
 * consumer that was repaired, or is new, and should not wait for the next reminder.
 */
export async function announceWaiting(
  engine: Engine,
  request: AnnounceRequest = {},
): Promise<AnnounceReport> {
  const {
    prefix = '',
    deadlineMs = engine.clock.nowMs() + RUN_MS,
    consumersAreGone = false,
  } = request
  checkPrefix(prefix)
  let place: WalkPlace | undefined =
    request.cursor === undefined ? walkStart : decodePlace(request.cursor)
  const report = { queues: 0, announced: 0, failed: 0 }
  while (place !== undefined && engine.clock.nowMs() < deadlineMs) {
    const page: WalkPage | undefined = await nextPage(engine, prefix, place, report)
    // The answer says what we have done so far, and where to go on.
    if (page === undefined) break
    report.queues += page.records.length + page.unread.length
    for (const { queue, error } of page.unread) notAnnounced(engine, queue, error, report)
    const over = isOver(engine.clock.nowMs(), consumersAreGone)
    const waiting = page.records.filter(
      (record) => waitsForSomebody(record) || hasAny(record, over),
    )
    await sideBySide(waiting, QUEUES_AT_ONCE, async (record) => {
      try {
        if (await announce(engine, record, consumersAreGone)) report.announced += 1
      } catch (error) {
        notAnnounced(engine, record.queue, error, report)
      }
    })
    place = page.next
  }
  return { ...report, ...(place && { cursor: encodePlace(place) }) }
}

type Report = { -readonly [K in keyof Omit<AnnounceReport, 'cursor'>]: AnnounceReport[K] }

function notAnnounced(engine: Engine, queue: string, error: unknown, report: Report): void {
  report.failed += 1
  engine.onBackgroundError(error, { queue, step: 'announce' })
}

/** Returns nothing if the store is out of reach and earlier pages were done. */
async function nextPage(
  engine: Engine,
  prefix: string,
  place: WalkPlace,
  report: Report,
): Promise<WalkPage | undefined> {
  try {
    return await walkOn(engine, prefix, place)
  } catch (error) {
    if (report.queues === 0) throw error
    notAnnounced(engine, '', error, report)
    return undefined
  }
}

function announce(engine: Engine, seen: QueueRecord, consumersAreGone: boolean): Promise<boolean> {
  const course = { from: asStored(seen), attemptsMax: ATTEMPTS_MAX }
  return attempts<boolean>(engine, seen.queue, course, ({ record, nowMs }) => {
    if (record === undefined) return answer(false)
    const over = isOver(nowMs, consumersAreGone)
    const freed = endThose(record, over, nowMs)
    const waits = waitsForSomebody(freed)
    // Somebody has a live lock, whose end will make the event.
    if (freed === record && !waits) return answer(false)
    const options = { nowMs, refreshCheckAt: true }
    const change = changeOf(engine, record, waits ? announced(freed, nowMs) : freed, options)
    // One write ends a limited number of locks.
    const landed = (after: QueueRecord) =>
      hasAny(after, over) ? again(asStored(after)) : done(waits)
    return { kind: 'write', change, landed }
  })
}

/** `3/orders`: in shard 3, after the queue "orders". */
const encodePlace = ({ shard, after = '' }: WalkPlace): string => `${shard}/${after}`

function decodePlace(cursor: string): WalkPlace {
  const [, shard, after] = /^(\d{1,2})\/([A-Za-z0-9._-]{0,111})$/.exec(cursor) ?? []
  if (shard === undefined || Number(shard) >= SHARDS) {
    throw new QueueError('INVALID_PARAMETER', 'cursor must be one that an earlier call gave', {
      field: 'cursor',
    })
  }
  return { shard: Number(shard), ...(after && { after }) }
}
