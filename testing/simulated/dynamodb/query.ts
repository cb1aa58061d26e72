// Query: a stretch of one partition, of the table or of an index, a page at a time.

import type { QueryCommandInput, QueryCommandOutput } from '@aws-sdk/lib-dynamodb'
import type { TableIndex } from '../../../aws/table.ts'
import { consumedCapacity, type Database, readUnits } from './database.ts'
import { throughputExceeded, validationError } from './errors.ts'
import { type KeyRange, rangeOf } from './expression/conditions.ts'
import { checkPlaceholders, expressions, readPlaceholders } from './expression/expressions.ts'
import { metadata } from './item-requests.ts'
import { compareEntries, type IndexEntry, type Row, sortedIndex } from './table.ts'
import { compareStrings, type Item, type Value } from './values.ts'
import { readKey, schemaMismatch } from './writes.ts'

/** A page ends after the row that passes this. */
const pageBytesMax = 1024 * 1024

/** One thing a query looks at, in key order, whether it comes from the table or from an index. */
interface Candidate {
  readonly item: Item | undefined
  readonly size: number
  readonly key: Item
}

interface Source {
  readonly count: number
  rangeAt(place: number): Value
  candidateAt(place: number): Candidate
  /** The first place whose entry is not before the given key. */
  placeOf(key: Item): { readonly place: number; readonly found: boolean }
}

export function query(
  database: Database,
  input: QueryCommandInput,
  sentMs = database.nowMs(),
): QueryCommandOutput {
  database.requireTable(input.TableName)
  const index = readIndex(database, input)
  const hashName = index?.partitionKey.name ?? 'pk'
  const rangeName = index?.sortKey.name ?? 'sk'
  const range = readRange(input, hashName, rangeName)
  requireKeyTypes(range, index)
  const consistent = input.ConsistentRead === true
  const target = { pk: range.hash, sk: undefined, index: index?.name }
  if (!database.admitsRead(target)) throw throughputExceeded()
  const source =
    index === undefined
      ? tableSource(database, range.hash as string, consistent, readTimes(database, input, sentMs))
      : indexSource(database, index, range.hash)
  const start = startKey(input, index)
  if (start !== undefined) requireWithin(start, range, hashName, rangeName)
  const page = readPage(source, range, input, start)
  const units = readUnits(page.bytes, consistent)
  database.chargeRead(units)

  const output: QueryCommandOutput = {
    $metadata: metadata,
    Items: page.items,
    Count: page.items.length,
    ScannedCount: page.items.length,
  }
  if (page.lastKey !== undefined) output.LastEvaluatedKey = page.lastKey
  const charge =
    index === undefined
      ? { table: units, indexes: new Map<string, number>() }
      : { table: 0, indexes: new Map([[index.name, units]]) }
  const capacity = consumedCapacity(database.shape.name, charge, input.ReturnConsumedCapacity)
  if (capacity !== undefined) output.ConsumedCapacity = capacity
  return output
}

function readIndex(database: Database, input: QueryCommandInput): TableIndex | undefined {
  if (input.Limit !== undefined && input.Limit < 1) {
    throw validationError('Limit must be greater than or equal to 1')
  }
  const name = input.IndexName
  if (name === undefined) return undefined
  const index = database.shape.indexes.find((one) => one.name === name)
  if (index === undefined) {
    throw validationError(`The table does not have the specified index: ${name}`)
  }
  if (input.ConsistentRead === true) {
    throw validationError('Consistent reads are not supported on global secondary indexes')
  }
  return index
}

function readRange(input: QueryCommandInput, hashName: string, rangeName: string): KeyRange {
  const placeholders = readPlaceholders(input)
  const { names, values } = placeholders
  if (input.KeyConditionExpression === undefined) {
    throw validationError(
      'Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.',
    )
  }
  const keys = expressions.keyCondition.get(input.KeyConditionExpression, names)
  checkPlaceholders(placeholders, [keys])
  return rangeOf(keys.meaning, values, hashName, rangeName)
}

function requireKeyTypes(range: KeyRange, index: TableIndex | undefined): void {
  const hashType = index?.partitionKey.type ?? 'S'
  const rangeType = index?.sortKey.type ?? 'S'
  requireType(range.hash, hashType)
  for (const bound of range.bounds) requireType(bound, rangeType)
}

function requireType(value: Value, type: 'S' | 'N'): void {
  if (typeof value !== (type === 'S' ? 'string' : 'number')) {
    throw validationError(
      'One or more parameter values were invalid: Condition parameter type does not match schema type',
    )
  }
  if (value === '') {
    throw validationError(
      'One or more parameter values are not valid. The AttributeValue for a key attribute cannot ' +
        'contain an empty string value.',
    )
  }
}

function startKey(input: QueryCommandInput, index: TableIndex | undefined): Item | undefined {
  const key = input.ExclusiveStartKey as Item | undefined
  if (key === undefined) return undefined
  if (index === undefined) {
    readKey(key)
    return key
  }
  const names = [...new Set(['pk', 'sk', index.partitionKey.name, index.sortKey.name])]
  if (Object.keys(key).length !== names.length || names.some((name) => key[name] === undefined)) {
    throw validationError('The provided starting key is invalid')
  }
  if (typeof key.pk !== 'string' || typeof key.sk !== 'string') throw schemaMismatch()
  return key
}

function requireWithin(start: Item, range: KeyRange, hashName: string, rangeName: string): void {
  const isWithin = start[hashName] === range.hash && range.place(start[rangeName] as Value) === 0
  if (isWithin) return
  throw validationError(
    'The provided starting key is outside query boundaries based on provided conditions',
  )
}

/** When the row at a place of so many is read: they are read in the order of the query, the last of them now. */
type ReadTimes = (place: number, count: number) => number

function readTimes(database: Database, input: QueryCommandInput, sentMs: number): ReadTimes {
  const [fromMs, nowMs] = [database.readsFromMs(sentMs), database.nowMs()]
  if (fromMs === nowMs) return () => nowMs
  const isForward = input.ScanIndexForward !== false
  return (place, count) => {
    const before = isForward ? place : count - 1 - place
    return count < 2 ? nowMs : fromMs + ((nowMs - fromMs) * before) / (count - 1)
  }
}

function tableSource(
  database: Database,
  pk: string,
  consistent: boolean,
  readMs: ReadTimes,
): Source {
  const rows = database.table.rows(pk)
  return {
    count: rows.length,
    rangeAt: (place) => (rows[place] as Row).sk,
    candidateAt: (place) => {
      const row = rows[place] as Row
      const { item, size } = database.seen(row, consistent, undefined, readMs(place, rows.length))
      return { item, size, key: { pk: row.pk, sk: row.sk } }
    },
    placeOf: (key) => {
      const sk = key.sk as string
      const place = sortedIndex(rows, (row) => compareStrings(row.sk, sk))
      return { place, found: rows[place]?.sk === sk }
    },
  }
}

function indexSource(database: Database, index: TableIndex, hash: Value): Source {
  const entries = database.table.indexEntries(index.name, hash)
  return {
    count: entries.length,
    rangeAt: (place) => (entries[place] as IndexEntry).range,
    candidateAt: (place) => {
      const entry = entries[place] as IndexEntry
      // An index moves a row by a deletion and a new entry: a page may show both of them, or neither.
      const { item } = database.seen(entry.row, false, index.name)
      const shows = database.table.entryShows(index.name, entry, item)
      return { item: shows ? entry.image : undefined, size: entry.size, key: entry.image }
    },
    placeOf: (key) => {
      const rangeValue = key[index.sortKey.name] as Value
      const [pk, sk] = [key.pk as string, key.sk as string]
      const order = (entry: IndexEntry) => compareEntries(entry, rangeValue, pk, sk)
      const place = sortedIndex(entries, order)
      const entry = entries[place]
      return { place, found: entry !== undefined && order(entry) === 0 }
    },
  }
}

interface Page {
  readonly items: Item[]
  readonly bytes: number
  readonly lastKey: Item | undefined
}

function readPage(
  source: Source,
  range: KeyRange,
  input: QueryCommandInput,
  start: Item | undefined,
): Page {
  const forward = input.ScanIndexForward !== false
  const limit = input.Limit ?? Number.POSITIVE_INFINITY
  const step = forward ? 1 : -1
  const items: Item[] = []
  let bytes = 0
  for (
    let place = firstPlace(source, range, start, forward);
    place >= 0 && place < source.count && range.place(source.rangeAt(place)) === 0;
    place += step
  ) {
    const { item, size, key } = source.candidateAt(place)
    if (item === undefined) continue
    items.push(item)
    bytes += size
    // DynamoDB does not look whether there is more.
    if (bytes > pageBytesMax || items.length >= limit) return { items, bytes, lastKey: key }
  }
  return { items, bytes, lastKey: undefined }
}

function firstPlace(
  source: Source,
  range: KeyRange,
  start: Item | undefined,
  forward: boolean,
): number {
  if (start !== undefined) {
    const { place, found } = source.placeOf(start)
    if (forward) return found ? place + 1 : place
    return place - 1
  }
  const first = (holds: (order: number) => boolean) =>
    firstWhere(source.count, (place) => holds(range.place(source.rangeAt(place))))
  return forward ? first((order) => order >= 0) : first((order) => order > 0) - 1
}

function firstWhere(count: number, holds: (place: number) => boolean): number {
  let low = 0
  let high = count
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}
