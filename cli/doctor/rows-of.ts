import type { Row } from '../../aws/dynamo.ts'
import type { Engine } from '../../engine/driver/engine.ts'

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
