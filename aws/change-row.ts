// One way to change a row that a few processes share: read it, decide what it should be, and put that on condition that
// it is as it was read. It hides
//
//   races          the second to come decides again, by the row that the first one left
//   lost answers   the next look shows whether the write has landed; while it still may, another with the same condition
//                  takes its place; and if others have written since, the error says that nobody knows
//   the bound      of tries, after which an error asks the caller to come again
//
// Changes that are right however often they are made need no certainty about a lost one: they decide again.

import { isDeepStrictEqual } from 'node:util'
import type { TransactWriteCommandInput } from '@aws-sdk/lib-dynamodb'
import type { Dynamo } from './dynamo.ts'
import type { Key, Row } from './table.ts'

type RowChange<S, A> = {
  readonly key: Key
  /** Each write changes at least one of these attributes, which tell the row as it was read from any later one. */
  readonly versions: readonly string[]
  readonly attemptsMax: number
  readonly decode: (row: Row | undefined) => S
  /** `row`: what to put; absent if the row is as it should be. */
  readonly decide: (seen: S) => { readonly answer: A; readonly row?: Row }
  /** Written in one transaction with the row. */
  readonly beside?: NonNullable<TransactWriteCommandInput['TransactItems']>
  /** Called after each write, whatever became of it. */
  readonly sent?: () => void
  readonly pause?: (attempt: number) => Promise<void>
  readonly busy: (cause: unknown) => Error
  /** Absent if the change is right however often it is made. */
  readonly inDoubt?: (cause: unknown) => Error
}

/** A write whose answer was lost. */
type Lost<A> = {
  readonly before: Row | undefined
  readonly row: Row
  readonly answer: A
  readonly cause: unknown
}

export async function changeRow<S, A>(dynamo: Dynamo, change: RowChange<S, A>): Promise<A> {
  const { key, attemptsMax, decode, decide, beside, inDoubt, busy } = change
  let lost: Lost<A> | undefined
  const orInDoubt = (error: unknown): never => {
    throw lost !== undefined && inDoubt !== undefined ? inDoubt(error) : error
  }
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const before = await dynamo.get(key, true).catch(orInDoubt)
    const seen = decode(before)
    if (lost !== undefined && isDeepStrictEqual(seen, decode(lost.row))) return lost.answer
    if (lost !== undefined && !isAt(change, before, lost.before)) {
      // Others have written: if in its place, it cannot land any more; if later, we cannot tell whether it has.
      if (inDoubt !== undefined && !isAt(change, before, lost.row)) throw inDoubt(lost.cause)
      lost = undefined
    }
    const { answer, row } = decide(seen)
    if (row === undefined) return answer
    const put = { Item: row, ...asRead(change, before) }
    const sending =
      beside === undefined
        ? dynamo.put(put)
        : dynamo.transact({
            TransactItems: [{ Put: { TableName: dynamo.tableName, ...put } }, ...beside],
          })
    const written = await sending.catch(orInDoubt)
    change.sent?.()
    if (written.kind === 'done') return answer
    if (written.kind === 'unknown') lost = { before, row, answer, cause: written.cause }
    await change.pause?.(attempt)
  }
  throw lost !== undefined && inDoubt !== undefined ? inDoubt(lost.cause) : busy(lost?.cause)
}

/** Whether two rows are the same version. */
const isAt = (
  { versions }: { readonly versions: readonly string[] },
  row: Row | undefined,
  other: Row | undefined,
): boolean => versions.every((name) => isDeepStrictEqual(row?.[name], other?.[name]))

function asRead({ versions }: { readonly versions: readonly string[] }, before: Row | undefined) {
  if (before === undefined) return { ConditionExpression: 'attribute_not_exists(pk)' }
  const names: Record<string, string> = {}
  const values: Record<string, unknown> = {}
  const conditions = versions.map((name, at) => {
    names[`#${at}`] = name
    if (before[name] === undefined) return `attribute_not_exists(#${at})`
    values[`:${at}`] = before[name]
    return `#${at}=:${at}`
  })
  return {
    ConditionExpression: conditions.join(' AND '),
    ExpressionAttributeNames: names,
    ExpressionAttributeValues: values,
  }
}
