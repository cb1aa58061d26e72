// The requests about items that their keys name: one at a time, or a batch in which each is done by itself.

import type {
  BatchGetCommandInput,
  BatchGetCommandOutput,
  BatchWriteCommandInput,
  BatchWriteCommandOutput,
  DeleteCommandInput,
  DeleteCommandOutput,
  GetCommandInput,
  GetCommandOutput,
  PutCommandInput,
  PutCommandOutput,
  UpdateCommandInput,
  UpdateCommandOutput,
} from '@aws-sdk/lib-dynamodb'
import {
  addCharges,
  type Charge,
  consumedCapacity,
  type Database,
  noIndexes,
  readUnits,
} from './database.ts'
import {
  conditionFailed,
  throughputExceeded,
  transactionConflict,
  validationError,
} from './errors.ts'
import type { Item } from './values.ts'
import {
  type Key,
  type PreparedWrite,
  planWrite,
  prepareDelete,
  preparePut,
  prepareUpdate,
  readKey,
} from './writes.ts'

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
  const prepared = preparePut(input, database.shape)
  return write(database, input, prepared)
}

export function updateItem(database: Database, input: UpdateCommandInput): UpdateCommandOutput {
  database.requireTable(input.TableName)
  requireReturnValues(input.ReturnValues, ['NONE', 'ALL_NEW'])
  const prepared = prepareUpdate(input)
  return write(database, input, prepared)
}

export function deleteItem(database: Database, input: DeleteCommandInput): DeleteCommandOutput {
  database.requireTable(input.TableName)
  requireReturnValues(input.ReturnValues, ['NONE', 'ALL_OLD'])
  const prepared = prepareDelete(input)
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

const writesMax = 25
const keysMax = 100
const batchBytesMax = 16 * 1024 * 1024

type WriteRequests = NonNullable<BatchWriteCommandInput['RequestItems']>[string]
type WriteRequest = WriteRequests[number]

export function batchWrite(
  database: Database,
  input: BatchWriteCommandInput,
): BatchWriteCommandOutput {
  const requests = oneTable(database, input.RequestItems)
  if (requests.length === 0 || requests.length > writesMax) {
    throw validationError(
      `Too many items requested for the BatchWriteItem call: between 1 and ${writesMax}`,
    )
  }
  const prepared = requests.map((request) => prepareRequest(database, request))
  refuseDuplicates(prepared.map((one) => one.key))
  const bytes = prepared.reduce(
    (sum, one) => sum + (one.change.kind === 'put' ? one.change.size : 0),
    0,
  )
  if (bytes > batchBytesMax) {
    throw validationError('Item collection size limit exceeded: 16 MB in one BatchWriteItem call')
  }

  const charges: Charge[] = []
  const unprocessed: WriteRequest[] = []
  let throttled = 0
  prepared.forEach((write, i) => {
    const { key } = write
    const plan = planWrite(write, database.stored(key), database.shape)
    const isThrottled = !database.admitsWrite(key)
    if (isThrottled) throttled += 1
    if (isThrottled || database.isHeld(key)) unprocessed.push(requests[i] as WriteRequest)
    else if (plan.kind === 'write') {
      charges.push(database.commit(key, plan, 1))
      database.stayBusy(key)
    }
  })
  if (throttled === requests.length) throw throughputExceeded()

  const { name } = database.shape
  const output: BatchWriteCommandOutput = {
    $metadata: metadata,
    UnprocessedItems: unprocessed.length === 0 ? {} : { [name]: unprocessed },
  }
  const charge = addCharges(charges)
  const capacity = consumedCapacity(name, charge, input.ReturnConsumedCapacity)
  if (capacity !== undefined) output.ConsumedCapacity = [capacity]
  return output
}

function prepareRequest(database: Database, request: WriteRequest): PreparedWrite {
  const { PutRequest, DeleteRequest } = request
  if (PutRequest !== undefined && DeleteRequest === undefined) {
    return preparePut({ Item: PutRequest.Item }, database.shape)
  }
  if (DeleteRequest !== undefined && PutRequest === undefined) {
    return prepareDelete({ Key: DeleteRequest.Key })
  }
  throw validationError('Supplied AttributeValue has more than one write request, or none')
}

export function batchGet(
  database: Database,
  input: BatchGetCommandInput,
  sentMs = database.nowMs(),
): BatchGetCommandOutput {
  const request = oneTable(database, input.RequestItems)
  const keys = (request.Keys ?? []).map(readKey)
  if (keys.length === 0 || keys.length > keysMax) {
    throw validationError(
      `Too many items requested for the BatchGetItem call: between 1 and ${keysMax}`,
    )
  }
  refuseDuplicates(keys)
  const consistent = request.ConsistentRead === true

  const items: Item[] = []
  const unprocessed: Key[] = []
  let bytes = 0
  let units = 0
  for (const key of keys) {
    if (!database.admitsRead({ ...key, index: undefined, inBatch: true })) {
      unprocessed.push(key)
      continue
    }
    const row = database.table.row(key.pk, key.sk)
    const { item, size } = database.seen(row, consistent, undefined, database.readsFromMs(sentMs))
    if (bytes + size > batchBytesMax) {
      unprocessed.push(key)
      continue
    }
    bytes += size
    units += readUnits(size, consistent)
    if (item !== undefined) items.push(item)
  }
  if (unprocessed.length === keys.length) throw throughputExceeded()
  database.chargeRead(units)

  const { name } = database.shape
  const output: BatchGetCommandOutput = {
    $metadata: metadata,
    Responses: { [name]: items },
    UnprocessedKeys: unprocessed.length === 0 ? {} : { [name]: { ...request, Keys: unprocessed } },
  }
  const charge = { table: units, indexes: noIndexes }
  const capacity = consumedCapacity(name, charge, input.ReturnConsumedCapacity)
  if (capacity !== undefined) output.ConsumedCapacity = [capacity]
  return output
}

function oneTable<T>(database: Database, requestItems: Record<string, T> | undefined): T {
  const [first, ...others] = Object.entries(requestItems ?? {})
  if (first === undefined) {
    throw validationError('The requestItems parameter is required for this batch')
  }
  const [name, requests] = first
  database.requireTable(name)
  if (others.length > 0) database.requireTable(undefined)
  return requests
}

function refuseDuplicates(keys: readonly Key[]): void {
  const seen = new Set(keys.map((key) => JSON.stringify([key.pk, key.sk])))
  if (seen.size !== keys.length) {
    throw validationError('Provided list of item keys contains duplicates')
  }
}
