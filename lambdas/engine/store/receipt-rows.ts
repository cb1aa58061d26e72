import type { PutCommandInput } from '@aws-sdk/lib-dynamodb'
import { receiptKey } from '../core/keys.ts'
import { CLOCKS_APART_SECONDS } from '../core/limits.ts'
import { decodeNote, isLongOver, isOver, placesOf, ttlOf } from '../core/notes.ts'
import type { Receipt } from '../core/receipt.ts'
import type { QueueRecord } from '../core/record.ts'

/**
 * The record's notes of these keys, as separate rows. They are true as soon as the notes are: it does not matter
 * whether the notes leave the record after that, nor which process takes them out. A key whose time was over long ago
 * gets none; only long ago, because our clock may be ahead of those of processes that ask for the key.
 */
export function receiptRows(
  record: QueueRecord,
  keyHashes: readonly string[],
  nowMs: number,
): Receipt[] {
  const rows: Receipt[] = []
  for (const keyHash of keyHashes) {
    const note = decodeNote(record.notes.get(keyHash) as string)
    const ttl = ttlOf(note)
    if (isLongOver(note, nowMs)) continue
    const places = [...placesOf(record, note)]
    rows.push({
      ...receiptKey(record.queue, keyHash),
      hash: note.bodyHash,
      tag: note.tag,
      ttl,
      ...(note.seals !== undefined && { later: [note.pushedAtMs, note.seals] as const }),
      // With only some of its lanes, nobody can make the ids of the push.
      places:
        places.length < note.places.size
          ? []
          : places.map(([priority, { epoch, start }]) => [priority, epoch, start] as const),
    })
  }
  return rows
}

/**
 * Whether somebody may push the key anew before we write this row: if the record was remembered for long, or the
 * process paused. Then the receipt of the new push must stay.
 */
export const mayHaveSuccessor = ({ ttl }: Pick<Receipt, 'ttl'>, nowMs: number): boolean =>
  isOver(ttl - CLOCKS_APART_SECONDS, nowMs)

/** Until when none of these has one. */
export const withoutSuccessorUntilMs = (rows: readonly Receipt[]): number =>
  1_000 * (Math.min(...rows.map(({ ttl }) => ttl)) - CLOCKS_APART_SECONDS)

/** The put of such a row. */
export const putUnlessSucceeded = (row: Receipt): Omit<PutCommandInput, 'TableName'> => ({
  Item: row,
  ConditionExpression: 'attribute_not_exists(pk) OR #ttl<=:ttl',
  ExpressionAttributeNames: { '#ttl': 'ttl' },
  ExpressionAttributeValues: { ':ttl': row.ttl },
})
