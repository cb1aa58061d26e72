// Looks at the queues with a prefix page by page, round and round. If a page fails, we ask for it again, and then for
// smaller ones, down to one queue: if its record cannot be read, the list has that queue without a count. So a page
// that always fails hides only the queue that is to blame. The only state is a place in the list.

import { QUEUES_PER_PAGE_MAX } from '../../foundation/shared/bounds.ts'
import { isDeadLetterQueue } from '../../foundation/shared/queue-id.ts'
import type { List, Look } from './look.ts'
import { mayPass } from './refusal.ts'

/** From 100 queues down to one takes four steps; each page that succeeds doubles the size again. */
const SMALLER = 4

/** The last three are for one queue alone: if they fail too, the service is in trouble, and the walk begins again. */
const TRIES_MAX = 8

export function walkList(list: List, prefix: string): () => Promise<Look> {
  let cursor: string | undefined
  let limit = QUEUES_PER_PAGE_MAX
  let failures = 0
  let failure: unknown
  const beginAgain = (): void => {
    cursor = undefined
    failures = 0
  }
  const nextPage = async (): ReturnType<List> => {
    try {
      return await list({ prefix, limit, cursor })
    } catch (error) {
      failure = error
      failures += 1
      // The same page next time: most of what fails works when it is repeated.
      if (failures > 1) limit = Math.ceil(limit / SMALLER)
      if (failures === TRIES_MAX) beginAgain()
      throw error
    }
  }
  return async () => {
    const isFirst = cursor === undefined
    try {
      const page = await nextPage()
      cursor = page.cursor
      const isToBlame = failures > 0 && page.queues.every(({ count }) => count === undefined)
      // We skip the queue, and somebody should know.
      if (isToBlame && page.queues.length > 0) throw failure
      failures = 0
      limit = Math.min(QUEUES_PER_PAGE_MAX, 2 * limit)
      const standings = page.queues.filter(({ queue }) => !isDeadLetterQueue(queue))
      return { standings, endsRound: cursor === undefined }
    } catch (error) {
      if (isFirst || mayPass(error)) throw error
      // The service may be refusing the cursor. The first page will show.
      beginAgain()
      return { standings: [], endsRound: true }
    }
  }
}
