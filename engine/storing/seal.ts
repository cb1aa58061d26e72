// Seals: the tails of a record are copied to chunk rows, and its old notes to receipts; then a fenced write takes
// exactly what was copied out of the record. Appends go on meanwhile, and only add behind it. Of several sealers one
// wins, and the others stop. Rows that a lost race leaves behind are still true, and nobody deletes them before their
// time (rule 1), unless the head has passed them by then, because nobody would come for them any more.

import { type Row, unavailable } from '../../aws/dynamo.ts'
import { sealsAfter } from '../core/append.ts'
import { parseChunkSortKey } from '../core/keys.ts'
import { planNotes, planSeal, type Seal, sealed } from '../core/plan-seal.ts'
import type { QueueRecord } from '../core/record.ts'
import {
  hasOldNotes,
  mayHaveSuccessor,
  type Receipt,
  receiptRows,
  withoutSuccessorUntilMs,
} from '../core/repeated-pushes.ts'
import { attempts } from '../driver/attempts.ts'
import { act, again, answer, asStored, done } from '../driver/decision.ts'
import type { Engine } from '../driver/engine.ts'
import { chunkRows } from '../requests/segment-rows.ts'
import { deleteRows } from './keep-segments.ts'

/**
 * Copies the tails out and takes them off, until they are below their soft cap. It never backs off, because all appends
 * wait for the room it makes. Returns how many entries were sealed.
 */
export function seal(engine: Engine, seen: QueueRecord): Promise<number> {
  return sealAsPlanned(engine, seen, planSeal)
}

/** Writes the receipts of all notes, and takes these out of the record. */
export async function moveNotes(engine: Engine, seen: QueueRecord): Promise<void> {
  await sealAsPlanned(engine, seen, planNotes)
}

/**
 * Rounds of one sealer. It also seals what fills the tail again meanwhile: another sealer would only
 * collide with it. After about 0.7 s it stops; the next append to cross a line starts another sealer.
 */
const ROUNDS_MAX = 64

async function sealAsPlanned(
  engine: Engine,
  seen: QueueRecord,
  plan: (record: QueueRecord) => Seal | undefined,
): Promise<number> {
  const { queue } = seen
  let entries = 0
  const receipts: Receipts = new Set()
  const course = {
    from: asStored(seen),
    attemptsMax: ROUNDS_MAX,
    exhausted: () => entries,
  }
  return attempts<number>(engine, queue, course, ({ record }) => {
    const planned = record && plan(record)
    if (record === undefined || planned === undefined) return answer(entries)
    return act(async () => {
      const rows = rowsOf(queue, planned)
      await writeRows(engine, record, planned, rows, receipts)
      const nowMs = engine.clock.nowMs()
      const draft = sealed(record, planned)
      const change = engine.records.change(record, draft, { nowMs })
      const committed = await engine.records.commit(change, { eager: true })
      if (committed.kind === 'committed') {
        for (const part of planned.tails) entries += part.entries.length
        return again(asStored(committed.record))
      }
      const { current } = committed
      // While the store throttles, leave it to the next append that crosses a line: trying again costs units too.
      if (current !== undefined && isUnsealed(current, planned) && !engine.records.isThrottled()) {
        return again(asStored(current))
      }
      await dropLateRows(engine, queue, planned, rows, current)
      return done(entries)
    })
  })
}

/** After an append of so many bytes, which left this record: seals if it is this append's turn, or moves old notes. */
export async function sealAfter(engine: Engine, record: QueueRecord, bytes: number): Promise<void> {
  if (sealsAfter(record, bytes, engine.records.tailLimits())) return sealQuietly(engine, record)
  if (hasOldNotes(record, engine.clock.nowMs())) await quietly(engine, record, moveNotes)
}

/** The append alone decides the push's answer. If the seal fails, the next one that is due makes up for it. */
export const sealQuietly = (engine: Engine, record: QueueRecord): Promise<void> =>
  quietly(engine, record, seal)

async function quietly(
  engine: Engine,
  record: QueueRecord,
  work: (engine: Engine, record: QueueRecord) => Promise<unknown>,
): Promise<void> {
  await work(engine, record).catch((error: unknown) => {
    engine.onBackgroundError(error, { queue: record.queue, step: 'seal' })
  })
}

/** Chunk rows, by tail. */
const rowsOf = (queue: string, { tails }: Seal): Row[][] =>
  tails.map(({ lane, entries }) => chunkRows(queue, lane, entries))

/** Receipts that this seal has written: they stay true for ever, so no further round writes them again. */
type Receipts = Set<string>

/** What one BatchWriteItem takes. */
const ROWS_PER_REQUEST = 25

/** Writes the rows and receipts with all requests side by side, because every append waits for a seal. */
async function writeRows(
  engine: Engine,
  record: QueueRecord,
  { notes }: Seal,
  rows: readonly (readonly Row[])[],
  written: Receipts = new Set(),
): Promise<void> {
  const nowMs = engine.clock.nowMs()
  const idOf = ({ pk, tag, ttl }: Receipt) => `${pk} ${tag} ${ttl}`
  const receipts = receiptRows(record, notes, nowMs).filter((row) => !written.has(idOf(row)))
  const ending = receipts.filter((row) => mayHaveSuccessor(row, nowMs))
  const others = receipts.filter((row) => !ending.includes(row))
  const all: Row[] = [...rows.flat(), ...others]
  const requests = ending.map((row) => putReceipt(engine, row))
  // A process may sleep before it sends them again.
  const dynamo = engine.dynamo.until(withoutSuccessorUntilMs(others))
  for (let at = 0; at < all.length; at += ROWS_PER_REQUEST) {
    requests.push(dynamo.putMany(all.slice(at, at + ROWS_PER_REQUEST), true))
  }
  // Wait for all of them, so that none lands after the clean-up.
  for (const end of await Promise.allSettled(requests)) {
    if (end.status === 'rejected') throw end.reason
  }
  for (const row of receipts) written.add(idOf(row))
}

/** How often we send one receipt whose answers get lost. */
const PUTS_MAX = 3

/** Unless the key was pushed anew, and the receipt of that push is there. */
async function putReceipt({ dynamo }: Engine, row: Receipt): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const written = await dynamo.put({
      Item: row,
      ConditionExpression: 'attribute_not_exists(pk) OR #ttl<=:ttl',
      ExpressionAttributeNames: { '#ttl': 'ttl' },
      ExpressionAttributeValues: { ':ttl': row.ttl },
    })
    if (written.kind !== 'unknown') return
    if (attempt === PUTS_MAX) throw unavailable(written.cause)
  }
}

/** Whether the write lost to something other than a seal, so that these entries are still in their tails. */
const isUnsealed = (current: QueueRecord, { tails }: Seal): boolean =>
  tails.every(({ lane }) => {
    const now = current.lanes.get(lane.priority)
    return now?.epoch === lane.epoch && now.sealed === lane.sealed
  })

/**
 * Deletes rows of a lost race that lie behind the head by now. Housekeeping may have trimmed their
 * segment before they came, and then nobody else would delete them.
 */
async function dropLateRows(
  engine: Engine,
  queue: string,
  { tails }: Seal,
  rows: readonly (readonly Row[])[],
  refusedBy: QueueRecord | undefined,
): Promise<void> {
  // Before we delete, we must read the record; an answer without it permits nothing.
  const current = refusedBy ?? (await engine.records.read(queue))
  for (const [index, { lane }] of tails.entries()) {
    const now = current?.lanes.get(lane.priority)
    const head = now?.epoch === lane.epoch ? now.head : Number.POSITIVE_INFINITY
    const late = (rows[index] ?? []).filter((row) => parseChunkSortKey(row.sk as string).to <= head)
    if (late.length > 0) await deleteRows(engine, queue, { ...lane, head }, late)
  }
}
