import { isRetry } from '../../../../lambdas/engine/core/retry.ts'
import { transitionsOf } from '../../../../lambdas/engine/core/transitions.ts'
import type { PopOutcome } from '../../../../lambdas/engine/queues.ts'
import type { Answer } from './model.ts'
import type { Commit, Snapshot } from './snapshot.ts'

/** The marks that events are made of, by the record before and after a write. */
export function checkMarks(commit: Commit): void {
  const { model, queue, queueModel, before, after } = commit
  if (after === undefined) {
    queueModel.silence = undefined
    return
  }
  const { dry } = after.record
  const hasFree = after.hasFree()
  if (dry && hasFree) model.violated('dry: nothing is free', `${queue} has something to pop`)
  if (hasFree && after.record.checkAtMs === undefined) {
    model.violated('what waits has a timer', `${queue} has items, and nobody would look after them`)
  }
  if (before === undefined && hasFree && !after.record.notable) {
    model.violated('every transition wakes the stream', `${queue}: its first items`)
  }
  checkReminder(commit, after, hasFree)
  const silent = !dry && !hasFree
  if (silent && before === undefined) model.violated('a record without items is dry', queue)
  if (silent && before?.record.dry && before.record.born === after.record.born) {
    model.violated('a dry queue stays marked until something comes', queue)
  }
  const was = before?.record
  if (was !== undefined && queueModel.silence === undefined) {
    const wakes = was.dry || dry || after.record.notable || was.born !== after.record.born
    const [missed] = wakes ? [] : transitionsOf(was, after.record)
    if (missed) model.violated('every transition wakes the stream', `${queue}: ${missed.kind}`)
  }
  if (!silent) queueModel.silence = undefined
  else queueModel.silence ??= { sinceCommit: model.commits, by: model.operation }
}

/** The sweeper announces a queue again only if a consumer could take something and none has. */
function checkReminder({ model, before }: Commit, { record }: Snapshot, hasFree: boolean): void {
  const last = before?.record.reminder
  const { reminder } = record
  if (reminder === undefined || reminder.times === 0 || reminder.sinceMs === last?.sinceMs) return
  model.world.statistics.count('path announced again')
  if (!hasFree) model.violated('what is announced again is there', record.queue)
  const held = [...record.locks].some(
    ([lockId, { expiresAtMs }]) => expiresAtMs !== 0 && !isRetry(lockId),
  )
  if (held) model.violated('a queue at work is not announced again', record.queue)
  const isByHand = model.operation?.command.verb === 'announceWaiting'
  if (isByHand) return
  let taken = 0
  for (const { frontier } of record.lanes.values()) taken += frontier
  if (last === undefined || last.taken !== taken) {
    model.violated('only what nobody takes is announced again', record.queue)
  }
}

/**
 * A queue with nothing to pop needs its mark, or the next push would be no event. The call that empties a
 * queue sets the mark before it answers, and so does a call that finds the mark missing.
 */
export function checkLeftDry(
  { model, operation, say }: Answer<'pop'> | Answer<'purge'> | Answer<'cancel'> | Answer<'move'>,
  outcome: PopOutcome | undefined,
): void {
  const { silence, queue } = model.queue(operation.command.queue)
  if (silence === undefined) return
  const found = outcome?.kind === 'empty' && silence.sinceCommit <= operation.startedAtCommit
  if (found) say('who finds nothing leaves the mark', queue)
  if (silence.by?.id !== operation.id) return
  // The mark may fail after the answer is certain; a pop says then that one should ask again.
  const admitted = outcome?.kind === 'items' ? outcome.more : !model.world.faultFree
  if (!admitted) say('who takes the last leaves the mark', queue)
}
