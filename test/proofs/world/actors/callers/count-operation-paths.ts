import type { PopOutcome } from '../../../../../lambdas/engine/queues.ts'
import type { World } from '../../harness/world.ts'
import type { Operation } from './operation.ts'

/** Ways to use a verb that the record does not show. */
export function countOperationPaths(
  { statistics }: World,
  { command, outcome, effects }: Operation,
): void {
  if (outcome?.kind !== 'success') return
  const count = (path: string): void => statistics.count(`path ${path}`)
  switch (command.verb) {
    case 'push':
      if (command.request.idempotencyKey !== undefined && effects.appended === 0) {
        count('repeated push by key')
      }
      return
    case 'pop': {
      const { kind } = outcome.value as PopOutcome
      if (effects.takes.length > 0 && effects.settledByLock.size > 0) count('combined acknowledge')
      if (effects.takes.length === 0 && kind === 'items') count('repeated pop by key')
      return
    }
    case 'acknowledge':
      if (command.request.ids !== undefined && effects.settledByLock.size > 0) {
        count('part acknowledged')
      }
      return
    case 'release':
      if (command.request.ids !== undefined && effects.releasedByLock.size > 0) {
        count('partly released')
      }
      return
    case 'extend':
      if (effects.extended.size > 0) count('extension')
      return
    case 'cancel':
      if (effects.takenOut.size > 0) count('cancelled')
      return
    case 'move':
      if (effects.takenOut.size > 0) count('moved')
      return
    case 'purge':
      if (effects.takenOut.size > 0) count('purged by id')
      if (effects.purged > 0) count('purge')
      return
    case 'redrive':
      if (effects.takenOut.size > 0) count('redriven by id')
      if (effects.redriven > 0) count('redriven')
      return
    default:
  }
}
