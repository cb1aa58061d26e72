import { parseItemId } from '../../../../lambdas/engine/core/keys.ts'
import type { Answer } from './answer.ts'

/** Every item shown was pushed, is where its id says, and comes in the order of pops. */
export function checkBrowsed({ model, operation, value, say }: Answer<'browse'>): void {
  const { command, startedAtCommit } = operation
  const isNewest = command.request.order === 'newest'
  let lastPriority = isNewest ? Number.POSITIVE_INFINITY : -1
  let lastSequence = isNewest ? Number.POSITIVE_INFINITY : -1
  for (const { id, text, priority } of value.items) {
    const place = parseItemId(id)
    const known = place && model.log(command.queue, place.epoch, place.priority)
    const item = place && known?.places[place.sequence]
    if (place === undefined || item?.item.text !== text) {
      say('nothing is shown that was not pushed', `${text} as ${id}`)
      return
    }
    const isAfter =
      priority > lastPriority || (priority === lastPriority && place.sequence > lastSequence)
    const isSame = priority === lastPriority && place.sequence === lastSequence
    if (isSame || isAfter === isNewest) say('items are shown in the order of pops', `${id}`)
    lastPriority = priority
    lastSequence = place.sequence
    const { fate, settledAtCommit } = item.record
    if (fate !== undefined && (settledAtCommit ?? 0) <= startedAtCommit) {
      model.world.statistics.count('browsed what had just left')
    }
  }
}

/** A consistent answer's parts belong together. */
export function checkInspected({ operation, value: state, say }: Answer<'inspect'>): void {
  const inLanes = state.lanes.reduce((sum, { count }) => sum + count, 0)
  if (state.queue !== operation.command.queue) say('inspect answers its queue', state.queue)
  const { lockedCount, waitingCount } = state
  if (inLanes !== state.count || lockedCount + waitingCount > state.count) {
    say(
      'counts belong together',
      `${state.count} in all, ${inLanes} in lanes, ${lockedCount} locked, ${waitingCount} waiting`,
    )
  }
}
