// Looks at the queues under a prefix page by page, round and round. A page that fails is asked for again, and then
// made smaller, down to one queue: the list gives that one without its count if its record cannot be read. So a
// page that always fails hides nothing but the queue that is to blame. All that is kept is a place in the list.

import { QUEUES_PER_PAGE_MAX } from '../../foundation/shared/bounds.ts'
import { isDeadLetterQueue } from '../../foundation/shared/queue-id.ts'
import type { List, Look } from './look.ts'
import { mayPass } from './refusal.ts'

/** From 100 queues to one in four steps; it doubles again with each page that comes. */
const SMALLER = 4

/** Three of them are for one queue alone: then the service is in trouble, and the walk begins again. */
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
      // It is passed, and somebody should know.
      if (isToBlame && page.queues.length > 0) throw failure
      failures = 0
      limit = Math.min(QUEUES_PER_PAGE_MAX, 2 * limit)
      const standings = page.queues.filter(({ queue }) => !isDeadLetterQueue(queue))
      return { standings, endsRound: cursor === undefined }
    } catch (error) {
      if (isFirst || mayPass(error)) throw error
      // It may be the cursor that is refused. The first page will tell.
      beginAgain()
      return { standings: [], endsRound: true }
    }
  }
}
