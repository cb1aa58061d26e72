import { parseItemId } from '../../../../lambdas/engine/core/keys.ts'
import type { BrowsePage, QueueState } from '../../../../lambdas/engine/queues.ts'
import type { CommandOf } from '../command.ts'
import type { Operation } from '../operation.ts'
import type { Say } from './check-answer.ts'
import type { Model } from './model.ts'

/** Every item shown was pushed, is where its id says, and comes in the order of pops. */
export function checkBrowsed(
  model: Model,
  { command, startedAtCommit }: Operation<CommandOf<'browse'>>,
  value: unknown,
  say: Say,
): void {
  let lastPriority = -1
  let lastSequence = -1
  for (const { id, text, priority } of (value as BrowsePage).items) {
    const place = parseItemId(id)
    const known = place && model.log(command.queue, place.epoch, place.priority)
    const item = place && known?.places[place.sequence]
    if (place === undefined || item?.item.text !== text) {
      say('nothing is shown that was not pushed', `${text} as ${id}`)
      return
    }
    const inOrder =
      priority > lastPriority || (priority === lastPriority && place.sequence > lastSequence)
    if (!inOrder) say('items are shown in the order of pops', `${id}`)
    lastPriority = priority
    lastSequence = place.sequence
    const { fate, settledAtCommit } = item.record
    if (fate !== undefined && (settledAtCommit ?? 0) <= startedAtCommit) {
      model.world.statistics.count('browsed what had just left')
    }
  }
}

/** A consistent answer's parts belong together. */
export function checkInspected(
  _model: Model,
  { command }: Operation<CommandOf<'inspect'>>,
  value: unknown,
  say: Say,
): void {
  const state = value as QueueState
  const inLanes = state.lanes.reduce((sum, { count }) => sum + count, 0)
  if (state.queue !== command.queue) say('inspect answers its queue', state.queue)
  if (inLanes !== state.count || state.lockedCount > state.count) {
    say(
      'counts belong together',
      `${state.count} in all, ${inLanes} in lanes, ${state.lockedCount} locked`,
    )
  }
}
