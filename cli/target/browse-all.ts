import type { BrowsePage } from '../../lambdas/engine/queues.ts'
import type { Target } from './target.ts'

/** What one call of the API takes. */
export const PAGE_MAX = 100

/** Page after page, each with the cursor behind it, until `limit` items are there. */
export async function* pagesOf(
  target: Target,
  queue: string,
  request: { readonly priority?: number; readonly cursor?: string; readonly limit?: number },
): AsyncGenerator<BrowsePage> {
  let left = request.limit ?? Number.POSITIVE_INFINITY
  let cursor = request.cursor
  while (left > 0) {
    const page: BrowsePage = await target.browse(queue, {
      limit: Math.min(PAGE_MAX, left),
      ...(request.priority !== undefined && { priority: request.priority }),
      ...(cursor !== undefined && { cursor }),
    })
    yield page
    left -= page.items.length
    cursor = page.cursor
    if (cursor === undefined) return
  }
}
