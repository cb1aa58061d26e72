import { allShards } from '../../core/keys.ts'
import { isPatient, NEAR_MS } from '../../core/timers.ts'
import type { WakeReport, WakeRequest } from '../../verbs.ts'
import type { Engine } from '../attempts/engine.ts'
import { Watch } from './awake.ts'
import { placeOf, type Timer } from './due-queues.ts'
import { endLocks, nothingYet } from './end-locks.ts'
import type { Report } from './sweep-report.ts'

/**
 * It knows when the next timer ends and comes just then. But a timer that is set anew may end before that,
 * and the index tells of it at the next look.
 */
const LOOK_EVERY_MS = 1_000
/** A timer that has just ended may show up again, because the index is behind. */
const PAUSE_MS_MIN = 50
/** How far the index may be behind a timer that a caller has noted. After that the minute's sweep comes for it. */
const INDEX_BEHIND_MS = 3_000
/**
 * We do not visit a queue whose timer stays due at each look: it is in trouble, or the index is behind. Mostly another
 * write was in the way and has passed. So we come again after a second, and then each time after twice as long.
 */
const VISIT_AGAIN_MS = { first: 1_000, most: 5_000 }
const VISITS_REMEMBERED = 10_000

/**
 * Comes for prompt timers within a second or so, as long as one ends within the next minute and a half. It ends
 * locks, runs schedules and joins due items, and nothing else: it leaves the rest to the stream or the sweep.
 */
export async function wake(engine: Engine, request: WakeRequest): Promise<WakeReport> {
  const { clock } = engine
  const total = { queues: 0, itemsReturned: 0, occurrencesPushed: 0, lagMs: 0, looks: 0, failed: 0 }
  let stayMs = stayUntil(request.untilMs, clock.nowMs())
  const watch = await Watch.begin(engine, stayMs, request.takesOver)
  if (watch === undefined) return { ...total, left: true }
  const { deadlineMs } = request
  const isWanted = notAgainAtOnce(engine)
  while (await watch.goOn()) {
    const report = nothingYet()
    const bounds = { deadlineMs, queuesMax: Number.POSITIVE_INFINITY, shards: allShards, isWanted }
    await endLocks(engine, report, bounds)
    add(total, report)
    throwIfBlind(report)
    const nowMs = clock.nowMs()
    const { nextDueMs, more } = report
    // The visit itself reports this, because the index may not yet show the timer that it has set.
    if (nextDueMs !== undefined) stayMs = Math.max(stayMs, nextDueMs + INDEX_BEHIND_MS)
    const isOver = nextDueMs === undefined && !more && nowMs >= Math.max(stayMs, watch.stayMs)
    const mustGo = nowMs >= deadlineMs
    if ((isOver || mustGo) && ((await watch.goHome()) || mustGo)) break
    const untilNextMs = (nextDueMs ?? Number.POSITIVE_INFINITY) - nowMs
    await clock.sleep(Math.min(LOOK_EVERY_MS, Math.max(PAUSE_MS_MIN, untilNextMs)))
  }
  return { ...total, left: false }
}

/** Bounds the stay, so that neither the notes of others nor their clocks can keep us awake for long. */
const stayUntil = (untilMs: number | undefined, nowMs: number): number =>
  Math.min(Math.max(untilMs ?? nowMs, nowMs), nowMs + NEAR_MS) + INDEX_BEHIND_MS

/** Chooses the prompt ones of the due timers, and each only now and then while it stays due. */
function notAgainAtOnce({ clock }: Engine): (due: Timer) => boolean {
  const visited = new Map<string, Visit>()
  return (timer) => {
    const { dueMs } = timer
    if (isPatient(dueMs)) return false
    const atMs = clock.nowMs()
    const place = placeOf(timer)
    const seen = visited.get(place)
    const last = seen?.dueMs === dueMs ? seen : undefined
    if (last !== undefined && atMs < last.atMs + last.pauseMs) return false
    const pauseMs = last ? Math.min(2 * last.pauseMs, VISIT_AGAIN_MS.most) : VISIT_AGAIN_MS.first
    if (visited.size >= VISITS_REMEMBERED) visited.clear()
    visited.set(place, { dueMs, atMs, pauseMs })
    return true
  }
}

type Visit = { readonly dueMs: number; readonly atMs: number; readonly pauseMs: number }

/** A run that can read nothing is of no use, so it fails, which raises an alarm; the minute's sweep tries again. */
function throwIfBlind({ failed }: Report): void {
  const unread = failed.filter(({ shard }) => shard !== undefined)
  if (unread.length === allShards.length) throw unread[0]?.error
}

type Total = { -readonly [K in keyof Omit<WakeReport, 'left'>]: number }

function add(total: Total, report: Report): void {
  total.looks += 1
  total.queues += report.queues
  total.itemsReturned += report.itemsReturned
  total.occurrencesPushed += report.occurrencesPushed
  total.failed += report.failed.length
  total.lagMs = Math.max(total.lagMs, report.lagMs)
}
