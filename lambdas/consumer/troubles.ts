import { describeError, type Fields, type Level, type Log } from '../runtime/log.ts'
import type { Item } from './core/item.ts'
import type { Trouble } from './core/trouble.ts'

/** Logs a line for each trouble of a run, never with an item, whose contents do not belong in a log. */
export const troublesTo =
  (log: Log, queue: string) =>
  (trouble: Trouble): void => {
    const [level, message, fields] = lineOf(trouble)
    const error = 'error' in trouble ? { error: describeError(trouble.error) } : {}
    log.write(level, message, { queue, ...fields, ...error })
  }

function lineOf(trouble: Trouble): readonly [Level, string, Fields?] {
  switch (trouble.kind) {
    case 'handler':
      return ['error', 'handler failed', batch(trouble.items)]
    case 'handler-late':
      return ['warn', 'handler runs into the time limit of its function', batch(trouble.items)]
    case 'lock-lost':
      return ['warn', 'lock lost, its items come again']
    case 'answer-late':
      return ['warn', 'the lock had expired before its answer arrived']
    case 'request':
      return ['warn', trouble.what === 'pop' ? 'pop failed' : 'lock not extended yet']
    default:
      throw trouble satisfies never
  }
}

const batch = (items: readonly Item[]) => ({
  items: items.length,
  deliveries: items[0]?.deliveries,
})
