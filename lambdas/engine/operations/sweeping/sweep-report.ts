import type { SweepFailure, SweepReport } from '../../verbs.ts'
import type { Engine } from '../attempts/engine.ts'
import type { Unreadable } from './due-queues.ts'

/** What a sweep has done so far. */
export type Report = { -readonly [K in keyof SweepReport]: SweepReport[K] } & {
  failed: SweepFailure[]
}

/** For a queue that we did not serve: its timer stays due, and a consumer may have been waiting since then. */
export function late(engine: Engine, dueMs: number, report: Report): void {
  report.more = true
  report.lagMs = Math.max(report.lagMs, engine.clock.nowMs() - dueMs)
}

export function passOver(engine: Engine, due: Unreadable, report: Report): void {
  report.more = true
  if (due.kind === 'cut') return
  if (due.kind === 'shard-unread') {
    report.failed.push({ shard: due.shard, error: due.error })
    engine.onBackgroundError(due.error, { queue: '', step: `sweep-shard-${due.shard}` })
    return
  }
  late(engine, due.dueMs, report)
  failed(engine, due.queue, due.error, report)
}

export function failed(engine: Engine, queue: string, error: unknown, report: Report): void {
  report.failed.push({ queue, error })
  engine.onBackgroundError(error, { queue, step: 'sweep' })
}
