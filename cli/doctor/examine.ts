// One look at a queue, with the engine's own parts and two things that the engine never does: scanning the table and
// listing the bucket. We list the written rows and objects before we read the record, and follow what it leads to
// afterwards: so one of the two knows whatever came in between.

import { ListObjectsV2Command } from '@aws-sdk/client-s3'
import { DynamoDBDocumentClient, ScanCommand } from '@aws-sdk/lib-dynamodb'
import type { Row } from '../../aws/dynamo.ts'
import { patternsWalkKey } from '../../engine/core/keys.ts'
import { SHARDS } from '../../engine/core/limits.ts'
import { countOf } from '../../engine/core/ranges.ts'
import { type QueueRecord, segmentOf, unsettledIn } from '../../engine/core/record.ts'
import { type QueuePatterns, repatterned } from '../../engine/core/settings.ts'
import { countIn } from '../../engine/core/views.ts'
import { createEngine } from '../../engine/create-engine.ts'
import type { Engine } from '../../engine/driver/engine.ts'
import { readQueuePatterns } from '../../engine/driver/queue-settings.ts'
import { segmentRows } from '../../engine/requests/segment-rows.ts'
import { decodePatternsWalk, type PatternsWalk } from '../../engine/upkeep/apply-patterns.ts'
import type { AwsSettings, StorePlace } from '../target/place.ts'
import { storeClients } from '../target/store-target.ts'
import { contradictionsIn } from './check-record.ts'
import { checkItems, checkLater } from './check-stored.ts'
import { type Finding, ofRecord, type Stray } from './finding.ts'
import { type FoundObject, rowsOf, straysOf } from './strays.ts'

export type Examination = {
  readonly findings: readonly Finding[]
  /** Counted from the record: items that a consumer could see, and all stored ones (dead ones included). */
  readonly itemsCounted: number
  readonly itemsStored: number
  readonly itemsFound: number
  /** Items for later, in no lane yet: as the record counts them, and as many as are there, if we can tell. */
  readonly scheduledCounted: number
  readonly scheduledFound: number | undefined
  readonly exists: boolean
  /** What the doctor could not look at, in a sentence each. */
  readonly notes: readonly string[]
}

type ExamineOptions = {
  readonly scan: boolean
  readonly interrupt: AbortSignal
  onStep(step: string, done: number, total: number | undefined): void
}

export async function examine(
  surgery: Surgery,
  queue: string,
  { scan, interrupt, onStep }: ExamineOptions,
): Promise<Examination> {
  const { engine } = surgery
  const notes: string[] = []
  const objects = await listed(surgery, queue, notes)
  const rows: Row[] = []
  if (scan) {
    const onRead = (read: number) => onStep('Scanning rows', read, undefined)
    for await (const row of surgery.rows(queue, onRead)) {
      rows.push(row)
      if (interrupt.aborted) break
    }
  } else {
    notes.push('Stray rows were not looked for: --scan does so, and reads all of the table.')
  }
  const record = await engine.records.read(queue)
  const later = record && (await checkLater(engine, record, interrupt))
  const rowsAfter = [
    ...(record === undefined ? [] : await ownRows(engine, record, interrupt)),
    ...(later?.references ?? []),
  ]
  const seen = straysOf(queue, record, { rows, objects, rowsAfter }, Date.now())
  const strays = await stillThere(engine, seen)
  if (record === undefined || later === undefined) return nothing(strays, notes)
  if (later.found === undefined) {
    notes.push('Scheduled items were not recounted: they changed whenever the doctor looked.')
  }
  const onSegment = (done: number, total: number) => onStep('Reading items', done, total)
  const items = await checkItems(engine, record, onSegment, interrupt)
  return {
    findings: [
      ...contradictionsIn(record).map(ofRecord),
      ...(await checkPatterns(engine, record)),
      ...items.findings,
      ...later.findings,
      ...strays,
    ],
    itemsCounted: countIn(record),
    itemsStored: storedIn(record),
    itemsFound: items.itemsFound,
    scheduledCounted: record.scheduled.items,
    scheduledFound: later.found,
    exists: true,
    notes,
  }
}

const nothing = (findings: readonly Finding[], notes: readonly string[]): Examination => ({
  findings,
  itemsCounted: 0,
  itemsStored: 0,
  itemsFound: 0,
  scheduledCounted: 0,
  scheduledFound: 0,
  exists: false,
  notes,
})

function storedIn({ lanes }: QueueRecord): number {
  let stored = 0
  for (const lane of lanes.values()) stored += countOf(unsettledIn(lane))
  return stored
}

/** Rows of the segments that may hold something: we need their references to batches. */
async function ownRows(engine: Engine, record: QueueRecord, interrupt: AbortSignal) {
  const found: Row[] = []
  for (const lane of record.lanes.values()) {
    const last = segmentOf(lane, lane.sealed)
    for (let segment = lane.trimmed; segment <= last && !interrupt.aborted; segment += 1) {
      const rows = await segmentRows(engine.dynamo, record.queue, lane, segment, true)
      found.push(...rows.filter(({ b }) => b !== undefined))
    }
  }
  return found
}

/** Leaves out what was trimmed between the first look and the read of the record: it is gone, not a stray. */
async function stillThere(engine: Engine, strays: readonly Stray[]): Promise<Stray[]> {
  const found: Stray[] = []
  for (const stray of strays) {
    const isRow = /^[sbt]#/.test(stray.at)
    const isThere = isRow
      ? (await rowsOf(engine, stray.at)).length > 0
      : (await engine.objects.get(stray.at)) !== undefined
    if (isThere) found.push(stray)
  }
  return found
}

async function listed(surgery: Surgery, queue: string, notes: string[]): Promise<FoundObject[]> {
  const objects: FoundObject[] = []
  try {
    for await (const object of surgery.objects(queue)) objects.push(object)
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'AccessDenied') throw error
    notes.push('Stray objects were not looked for: these credentials may not list the bucket.')
    return []
  }
  return objects
}

/** The sweeper comes each minute; a walk of very many queues takes several of its runs. */
const LATE_MS = 3_600_000

/** The settings of prefixes, and the walk that brings them to the queues that are there. */
async function checkPatterns(engine: Engine, record: QueueRecord): Promise<Finding[]> {
  const patterns = await readQueuePatterns(engine)
  // Read it after the patterns, because a change asks for its walk in the same transaction.
  const walk = decodePatternsWalk(await engine.dynamo.get(patternsWalkKey, true))
  const sentences = [...wrongWalk(walk, patterns, Date.now())]
  const isOver = walk.asked === walk.noted && walk.underWay === undefined && walk.walks > 0
  const { queue, configuration } = record
  if (isOver && repatterned(configuration, patterns, queue) !== undefined) {
    sentences.push('it has no settings of its own, and not those of its prefix')
  }
  return sentences.map((sentence) => ({ kind: 'record', sentence }))
}

export function* wrongWalk(
  { asked, noted, beginMs, underWay }: PatternsWalk,
  { patterns }: Pick<QueuePatterns, 'patterns'>,
  nowMs: number,
): Generator<string> {
  if (noted > asked)
    yield `the walk of the patterns notes ${noted} changes, and there were ${asked}`
  if (patterns.length > 0 && asked === noted && beginMs === undefined && underWay === undefined) {
    yield 'there are settings of prefixes, and no walk will bring them to the queues'
  }
  if (underWay !== undefined && !(underWay.place.shard >= 0 && underWay.place.shard < SHARDS)) {
    yield `the walk of the patterns is in shard ${underWay.place.shard} of ${SHARDS}`
  }
  const dueMs = underWay?.startedMs ?? beginMs
  if (dueMs !== undefined && dueMs + LATE_MS < nowMs) {
    yield 'the walk of the patterns should have ended long ago: does the sweeper run?'
  }
}

type Surgery = {
  readonly engine: Engine
  /** All objects of a queue. */
  objects(queue: string): AsyncIterable<FoundObject>
  /**
   * Keys of all chunk and batch rows of a queue, and of rows of its scheduled items; reads, and pays for, the whole
   * table.
   */
  rows(queue: string, onRead: (rows: number) => void): AsyncIterable<Row>
  close(): void
}

export function openSurgery({ table, bucket }: StorePlace, aws: AwsSettings): Surgery {
  const { dynamodb, s3 } = storeClients(aws)
  const documents = DynamoDBDocumentClient.from(dynamodb)
  const engine = createEngine({
    tableName: table,
    bucketName: bucket,
    dynamodb,
    s3,
    random: Math.random,
    // Data that cannot be read counts as missing, and the doctor reports it.
    onBackgroundError() {},
  })
  return {
    engine,
    async *objects(queue) {
      let ContinuationToken: string | undefined
      do {
        const page = await s3.send(
          new ListObjectsV2Command({
            Bucket: bucket,
            Prefix: `${queue}/`,
            ...(ContinuationToken !== undefined && { ContinuationToken }),
          }),
        )
        for (const { Key: key, LastModified } of page.Contents ?? []) {
          if (key !== undefined) yield { key, modifiedMs: LastModified?.getTime() ?? Date.now() }
        }
        ContinuationToken = page.NextContinuationToken
      } while (ContinuationToken !== undefined)
    },
    async *rows(queue, onRead) {
      let from: Row | undefined
      let read = 0
      do {
        const page = await documents.send(
          new ScanCommand({
            TableName: table,
            ConsistentRead: true,
            ProjectionExpression: 'pk, sk, b',
            FilterExpression: 'begins_with(pk, :s) OR begins_with(pk, :b) OR begins_with(pk, :t)',
            ExpressionAttributeValues: {
              ':s': `s#${queue}#`,
              ':b': `b#${queue}#`,
              ':t': `t#${queue}#`,
            },
            ...(from !== undefined && { ExclusiveStartKey: from }),
          }),
        )
        read += page.ScannedCount ?? 0
        onRead(read)
        yield* page.Items ?? []
        from = page.LastEvaluatedKey
      } while (from !== undefined)
    },
    close() {
      dynamodb.destroy()
      s3.destroy()
    },
  }
}
