// Every request works with this: the table, who may read and write it just now, and what that costs. It is where the
// simulation plugs in whatever AWS does late or only sometimes:
//
//   transaction   holds its items between its two steps (other writes are refused), and reads see its writes later
//   plain write   a transaction that meets it shortly afterwards is cancelled
//   read          may be stale, if it is not consistent; of several rows each is read at a time of its own
//   index         follows the table later, in the order of an item's writes
//   throttle      an item, or whatever is named, has no units left

import type { ConsumedCapacity, ReturnConsumedCapacity } from '@aws-sdk/client-dynamodb'
import { resourceNotFound } from './errors.ts'
import { type Row, Table, type TableShape } from './table.ts'
import { equals, type Item, type Value } from './values.ts'
import type { Key, Stored, WritePlan } from './writes.ts'

export interface Change {
  readonly pk: string
  readonly sk: string
  readonly oldItem: Item | undefined
  readonly newItem: Item | undefined
  /** If readers see it only later, from this time on: the stream shows it no earlier either. */
  readonly shownAtMs?: number | undefined
}

export interface StaleTarget {
  readonly pk: string
  readonly sk: string
  readonly index: string | undefined
}

/** An item that is read by its key, or what a query reads: a partition of the table or of an index. */
interface ReadTarget {
  readonly pk: Value
  readonly sk: string | undefined
  readonly index: string | undefined
  /** One of several in a batch: the answer has those that could be read. */
  readonly inBatch?: boolean
}

export interface DatabaseOptions {
  readonly nowMs: () => number
  /** How many versions back an eventually consistent read sees this row; 0 is current. */
  readonly staleness?: ((target: StaleTarget) => number) | undefined
  /** A version superseded longer ago than this is not seen any more. */
  readonly staleMsMax?: number | undefined
  /**
   * For how long after a transaction plain reads, even consistent ones, see one of its items as it was before: drawn
   * for each item. So two reads of two items can see half of a transaction. Conditions see all of it.
   */
  readonly settlesAfterMs?: ((key: Key) => number) | undefined
  /** How long after a write of an item the indexes follow; absent: at once. They follow the writes of an item in order. */
  readonly indexLagMs?: ((key: Key) => number) | undefined
  /** For how long after a plain write of an item a transaction that meets it is cancelled by the conflict. */
  readonly plainWriteMs?: ((key: Key) => number) | undefined
  /**
   * Rows of a page or a batch are read one after another, between the request and its answer: the share of that time
   * (0 to 1) over which they are. So an answer may have a later write of one row and not an earlier one of another.
   */
  readonly readSpread?: (() => number) | undefined
  /** Whether the partition that holds the item, or the one of an index, has no write units left just now. */
  readonly throttlesWrite?: ((key: Key) => boolean) | undefined
  readonly throttle?: ThrottleOptions | undefined
  /** Whether what is read has no read units left just now. */
  readonly throttlesRead?: ((target: ReadTarget) => boolean) | undefined
  readonly onChange?: ((change: Change) => void) | undefined
}

export interface Meter {
  writeUnits: number
  readUnits: number
  throttled: number
}

const versionsMax = 8
const staleMsMaxUnlessSaid = 2000
const nothing: Stored = Object.freeze({ item: undefined, size: 0 })

export class Database {
  readonly shape: TableShape
  readonly table: Table
  readonly meter: Meter = { writeUnits: 0, readUnits: 0, throttled: 0 }
  readonly nowMs: () => number
  /** Items that a transaction holds. */
  private readonly held = new Set<string>()
  /** When plain reads see all that transactions have written. */
  settledAtMs = 0
  private readonly settlesAfterMs: DatabaseOptions['settlesAfterMs']
  private readonly staleness: DatabaseOptions['staleness']
  private readonly plainWriteMs: DatabaseOptions['plainWriteMs']
  private readonly readSpread: DatabaseOptions['readSpread']
  private readonly throttle: ItemThrottle | undefined
  private readonly throttlesWrite: DatabaseOptions['throttlesWrite']
  private readonly throttlesRead: DatabaseOptions['throttlesRead']
  private readonly onChange: DatabaseOptions['onChange']

  constructor(shape: TableShape, options: DatabaseOptions) {
    const { nowMs, staleness, throttle, indexLagMs } = options
    this.shape = shape
    this.nowMs = nowMs
    this.staleness = staleness
    this.settlesAfterMs = options.settlesAfterMs
    this.plainWriteMs = options.plainWriteMs
    this.readSpread = options.readSpread
    this.throttlesWrite = options.throttlesWrite
    this.onChange = options.onChange
    this.throttlesRead = options.throttlesRead
    this.throttle = throttle === undefined ? undefined : new ItemThrottle(throttle, nowMs)
    const history = {
      versionsMax,
      keepMs: options.staleMsMax ?? staleMsMaxUnlessSaid,
      nowMs,
      indexLagMs: indexLagMs ?? (() => 0),
    }
    const pasts = [staleness, indexLagMs, options.settlesAfterMs, options.readSpread]
    const keepsHistory = pasts.some((one) => one !== undefined)
    this.table = new Table(shape, keepsHistory ? history : undefined)
  }

  requireTable(name: string | undefined): void {
    if (name !== this.shape.name) throw resourceNotFound()
  }

  stored(key: Key): Stored {
    return this.table.row(key.pk, key.sk) ?? nothing
  }

  /** A row as a read sees it. */
  seen(row: Row | undefined, consistent: boolean, index?: string, atMs?: number): Stored {
    if (row === undefined) return nothing
    const indexed = index === undefined ? row : this.table.indexed(row)
    if (indexed !== row) return indexed
    if (row.before !== undefined && this.nowMs() < row.before.untilMs) return row.before
    const current = atMs === undefined ? row : this.table.at(row, atMs)
    if (consistent || this.staleness === undefined || current !== row) return current
    const back = this.staleness({ pk: row.pk, sk: row.sk, index })
    return this.table.seen(row, back)
  }

  /** From when on rows are read for a request that was sent at that time. */
  readsFromMs(sentMs: number): number {
    const nowMs = this.nowMs()
    return nowMs - Math.max(0, nowMs - sentMs) * (this.readSpread?.() ?? 0)
  }

  isHeld(key: Key): boolean {
    return this.held.size > 0 && this.held.has(nameOf(key))
  }

  /** Until the returned function is called every other write of these items is refused. */
  hold(keys: readonly Key[]): () => void {
    const names = keys.map(nameOf)
    for (const name of names) this.held.add(name)
    return () => {
      for (const name of names) this.held.delete(name)
    }
  }

  /** A plain write of it was applied a moment ago. */
  isBusy({ pk, sk }: Key): boolean {
    return (
      this.plainWriteMs !== undefined && (this.table.row(pk, sk)?.busyUntilMs ?? 0) > this.nowMs()
    )
  }

  /** A plain write of it was applied. */
  stayBusy(key: Key): void {
    if (this.plainWriteMs === undefined) return
    const row = this.table.row(key.pk, key.sk)
    if (row !== undefined) row.busyUntilMs = this.nowMs() + this.plainWriteMs(key)
  }

  admitsWrite(key: Key): boolean {
    const isThrottled =
      this.throttlesWrite?.(key) === true ||
      this.throttle?.admits(this.table.row(key.pk, key.sk)) === false
    if (!isThrottled) return true
    this.meter.throttled++
    return false
  }

  admitsRead(target: ReadTarget): boolean {
    if (this.throttlesRead?.(target) !== true) return true
    this.meter.throttled++
    return false
  }

  /**
   * Carries out what was planned, for `times` the plain price: a transaction writes each item
   * twice, but an index, which follows the table later, only once. Readers see what a transaction has
   * written only later, item by item.
   */
  commit(key: Key, plan: Extract<WritePlan, { readonly kind: 'write' }>, times: 1 | 2): Charge {
    const { old, next } = plan
    // The write changes the row, which this may be.
    const { item: oldItem, size: oldSize } = old
    const before = { item: oldItem, size: oldSize }
    const units = writeUnits(oldSize, next.size) * times
    const moved = next === old ? noIndexes : this.table.write(key.pk, key.sk, next.item, next.size)
    const charge = { table: units, indexes: moved }
    this.chargeWrite(key, charge)
    const shownAtMs = times === 2 && next !== old ? this.settleLater(key, before) : undefined
    if (this.onChange !== undefined && !sameItem(oldItem, next.item)) {
      this.onChange({ pk: key.pk, sk: key.sk, oldItem, newItem: next.item, shownAtMs })
    }
    return charge
  }

  /** Returns when all readers see it, if not at once. */
  private settleLater(key: Key, { item, size }: Stored): number | undefined {
    const ms = this.settlesAfterMs?.(key) ?? 0
    const row = this.table.row(key.pk, key.sk)
    if (ms <= 0 || row === undefined) return undefined
    const untilMs = this.nowMs() + ms
    row.before = { item, size, untilMs }
    this.settledAtMs = Math.max(this.settledAtMs, untilMs)
    return untilMs
  }

  chargeRefused(key: Key, current: Stored, times: 1 | 2): void {
    const units = writeUnits(current.size, 0) * times
    this.chargeWrite(key, { table: units, indexes: noIndexes })
  }

  chargeRead(units: number): void {
    this.meter.readUnits += units
  }

  /** Time to live costs nothing and is not throttled. */
  expire(row: Row): void {
    const { pk, sk, item } = row
    this.table.write(pk, sk, undefined, 0)
    this.onChange?.({ pk, sk, oldItem: item, newItem: undefined })
  }

  private chargeWrite(key: Key, charge: Charge): void {
    this.meter.writeUnits += totalUnits(charge)
    this.throttle?.charge(this.table.row(key.pk, key.sk), charge.table)
  }
}

const nameOf = ({ pk, sk }: Key): string => JSON.stringify([pk, sk])

function sameItem(a: Item | undefined, b: Item | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && equals(a, b))
}

/**
 * One item takes so many write units a second. A request is admitted while the item's earlier
 * writes are paid off, whatever it will cost itself; then time pays for it. With a burst of 0 the
 * writes of an item are spread evenly, with one of 1,000 a second's worth may come at once.
 */
interface ThrottleOptions {
  readonly writeUnitsPerSecond: number
  readonly burstUnits: number
}

class ItemThrottle {
  private readonly msPerUnit: number
  private readonly burstMs: number
  private readonly nowMs: () => number

  constructor(options: ThrottleOptions, nowMs: () => number) {
    this.msPerUnit = 1000 / options.writeUnitsPerSecond
    this.burstMs = options.burstUnits * this.msPerUnit
    this.nowMs = nowMs
  }

  admits(row: Row | undefined): boolean {
    return row === undefined || row.paidUpAtMs - this.burstMs <= this.nowMs()
  }

  charge(row: Row | undefined, units: number): void {
    if (row === undefined) return
    row.paidUpAtMs = Math.max(row.paidUpAtMs, this.nowMs()) + units * this.msPerUnit
  }
}

const writeUnitBytes = 1024
const readUnitBytes = 4096

export function writeUnits(oldSize: number, newSize: number): number {
  return Math.max(1, Math.ceil(Math.max(oldSize, newSize) / writeUnitBytes))
}

export function readUnits(bytes: number, consistent: boolean): number {
  return Math.max(1, Math.ceil(bytes / readUnitBytes)) * (consistent ? 1 : 0.5)
}

export interface Charge {
  readonly table: number
  readonly indexes: ReadonlyMap<string, number>
}

/** Units of no index. */
export const noIndexes: ReadonlyMap<string, number> = new Map()

function totalUnits(charge: Charge): number {
  let total = charge.table
  for (const units of charge.indexes.values()) total += units
  return total
}

export function addCharges(charges: readonly Charge[]): Charge {
  let table = 0
  const indexes = new Map<string, number>()
  for (const charge of charges) {
    table += charge.table
    for (const [name, units] of charge.indexes) indexes.set(name, (indexes.get(name) ?? 0) + units)
  }
  return { table, indexes }
}

export function consumedCapacity(
  tableName: string,
  charge: Charge,
  wanted: ReturnConsumedCapacity | undefined,
): ConsumedCapacity | undefined {
  if (wanted === undefined || wanted === 'NONE') return undefined
  const total = { TableName: tableName, CapacityUnits: totalUnits(charge) }
  if (wanted === 'TOTAL') return total
  const table = { CapacityUnits: charge.table }
  if (charge.indexes.size === 0) return { ...total, Table: table }
  const indexes: Record<string, { CapacityUnits: number }> = {}
  for (const [name, units] of charge.indexes) indexes[name] = { CapacityUnits: units }
  return { ...total, Table: table, GlobalSecondaryIndexes: indexes }
}
