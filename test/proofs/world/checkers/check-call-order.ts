import { parseItemId } from '../../../../lambdas/engine/core/keys.ts'
import type { Answer } from './answer.ts'

/**
 * Pushes of one process that linger have their items in the order of their calls, in each lane. Answers come in
 * that order too, so the last one that we saw is the one before.
 */
export function checkCallOrder({ model, operation, value, say }: Answer<'push'>): void {
  const { writer, command, id } = operation
  for (const itemId of value.ids) {
    const { epoch, priority, sequence } = parseItemId(itemId) ?? {}
    if (sequence === undefined) continue
    const lane = `${writer} ${command.queue} ${epoch} ${priority}`
    const before = model.lastOfCalls.get(lane)
    if (before !== undefined && (sequence <= before.sequence || id < before.operation)) {
      say('the order of calls is the order of items', `${sequence} after ${before.sequence}`)
    }
    model.lastOfCalls.set(lane, { sequence, operation: id })
  }
}
