// Rows in key order, their sparse indexes, and the last few versions of each row.

import type { TableDefinition, TableIndex } from '../../../aws/table.ts'
import { compare, compareStrings, type Item, itemSize, type Value } from './values.ts'

export interface TableShape extends Pick<TableDefinition, 'indexes' | 'timeToLiveAttribute'> {
  readonly name: string
}

interface Version {
  readonly item: Item | undefined
  readonly size: number
  readonly supersededAtMs: number
  /** Indexes show it until then. */
  readonly inIndexesUntilMs: number
}

export interface Row {
  readonly pk: string
  readonly sk: string
  item: Item | undefined
  size: number
  readonly versions: Version[]
  /** Plain reads see this until then: a transaction has written the row a moment ago. */
  before?: { readonly item: Item | undefined; readonly size: number; readonly untilMs: number }
  /** When the row's write units are paid off (see ItemThrottle). */
  paidUpAtMs: number
  /** A plain write is at work on it until then. */
  busyUntilMs: number
}

interface Partition {
  readonly bySortKey: Map<string, Row>
  readonly sorted: Row[]
}

/** One appearance of a row in an index; its image never changes. */
export interface IndexEntry {
  readonly range: Value
  readonly row: Row
  readonly image: Item
  readonly size: number
}

class Index {
  readonly shape: TableIndex
  readonly partitions = new Map<Value, IndexEntry[]>()

  constructor(shape: TableIndex) {
    this.shape = shape
  }

  /** The index's image of an item, or undefined where the item is not in it (sparse). */
  imageOf(item: Item | undefined): Item | undefined {
    if (item === undefined) return undefined
    const { partitionKey, sortKey } = this.shape
    const hashValue = item[partitionKey.name]
    const rangeValue = item[sortKey.name]
    if (hashValue === undefined || rangeValue === undefined) return undefined
    return Object.freeze({
      pk: item.pk as Value,
      sk: item.sk as Value,
      [partitionKey.name]: hashValue,
      [sortKey.name]: rangeValue,
    })
  }

  sameEntry(a: Item | undefined, b: Item | undefined): boolean {
    if (a === b) return true
    if (a === undefined || b === undefined) return false
    const { partitionKey, sortKey } = this.shape
    return a[partitionKey.name] === b[partitionKey.name] && a[sortKey.name] === b[sortKey.name]
  }

  add(row: Row, image: Item): void {
    const { partitionKey, sortKey } = this.shape
    const hashValue = image[partitionKey.name] as Value
    let entries = this.partitions.get(hashValue)
    if (entries === undefined) {
      entries = []
      this.partitions.set(hashValue, entries)
    }
    const rangeValue = image[sortKey.name] as Value
    const at = this.place(entries, rangeValue, row)
    const present = entries[at]
    if (present?.row === row && present.range === rangeValue) return
    entries.splice(at, 0, { range: rangeValue, row, image, size: itemSize(image) })
  }

  remove(row: Row, image: Item): void {
    const { partitionKey, sortKey } = this.shape
    const entries = this.partitions.get(image[partitionKey.name] as Value)
    if (entries === undefined) return
    const rangeValue = image[sortKey.name] as Value
    const at = this.place(entries, rangeValue, row)
    const present = entries[at]
    if (present?.row === row && present.range === rangeValue) entries.splice(at, 1)
  }

  private place(entries: IndexEntry[], range: Value, row: Row): number {
    return sortedIndex(entries, (entry) => compareEntries(entry, range, row.pk, row.sk))
  }
}

export function compareEntries(entry: IndexEntry, range: Value, pk: string, sk: string): number {
  return (
    (compare(entry.range, range) as number) ||
    compareStrings(entry.row.pk, pk) ||
    compareStrings(entry.row.sk, sk)
  )
}

interface History {
  readonly versionsMax: number
  readonly keepMs: number
  readonly nowMs: () => number
  /** How long after a write of a row its indexes follow. */
  readonly indexLagMs: (row: Row) => number
}

/** Kept for reads of the past, and dropped once too old to be seen. */
type Leftover = { readonly row: Row; readonly neededUntilMs: number } & (
  | { readonly kind: 'deleted' }
  | { readonly kind: 'entry'; readonly index: Index; readonly image: Item }
)

/** Of those that no index needs any more, though a read of the past might see them. */
const leftoversMax = 1024

export class Table {
  readonly shape: TableShape
  private readonly partitions = new Map<string, Partition>()
  private readonly indexes: readonly Index[]
  private readonly withTtl = new Set<Row>()
  private readonly history: History | undefined
  private readonly leftovers: Leftover[] = []

  constructor(shape: TableShape, history: History | undefined) {
    this.shape = shape
    this.history = history
    this.indexes = shape.indexes.map((index) => new Index(index))
  }

  row(pk: string, sk: string): Row | undefined {
    return this.partitions.get(pk)?.bySortKey.get(sk)
  }

  rows(pk: string): readonly Row[] {
    return this.partitions.get(pk)?.sorted ?? []
  }

  indexEntries(indexName: string, hash: Value): readonly IndexEntry[] {
    return this.index(indexName)?.partitions.get(hash) ?? []
  }

  /** Whether a row seen as `item` appears in the index at this entry. */
  entryShows(indexName: string, entry: IndexEntry, item: Item | undefined): boolean {
    const index = this.index(indexName)
    return index?.sameEntry(index.imageOf(item), entry.image) ?? false
  }

  private index(name: string): Index | undefined {
    return this.indexes.find((index) => index.shape.name === name)
  }

  *items(): Generator<Item> {
    for (const partition of this.partitions.values()) {
      for (const row of partition.sorted) if (row.item !== undefined) yield row.item
    }
  }

  *rowsWithTtl(): Generator<Row> {
    for (const row of this.withTtl) yield row
  }

  /** The state `back` versions ago, as far as history reaches and is fresh enough. */
  seen(row: Row, back: number): { readonly item: Item | undefined; readonly size: number } {
    const { history } = this
    if (back <= 0 || history === undefined) return row
    const oldestMs = history.nowMs() - history.keepMs
    for (let step = Math.min(back, row.versions.length); step > 0; step--) {
      const version = row.versions[row.versions.length - step] as Version
      if (version.supersededAtMs >= oldestMs) return version
    }
    return row
  }

  /** The state at that time, as far as history reaches. */
  at(row: Row, ms: number): { readonly item: Item | undefined; readonly size: number } {
    return row.versions.find(({ supersededAtMs }) => supersededAtMs > ms) ?? row
  }

  /** The state that indexes have followed to. */
  indexed(row: Row): { readonly item: Item | undefined; readonly size: number } {
    const nowMs = this.history?.nowMs() ?? 0
    return row.versions.find(({ inIndexesUntilMs }) => inIndexesUntilMs > nowMs) ?? row
  }

  /** Commits a state and tells the write units of each index it moved in. */
  write(pk: string, sk: string, item: Item | undefined, size: number): ReadonlyMap<string, number> {
    const known = this.row(pk, sk)
    if (known === undefined && item === undefined) return noUnits
    const row = known ?? this.addRow(pk, sk)
    const old = row.item
    this.remember(row)
    delete row.before
    row.item = item
    row.size = size
    this.followTtl(row)
    const units = this.moveInIndexes(row, old, item)
    // Last, so that nothing the row left in an index outlives it.
    if (item === undefined) this.afterDelete(row)
    return units
  }

  private addRow(pk: string, sk: string): Row {
    let partition = this.partitions.get(pk)
    if (partition === undefined) {
      partition = { bySortKey: new Map(), sorted: [] }
      this.partitions.set(pk, partition)
    }
    const row: Row = {
      pk,
      sk,
      item: undefined,
      size: 0,
      versions: [],
      paidUpAtMs: 0,
      busyUntilMs: 0,
    }
    const at = sortedIndex(partition.sorted, (one) => compareStrings(one.sk, sk))
    partition.sorted.splice(at, 0, row)
    partition.bySortKey.set(sk, row)
    return row
  }

  private removeRow(row: Row): void {
    const partition = this.partitions.get(row.pk)
    if (partition === undefined) return
    const at = sortedIndex(partition.sorted, (one) => compareStrings(one.sk, row.sk))
    if (partition.sorted[at] !== row) return
    partition.sorted.splice(at, 1)
    partition.bySortKey.delete(row.sk)
    if (partition.sorted.length === 0) this.partitions.delete(row.pk)
  }

  private remember(row: Row): void {
    const { history } = this
    if (history === undefined) return
    const { item, size, versions } = row
    const supersededAtMs = history.nowMs()
    // Indexes follow the writes of a row in their order.
    const inIndexesUntilMs = Math.max(
      supersededAtMs + history.indexLagMs(row),
      versions.at(-1)?.inIndexesUntilMs ?? 0,
    )
    versions.push({ item, size, supersededAtMs, inIndexesUntilMs })
    const isOld = ({ inIndexesUntilMs }: Version) => inIndexesUntilMs <= supersededAtMs
    while (versions.length > history.versionsMax && isOld(versions[0] as Version)) versions.shift()
  }

  private afterDelete(row: Row): void {
    if (this.history === undefined) this.removeRow(row)
    else this.leaveBehind({ kind: 'deleted', row, neededUntilMs: neededUntilMs(row) })
  }

  private followTtl(row: Row): void {
    if (typeof row.item?.[this.shape.timeToLiveAttribute] === 'number') this.withTtl.add(row)
    else this.withTtl.delete(row)
  }

  private moveInIndexes(
    row: Row,
    old: Item | undefined,
    item: Item | undefined,
  ): ReadonlyMap<string, number> {
    let units: Map<string, number> | undefined
    for (const index of this.indexes) {
      if (unmoved(index.shape, old, item)) continue
      const before = index.imageOf(old)
      const after = index.imageOf(item)
      if (before === undefined && after === undefined) continue
      if (before !== undefined) this.leaveIndex(row, index, before)
      if (after !== undefined) index.add(row, after)
      units ??= new Map()
      units.set(index.shape.name, unitsOf(before) + unitsOf(after))
    }
    return units ?? noUnits
  }

  private leaveIndex(row: Row, index: Index, image: Item): void {
    if (this.history === undefined) index.remove(row, image)
    else {
      this.leaveBehind({ kind: 'entry', row, index, image, neededUntilMs: neededUntilMs(row) })
    }
  }

  private leaveBehind(leftover: Leftover): void {
    const { leftovers } = this
    leftovers.push(leftover)
    const nowMs = this.history?.nowMs() ?? 0
    for (let oldest = leftovers[0]; oldest !== undefined; oldest = leftovers[0]) {
      if (oldest.neededUntilMs > nowMs) return
      if (leftovers.length <= leftoversMax && this.isFresh(oldest.neededUntilMs)) return
      leftovers.shift()
      this.drop(oldest)
    }
  }

  /** Whether a read of the past may still see it. */
  private isFresh(sinceMs: number): boolean {
    const { history } = this
    return history !== undefined && sinceMs >= history.nowMs() - history.keepMs
  }

  /** What has come back and left again since then is left behind by itself. */
  private drop(leftover: Leftover): void {
    const { row } = leftover
    const past = row.versions.filter(({ inIndexesUntilMs }) => this.isFresh(inIndexesUntilMs))
    if (leftover.kind === 'deleted') {
      if (row.item === undefined && past.length === 0) this.removeRow(row)
      return
    }
    const { index, image } = leftover
    const showsAt = ({ item }: { readonly item: Item | undefined }) =>
      index.sameEntry(index.imageOf(item), image)
    if (!showsAt(row) && !past.some(showsAt)) index.remove(row, image)
  }
}

const noUnits: ReadonlyMap<string, number> = new Map()

const neededUntilMs = ({ versions }: Row): number => versions.at(-1)?.inIndexesUntilMs ?? 0

function unmoved(shape: TableIndex, old: Item | undefined, item: Item | undefined): boolean {
  if (old === undefined || item === undefined) return false
  const { partitionKey, sortKey } = shape
  return (
    old[partitionKey.name] === item[partitionKey.name] && old[sortKey.name] === item[sortKey.name]
  )
}

function unitsOf(image: Item | undefined): number {
  return image === undefined ? 0 : Math.ceil(itemSize(image) / 1024)
}

/** The first place in a sorted list whose entry is not before what is looked for. */
export function sortedIndex<T>(list: readonly T[], order: (entry: T) => number): number {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (order(list[middle] as T) < 0) low = middle + 1
    else high = middle
  }
  return low
}
