import { queuePatternsKey } from '../../core/keys.ts'
import { type QueuePatterns, repatterned } from '../../core/queue-patterns.ts'
import { type QueueRecord, reconfigured } from '../../core/record.ts'
import { patternsWalkUpdate } from '../../store/patterns-walk-update.ts'
import { decodeQueuePatterns, type QueuePatternsRow } from '../../store/queue-patterns-row.ts'
import { attempts } from '../attempts/attempts.ts'
import { answer, done } from '../attempts/decision.ts'
import { changeOf, type Engine, readRecord } from '../attempts/engine.ts'
import { readQueuePatterns } from '../attempts/patterns.ts'
import { type WalkPage, walkOn, walkStart } from '../looking/walk.ts'
import { sideBySide } from './side-by-side.ts'

/** As many as the visits of a sweep: mostly one write, which waits for the store. */
const QUEUES_AT_ONCE = 32
const ATTEMPTS_MAX = 24
const HOLDS_FROM = 3
/**
 * A page's requests are sent within this time of a look at the row, so that a sweeper which was frozen does
 * not write by patterns that are history: the walk of newer ones begins later than that.
 */
const PAGE_MS = 10_000
/**
 * The walk is repeated after a quarter of an hour, then after four times as long each time, and at last once
 * a day while there are patterns. It finds what the first could not: a record that the store would not give,
 * and a queue made by a process that was frozen, or of a request that was under way, for longer than the
 * first walk waits. 10,000 queues cost about $0.04 a month.
 */
const FIRST_PAUSE_MS = 15 * 60_000
const LAST_PAUSE_MS = 86_400_000

export type PatternsReport = {
  readonly onFailed: (queue: string, error: unknown) => void
  readonly onMore: () => void
}

/**
 * Gives the queues that have no settings of their own those that the patterns say, page by page through the
 * directory, until the time is up: a row remembers the place, and the next sweep goes on there. A queue that
 * has them already costs a read.
 */
export async function applyPatterns(
  engine: Engine,
  untilMs: number,
  { onFailed, onMore }: PatternsReport,
): Promise<void> {
  try {
    for (let row = await readQueuePatterns(engine); isDue(engine, row); ) {
      if (engine.clock.nowMs() >= untilMs) return onMore()
      const bounded = boundedBy(engine, engine.clock.nowMs() + PAGE_MS)
      const page = await walkOn(bounded, '', row.walk ?? walkStart)
      await applyTo(bounded, row, page, onFailed)
      const written = await engine.dynamo.update(
        queuePatternsKey,
        patternsWalkUpdate(
          row,
          page.next ? { at: page.next } : { againAtMs: againAtMs(engine, row) },
        ),
      )
      // Refused, or nobody knows: what the row says now tells what is left to do.
      row =
        written.kind === 'done' ? decodeQueuePatterns(written.row) : await readQueuePatterns(engine)
    }
  } catch (error) {
    // Its timer stays due.
    onFailed('', error)
    onMore()
  }
}

const boundedBy = (engine: Engine, deadlineMs: number): Engine => ({
  ...engine,
  dynamo: engine.dynamo.until(deadlineMs),
})

const isDue = ({ clock }: Engine, { walkAtMs }: QueuePatternsRow): boolean =>
  walkAtMs !== undefined && walkAtMs <= clock.nowMs()

function againAtMs({ clock }: Engine, { patterns, walks }: QueuePatternsRow): number | undefined {
  const pauseMs = Math.min(LAST_PAUSE_MS, FIRST_PAUSE_MS * 4 ** walks)
  const isLast = patterns.length === 0 && pauseMs === LAST_PAUSE_MS
  return isLast ? undefined : clock.nowMs() + pauseMs
}

async function applyTo(
  engine: Engine,
  patterns: QueuePatterns,
  { records, unread }: WalkPage,
  onFailed: PatternsReport['onFailed'],
): Promise<void> {
  const wanting = records.filter((one) => repatterned(one.configuration, patterns, one.queue))
  // A record that a page did not bring may come by itself.
  const queues = [...wanting, ...unread.map(({ queue }) => ({ queue }))]
  await sideBySide(queues, QUEUES_AT_ONCE, async (one) => {
    try {
      const record = 'version' in one ? one : await readRecord(engine, one.queue)
      if (record !== undefined) await applyToQueue(engine, patterns, record)
    } catch (error) {
      onFailed(one.queue, error)
    }
  })
}

async function applyToQueue(
  engine: Engine,
  patterns: QueuePatterns,
  seen: QueueRecord,
): Promise<void> {
  const { queue } = seen
  const course = { from: { record: seen }, attemptsMax: ATTEMPTS_MAX, holdsFrom: HOLDS_FROM }
  await attempts<void>(engine, queue, course, ({ record, nowMs }) => {
    const after = record && repatterned(record.configuration, patterns, queue)
    if (record === undefined || after === undefined) return answer(undefined)
    const change = changeOf(engine, record, reconfigured(record, after), { nowMs })
    return { kind: 'write', change, landed: () => done(undefined) }
  })
}
