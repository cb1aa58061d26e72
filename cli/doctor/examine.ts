// One look at a queue. We list the written rows and objects before we read the record, and follow what it leads to
// afterwards: so one of the two knows whatever came in between.

import type { Row } from '../../aws/dynamo.ts'
import { countOf } from '../../engine/core/ranges.ts'
import { type QueueRecord, segmentOf, unsettledIn } from '../../engine/core/record.ts'
import { countIn } from '../../engine/core/views.ts'
import { type Engine, readRecord } from '../../engine/driver/engine.ts'
import { segmentRows } from '../../engine/requests/segment-rows.ts'
import { checkItems } from './check-items.ts'
import { checkLater } from './check-later.ts'
import { checkPatterns } from './check-patterns.ts'
import { contradictionsIn } from './check-record.ts'
import { type Finding, ofRecord, type Stray } from './finding.ts'
import { rowsOf } from './rows-of.ts'
import { straysOf } from './strays.ts'
import type { FoundObject, Surgery } from './surgery.ts'

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
  const record = await readRecord(engine, queue)
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
