import { ITEMS_PER_POP_MAX } from '../../lambdas/engine/core/limits.ts'
import type { BrowsePage } from '../../lambdas/engine/queues.ts'
import { present } from '../../lambdas/foundation/shared/present.ts'
import type { Target } from './target.ts'

/** Page after page, each with the cursor behind it, until `limit` items are there. */
export async function* pagesOf(
  target: Target,
  queue: string,
  request: {
    readonly priority?: number | undefined
    readonly cursor?: string | undefined
    readonly limit?: number | undefined
  },
): AsyncGenerator<BrowsePage> {
  let left = request.limit ?? Number.POSITIVE_INFINITY
  let cursor = request.cursor
  while (left > 0) {
    const limit = Math.min(ITEMS_PER_POP_MAX, left)
    const next = present({ limit, priority: request.priority, cursor })
    const page: BrowsePage = await target.browse(queue, next)
    yield page
    left -= page.items.length
    cursor = page.cursor
    if (cursor === undefined) return
  }
}
