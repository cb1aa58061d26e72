import type {
  DeleteCommandInput,
  DeleteCommandOutput,
  GetCommandInput,
  GetCommandOutput,
  PutCommandInput,
  PutCommandOutput,
  UpdateCommandInput,
  UpdateCommandOutput,
} from '@aws-sdk/lib-dynamodb'
import { consumedCapacity, noIndexes, readUnits } from './capacity.ts'
import type { Database } from './database.ts'
import {
  conditionFailed,
  throughputExceeded,
  transactionConflict,
  validationError,
} from './errors.ts'
import { readKey } from './key.ts'
import { type PreparedWrite, planWrite, prepareDelete, preparePut, prepareUpdate } from './write.ts'

export const metadata = Object.freeze({ httpStatusCode: 200, requestId: 'simulated', attempts: 1 })

export function getItem(database: Database, input: GetCommandInput): GetCommandOutput {
  database.requireTable(input.TableName)
  const key = readKey(input.Key)
  const consistent = input.ConsistentRead === true
  if (!database.admitsRead({ ...key, index: undefined })) throw throughputExceeded()
  const row = database.table.row(key.pk, key.sk)
  const { item, size } = database.seen(row, consistent)
  const units = readUnits(size, consistent)
  database.chargeRead(units)
  const output: GetCommandOutput = { $metadata: metadata }
  if (item !== undefined) output.Item = item
  const charge = { table: units, indexes: noIndexes }
  const capacity = consumedCapacity(database.shape.name, charge, input.ReturnConsumedCapacity)
  if (capacity !== undefined) output.ConsumedCapacity = capacity
  return output
}

export function putItem(database: Database, input: PutCommandInput): PutCommandOutput {
  database.requireTable(input.TableName)
  requireReturnValues(input.ReturnValues, ['NONE'])
  const prepared = preparePut(input, database.shape, database.expressions)
  return write(database, input, prepared)
}

export function updateItem(database: Database, input: UpdateCommandInput): UpdateCommandOutput {
  database.requireTable(input.TableName)
  requireReturnValues(input.ReturnValues, ['NONE', 'ALL_NEW'])
  const prepared = prepareUpdate(input, database.expressions)
  return write(database, input, prepared)
}

export function deleteItem(database: Database, input: DeleteCommandInput): DeleteCommandOutput {
  database.requireTable(input.TableName)
  requireReturnValues(input.ReturnValues, ['NONE', 'ALL_OLD'])
  const prepared = prepareDelete(input, database.expressions)
  return write(database, input, prepared)
}

/** Only the values that PushPop uses; DynamoDB has more. */
function requireReturnValues(wanted: string | undefined, allowed: readonly string[]): void {
  if (wanted !== undefined && !allowed.includes(wanted)) {
    throw validationError(`ReturnValues can only be ${allowed.join(' or ')}`)
  }
}

function write(
  database: Database,
  input: Pick<UpdateCommandInput, 'ReturnValues' | 'ReturnConsumedCapacity'>,
  prepared: PreparedWrite,
): UpdateCommandOutput {
  const { key } = prepared
  if (database.isHeld(key)) throw transactionConflict()
  if (!database.admitsWrite(key)) throw throughputExceeded()
  const { shape } = database
  const plan = planWrite(prepared, database.stored(key), shape)
  if (plan.kind === 'refused') {
    database.chargeRefused(key, plan.current, 1)
    throw conditionFailed(prepared.returnsItemOnFailure ? plan.current.item : undefined)
  }
  const answers = { ALL_NEW: plan.next.item, ALL_OLD: plan.old.item, NONE: undefined }
  const attributes = answers[(input.ReturnValues ?? 'NONE') as keyof typeof answers]
  const charge = database.commit(key, plan, 1)
  database.stayBusy(key)
  const output: UpdateCommandOutput = { $metadata: metadata }
  if (attributes !== undefined) output.Attributes = attributes
  const capacity = consumedCapacity(shape.name, charge, input.ReturnConsumedCapacity)
  if (capacity !== undefined) output.ConsumedCapacity = capacity
  return output
}
