import { transitionsOf } from '../../../lambdas/core/transitions.ts'
import type { PopOutcome } from '../../../lambdas/queues.ts'
import type { CommandOf } from '../command.ts'
import type { Operation } from '../operation.ts'
import type { Say } from './check-answer.ts'
import type { Model, QueueModel } from './model.ts'
import type { Snapshot } from './snapshot.ts'

/** The marks that events are made of, by the record before and after a write. */
export function checkMarks(
  model: Model,
  queueModel: QueueModel,
  before: Snapshot | undefined,
  after: Snapshot | undefined,
): void {
  const { queue } = queueModel
  if (after === undefined) {
    queueModel.silence = undefined
    return
  }
  const { dry } = after.record
  const hasFree = after.hasFree()
  if (dry && hasFree) model.violated('dry: nothing is free', `${queue} has something to pop`)
  const silent = !dry && !hasFree
  if (silent && before === undefined) model.violated('a record without items is dry', queue)
  if (silent && before?.record.dry && before.record.born === after.record.born) {
    model.violated('a dry queue stays marked until something comes', queue)
  }
  if (before !== undefined && queueModel.silence === undefined) {
    const wakes =
      before.record.dry || dry || after.record.notable || before.record.born !== after.record.born
    const [missed] = wakes ? [] : transitionsOf(before.record, after.record)
    if (missed !== undefined) {
      model.violated('every transition wakes the stream', `${queue}: ${missed.kind}`)
    }
  }
  if (!silent) queueModel.silence = undefined
  else queueModel.silence ??= { sinceCommit: model.commits, by: model.operation }
}

/**
 * Nothing to pop, and no mark that says so: the next push would be no event. Whoever leaves a queue
 * like that marks it before he answers, and so does whoever finds it so.
 */
export function checkLeftDry(
  { silence, queue }: QueueModel,
  operation: Operation<CommandOf<'pop'> | CommandOf<'purge'>>,
  outcome: PopOutcome | undefined,
  faultFree: boolean,
  say: Say,
): void {
  if (silence === undefined) return
  const found = outcome?.kind === 'empty' && silence.sinceCommit <= operation.startedAtCommit
  if (found) say('who finds nothing leaves the mark', queue)
  if (silence.by?.id !== operation.id) return
  // The mark may fail after the answer is certain; a pop says then that one should ask again.
  const admitted = outcome?.kind === 'items' ? outcome.more : !faultFree
  if (!admitted) say('who takes the last leaves the mark', queue)
}
