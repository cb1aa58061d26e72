import { checkOptions } from '../lambdas/foundation/shared/known-options.ts'
import { consume } from './consume/consume.ts'
import { peek } from './option-names.ts'
import type { PeekOptions, Queue } from './queue.ts'

/** Every verb of a queue, and consume on top of them. */
export function wholeQueue<T>(verbs: Omit<Queue<T>, 'consume' | 'items'>): Queue<T> {
  const queue: Queue<T> = {
    ...verbs,
    async *items(options: PeekOptions = {}) {
      checkOptions(options, peek)
      let cursor = options.cursor
      do {
        const page = await verbs.peek({ ...options, cursor })
        yield* page.items
        cursor = page.cursor
      } while (cursor !== undefined)
    },
    consume: (handler, options) => consume(queue, handler, options),
  }
  return queue
}
