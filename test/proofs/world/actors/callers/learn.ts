import type {
  BrowsePage,
  MoveResult,
  PopOutcome,
  Pushed,
  ScheduledPage,
} from '../../../../../lambdas/engine/queues.ts'
import type { Knowledge } from './knowledge.ts'
import type { Operation } from './operation.ts'

/** What callers take from an answer. */
export function learn(knowledge: Knowledge, { command, outcome }: Operation): void {
  if (outcome?.kind !== 'success') {
    // A lock that is refused for good is of no more use.
    if (outcome?.kind === 'refused' && !outcome.error.retryable) forgetNamed(knowledge, command)
    return
  }
  switch (command.verb) {
    case 'push':
      knowledge.learnIds(command.queue, (outcome.value as Pushed).ids)
      return
    case 'browse': {
      const { items } = outcome.value as BrowsePage
      knowledge.learnIds(
        command.queue,
        items.map(({ id }) => id),
      )
      return
    }
    case 'scheduled': {
      const { queue, request } = command
      const { items, cursor } = outcome.value as ScheduledPage
      knowledge.learnIds(
        queue,
        items.map(({ id }) => id),
      )
      const [last] = items.slice(-1)
      if (cursor === undefined || last === undefined) return
      knowledge.pages.push({ queue, request: { ...request, cursor }, afterId: last.id })
      return
    }
    case 'move': {
      const { queue = command.queue } = command.request
      const results = outcome.value as readonly MoveResult[]
      knowledge.learnIds(
        queue,
        results.flatMap((one) => ('newId' in one && one.newId ? [one.newId] : [])),
      )
      return
    }
    case 'pop': {
      const popped = outcome.value as PopOutcome
      if (popped.kind === 'items')
        knowledge.learnIds(
          command.queue,
          popped.items.map(({ id }) => id),
        )
      if (command.request.acknowledge !== undefined && popped.kind !== 'locked') {
        knowledge.forgetLock(command.request.acknowledge)
      }
      if (popped.kind !== 'items' || popped.lock === undefined) return
      knowledge.forgetLock(popped.lock.id)
      knowledge.learnLock({
        queue: command.queue,
        lockId: popped.lock.id,
        ids: popped.items.map(({ id }) => id),
      })
      return
    }
    case 'acknowledgeMany':
    case 'acknowledge':
    case 'release':
    case 'deadLetter':
      forgetNamed(knowledge, command)
      return
    default:
  }
}

function forgetNamed(knowledge: Knowledge, command: Operation['command']): void {
  switch (command.verb) {
    case 'acknowledge':
    case 'release':
    case 'deadLetter':
      // A part: the rest of the lock is still there to be used.
      if (command.request.ids === undefined) knowledge.forgetLock(command.request.lockId)
      return
    case 'acknowledgeMany':
      for (const lockId of command.request) knowledge.forgetLock(lockId)
      return
    default:
  }
}
