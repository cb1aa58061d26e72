import { ITEMS_PER_POP_MAX } from '../../engine/core/limits.ts'
import type { BrowsePage, BrowseRequest } from '../../engine/queues.ts'
import { present } from '../../shared/wire.ts'
import type { Target } from './target.ts'

/** Page after page, each with the cursor behind it, until `limit` items are there. */
export async function* pagesOf(
  target: Target,
  queue: string,
  { limit: most = Number.POSITIVE_INFINITY, from, ...request }: BrowseRequest,
): AsyncGenerator<BrowsePage> {
  let left = most
  let cursor = request.cursor
  while (left > 0) {
    const limit = Math.min(ITEMS_PER_POP_MAX, left)
    // The pages behind the first begin where that ended.
    const next = present({ ...request, limit, cursor, ...(cursor === undefined && { from }) })
    const page: BrowsePage = await target.browse(queue, next)
    yield page
    left -= page.items.length
    cursor = page.cursor
    if (cursor === undefined) return
  }
}
