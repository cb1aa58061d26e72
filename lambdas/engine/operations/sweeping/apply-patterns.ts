import { patternsWalkKey } from '../../core/keys.ts'
import { type PatternsWalk, walkEnded, walkNow } from '../../core/patterns-walk.ts'
import type { QueuePatterns } from '../../core/queue-patterns.ts'
import { decodePatternsWalk, placeUpdate, walkUpdate } from '../../store/patterns-walk-row.ts'
import type { SweepFailure } from '../../verbs.ts'
import type { Engine } from '../attempts/engine.ts'
import { readQueuePatterns } from '../attempts/patterns.ts'
import { applyPage } from './apply-page.ts'

/**
 * We send a page's requests within this time after a look at the patterns, so that a sweeper that was frozen does not
 * write settings from outdated patterns.
 */
const PAGE_MS = 10_000
/** A page mostly takes a tenth of a second; without time for it we had better not begin it. */
const PAGE_MIN_MS = 250

export type PatternsReport = {
  readonly onFailed: (failure: SweepFailure) => void
  readonly onMore: () => void
}

/** The walk and the patterns, which were the newest at that time. */
type Look = { readonly atMs: number; readonly walk: PatternsWalk; readonly patterns: QueuePatterns }

/**
 * Gives queues without their own settings those that the patterns say, page by page through the directory, until the
 * time is up: a row remembers the place, and the next sweep goes on there. A queue that has them already costs one
 * read.
 */
export async function applyPatterns(
  engine: Engine,
  untilMs: number,
  { onFailed, onMore }: PatternsReport,
): Promise<void> {
  const { clock } = engine
  let pageMs = PAGE_MIN_MS
  let isRepeated = false
  try {
    let look = await lookAt(engine)
    for (;;) {
      const beganMs = clock.nowMs()
      const walk = walkNow(look.walk, beganMs)
      if (walk === undefined) return
      if (walk.underWay === undefined || walk !== look.walk) {
        look = await note(engine, look, walkUpdate(look.walk, walk))
        continue
      }
      if (beganMs + pageMs > untilMs) return onMore()
      const { place } = walk.underWay
      const deadlineMs = Math.min(look.atMs + PAGE_MS, untilMs)
      const mayRepeat = !isRepeated && deadlineMs < untilMs
      const page = await applyPage(engine, { deadlineMs, mayRepeat }, look.patterns, place)
      isRepeated = page.kind === 'cut'
      pageMs = Math.max(pageMs, clock.nowMs() - beganMs)
      if (page.kind === 'cut') {
        look = await lookAt(engine)
        continue
      }
      for (const failure of page.failures) onFailed(failure)
      look = await note(engine, look, afterPage(look, page, clock.nowMs()))
    }
  } catch (error) {
    // The walk's timer stays due.
    onFailed({ queue: '', error })
    onMore()
  }
}

function afterPage(
  { walk, patterns }: Look,
  { next, failures }: Extract<Awaited<ReturnType<typeof applyPage>>, { kind: 'done' }>,
  nowMs: number,
): ReturnType<typeof walkUpdate> {
  const { underWay } = walk
  const failed = failures.length > 0
  if (next !== undefined) return placeUpdate(walk, next, failed)
  const whole = failed && underWay ? { ...walk, underWay: { ...underWay, failed } } : walk
  return walkUpdate(walk, walkEnded(whole, nowMs, { isLast: patterns.patterns.length === 0 }))
}

/** Reads the walk first: patterns that we read after it are at least as new as the request it notes. */
async function lookAt(engine: Engine): Promise<Look> {
  const atMs = engine.clock.nowMs()
  const walk = decodePatternsWalk(await engine.dynamo.get(patternsWalkKey, true))
  return { atMs, walk, patterns: await readQueuePatterns(engine) }
}

/** The row that it leaves says whether the patterns have changed, so this counts as a look, too. */
async function note(
  engine: Engine,
  look: Look,
  update: ReturnType<typeof walkUpdate>,
): Promise<Look> {
  const atMs = engine.clock.nowMs()
  const written = await engine.dynamo.update(patternsWalkKey, update)
  // The write was refused, or we do not know: the row as it is now tells what is left to do.
  if (written.kind !== 'done') return lookAt(engine)
  const walk = decodePatternsWalk(written.row)
  return walk.asked === look.walk.asked ? { ...look, atMs, walk } : lookAt(engine)
}
