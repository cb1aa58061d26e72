import type { PatternsPlace } from '../../core/patterns-walk.ts'
import { type QueuePatterns, repatterned } from '../../core/queue-patterns.ts'
import { type QueueRecord, reconfigured } from '../../core/record.ts'
import type { SweepFailure } from '../../verbs.ts'
import { attempts } from '../attempts/attempts.ts'
import { answer, asStored, done } from '../attempts/decision.ts'
import { changeOf, type Engine, readRecord } from '../attempts/engine.ts'
import { type WalkPage, walkOn, walkToNextShard } from '../looking/walk.ts'
import { sideBySide } from './side-by-side.ts'

/** As many as the visits of a sweep: mostly, each is one write that waits for the store. */
const QUEUES_AT_ONCE = 32
const ATTEMPTS_MAX = 24
const HOLDS_FROM = 3

type Page =
  | {
      readonly kind: 'done'
      readonly next: PatternsPlace | undefined
      /** Queues that we skipped; a later walk comes to them. */
      readonly failures: readonly SweepFailure[]
    }
  /** The time was up before every queue had its turn, so the page must be done again. */
  | { readonly kind: 'cut' }

/**
 * Gives a page of queues the settings that the patterns say. We skip records that cannot be read or written, so that
 * they do not block others. We repeat a page that was cut as long as it makes progress, and once more if it ran out
 * of its own time rather than the caller's: a process that was frozen must not skip a hundred queues.
 */
export async function applyPage(
  engine: Engine,
  { deadlineMs, mayRepeat }: { readonly deadlineMs: number; readonly mayRepeat: boolean },
  patterns: QueuePatterns,
  place: PatternsPlace,
): Promise<Page> {
  const isOver = (): boolean => engine.clock.nowMs() >= deadlineMs
  const bounded = { ...engine, dynamo: engine.dynamo.until(deadlineMs) }
  let page: WalkPage
  try {
    page = await walkOn(bounded, '', place)
  } catch (error) {
    if (mayRepeat && isOver()) return { kind: 'cut' }
    const { shard } = place
    return { kind: 'done', next: walkToNextShard(place), failures: [{ shard, error }] }
  }
  const { applied, failures } = await applyTo(bounded, patterns, page)
  if (failures.length > 0 && isOver() && (applied > 0 || mayRepeat)) return { kind: 'cut' }
  return { kind: 'done', next: page.next, failures }
}

async function applyTo(
  engine: Engine,
  patterns: QueuePatterns,
  { records, unread }: WalkPage,
): Promise<{ applied: number; failures: readonly SweepFailure[] }> {
  const failures: SweepFailure[] = []
  let applied = 0
  const wanting = records.filter((one) => repatterned(one.configuration, patterns, one.queue))
  // A record that the page read did not return may come when read alone.
  const queues = [...wanting, ...unread.map(({ queue }) => ({ queue }))]
  await sideBySide(queues, QUEUES_AT_ONCE, async (one) => {
    const { queue } = one
    try {
      const record = 'version' in one ? one : await readRecord(engine, queue)
      const isApplied = record !== undefined && (await applyToQueue(engine, patterns, record))
      if (isApplied) applied += 1
    } catch (error) {
      failures.push({ queue, error })
    }
  })
  return { applied, failures }
}

function applyToQueue(
  engine: Engine,
  patterns: QueuePatterns,
  seen: QueueRecord,
): Promise<boolean> {
  const { queue } = seen
  const course = { from: asStored(seen), attemptsMax: ATTEMPTS_MAX, holdsFrom: HOLDS_FROM }
  return attempts<boolean>(engine, queue, course, ({ record, nowMs }) => {
    const after = record && repatterned(record.configuration, patterns, queue)
    if (record === undefined || after === undefined) return answer(false)
    const change = changeOf(engine, record, reconfigured(record, after), { nowMs })
    return { kind: 'write', change, landed: () => done(true) }
  })
}
