import { QueueError } from '../../../foundation/errors.ts'
import { DIRECTORY_INDEX } from '../../../foundation/table.ts'
import { queueOfRecordKey, recordPrefix } from '../../core/keys.ts'
import type { Engine } from '../attempts/engine.ts'

const prefixForm = /^[A-Za-z0-9._-]{0,111}$/

export const isPrefix = (text: string): boolean => prefixForm.test(text)

export function checkPrefix(prefix: string): void {
  if (isPrefix(prefix)) return
  throw new QueueError('INVALID_PARAMETER', 'prefix must be the beginning of a queue id', {
    field: 'prefix',
  })
}

/** The queues of one shard that have this prefix, ordered by name, after the one named. */
export async function queuesIn(
  engine: Engine,
  shard: number,
  {
    prefix,
    after,
    limit,
  }: { readonly prefix: string; readonly after: string | undefined; readonly limit: number },
): Promise<string[]> {
  const low = recordPrefix(prefix)
  const past = after === undefined ? undefined : recordPrefix(after)
  // '~' sorts after every character that a queue id may contain.
  const { rows } = await engine.dynamo.query({
    IndexName: DIRECTORY_INDEX,
    KeyConditionExpression: '#s=:s AND pk BETWEEN :low AND :high',
    ExpressionAttributeNames: { '#s': 'shard' },
    ExpressionAttributeValues: {
      ':s': shard,
      // Appending a character that sorts below all those of ids turns "from" into "after".
      ':low': past === undefined ? low : `${past} `,
      ':high': `${low}~`,
    },
    Limit: limit,
  })
  return rows.map((row) => queueOfRecordKey(row.pk as string))
}
