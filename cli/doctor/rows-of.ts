import type { Engine } from '../../lambdas/engine/operations/attempts/engine.ts'
import type { Row } from '../../lambdas/foundation/dynamo.ts'

/** A few more pages of a megabyte than the largest segment can have. */
const PAGES_MAX = 300

/** All rows of a partition, as they are now. */
export async function rowsOf(engine: Engine, pk: string): Promise<Row[]> {
  const rows: Row[] = []
  let from: Row | undefined
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const found = await engine.dynamo.query({
      KeyConditionExpression: 'pk=:p',
      ExpressionAttributeValues: { ':p': pk },
      ConsistentRead: true,
      ...(from !== undefined && { ExclusiveStartKey: from }),
    })
    rows.push(...found.rows)
    if (found.next === undefined) break
    from = found.next
  }
  return rows
}
