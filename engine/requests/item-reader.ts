// Reads items from where the record says they are: in its tail, in rows, in S3, in batches. Segments and batches never
// change once written, so what a process has read stays right for ever, and we remember it, within bounds. If an item
// is not there, housekeeping has moved it since the record was read: the answer is `missing`, and the caller reads the
// record again (rule 4).

import type { Dynamo } from '../../aws/dynamo.ts'
import type { Objects } from '../../aws/objects.ts'
import { BoundedCache } from '../../shared/system.ts'
import {
  type BatchReference,
  decodeItem,
  decodeReference,
  escapedBytes,
  isReference,
  spanOf,
} from '../core/item.ts'
import { segmentPartition } from '../core/keys.ts'
import { REMEMBERED_ITEM_BYTES_MAX } from '../core/limits.ts'
import { type Lane, type QueueRecord, type Stretch, segmentOf } from '../core/record.ts'
import { BatchParts } from './batches.ts'
import {
  type Fact,
  factsOf,
  recalledRowsFrom,
  type SegmentWatch,
  sealedRows,
  segmentObject,
  unwatched,
  type Wanted,
} from './segment-rows.ts'

export type ItemsRead =
  | { readonly kind: 'read'; readonly entries: readonly string[]; readonly more: boolean }
  /** This item is not where the record says. */
  | { readonly kind: 'missing'; readonly priority: number; readonly sequence: number }

/**
 * Parts of batches that we read side by side. A large item that was pushed alone is a part by itself: without this,
 * a pop of a hundred would wait for them one after the other.
 */
const PARTS_AT_ONCE = 8

type Held = {
  /** Loads from S3 that found nothing. */
  missed: number
  readonly places: ItemPlaces
  readonly segments: BoundedCache<ReadonlyMap<number, Fact>>
  readonly parts: BoundedCache<readonly string[]>
}

/** A number that a read has come to, and how far it goes on in its lane. */
type Reading = Wanted & {
  readonly held: Held
  readonly queue: string
  readonly lane: Lane
}

export class ItemReader {
  readonly #stores: { readonly dynamo: Dynamo; readonly objects: Objects }
  readonly #watch: SegmentWatch
  readonly #batches: BatchParts
  readonly #missed = new WeakMap<QueueRecord, number>()
  readonly #segments = new PartialCache<Fact>(REMEMBERED_ITEM_BYTES_MAX / 2)
  readonly #parts = new PartialCache<string>(REMEMBERED_ITEM_BYTES_MAX / 2)

  constructor(dynamo: Dynamo, objects: Objects, watch: SegmentWatch = unwatched) {
    this.#stores = { dynamo, objects }
    this.#watch = watch
    this.#batches = new BatchParts(this.#stores, watch)
  }

  /** The record is still as it was when its items were missing, so S3 should have returned them. */
  stillThere(record: QueueRecord): void {
    this.#watch.missed(record.queue, this.#missed.get(record) ?? 0)
    this.#missed.delete(record)
  }

  /** Entries of the stretches in order, until the answer would pass `bytesMax`; one at least. */
  async read(
    record: QueueRecord,
    stretches: readonly Stretch[],
    bytesMax = Number.POSITIVE_INFINITY,
  ): Promise<ItemsRead> {
    const entries: string[] = []
    // A read keeps what it goes through, however large, so that it does not fetch anything once for each
    // item; two of each kind, because a batch may reach over a segment's end.
    const held: Held = {
      missed: 0,
      places: new ItemPlaces(record.queue),
      segments: new BoundedCache(2),
      parts: new BoundedCache(1 + PARTS_AT_ONCE),
    }
    let bytes = 0
    for (const { priority, from, to } of stretches) {
      const lane = record.lanes.get(priority)
      if (lane === undefined) return { kind: 'missing', priority, sequence: from }
      const tail = tailFacts(lane, from, to)
      for (let sequence = from; sequence < to; sequence += 1) {
        const reading = {
          held,
          queue: record.queue,
          lane,
          from: sequence,
          to,
          bytesMax: bytesMax - bytes,
        }
        // A promise for each of a hundred items takes longer than the items.
        const entry = this.#known(reading, tail) ?? (await this.#entry(reading, tail))
        if (entry === undefined) {
          this.#missed.set(record, (this.#missed.get(record) ?? 0) + held.missed)
          return { kind: 'missing', priority, sequence }
        }
        bytes += answerBytes(entry)
        if (bytes > bytesMax && entries.length > 0) return { kind: 'read', entries, more: true }
        entries.push(entry)
      }
    }
    return { kind: 'read', entries, more: false }
  }

  /** The entry, if it takes no request. */
  #known(reading: Reading, tail: ReadonlyMap<number, Fact>): string | undefined {
    const fact = this.#factAt(reading, tail, reading.from)
    if (fact === undefined || typeof fact === 'string') return fact
    return this.#inPart(reading, reading.held.places.partOf(fact))
  }

  async #entry(reading: Reading, tail: ReadonlyMap<number, Fact>): Promise<string | undefined> {
    const { held, lane, from } = reading
    const fact = this.#factAt(reading, tail, from)
    if (from >= lane.sealed) return this.#resolve(reading, tail, fact)
    const known = await this.#resolve(reading, tail, fact)
    if (known !== undefined) return known
    // We may remember a reference whose batch is gone: the item is in S3 by now.
    const key = held.places.segmentKey(lane, from)
    if (fact !== undefined) this.#segments.forget(key)
    const fresh = await this.#fetch(reading)
    if (fresh === undefined) return undefined
    held.segments.set(key, fresh)
    this.#segments.add(key, fresh, from)
    return this.#resolve(reading, tail, fresh.get(from))
  }

  /** What we know of a number without a request. */
  #factAt(reading: Reading, tail: ReadonlyMap<number, Fact>, sequence: number): Fact | undefined {
    if (sequence >= reading.lane.sealed) return tail.get(sequence)
    const key = reading.held.places.segmentKey(reading.lane, sequence)
    return reading.held.segments.get(key)?.get(sequence) ?? this.#segments.get(key, sequence)
  }

  async #resolve(
    reading: Reading,
    tail: ReadonlyMap<number, Fact>,
    fact: Fact | undefined,
  ): Promise<string | undefined> {
    if (fact === undefined || typeof fact === 'string') return fact
    const known = this.#inPart(reading, reading.held.places.partOf(fact))
    if (known !== undefined) return known
    const parts = this.#partsAhead(reading, tail, fact)
    await Promise.all(parts.map((part) => this.#readPart(reading, part)))
    return this.#inPart(reading, reading.held.places.partOf(fact))
  }

  #inPart({ held }: Reading, { key, at }: Part): string | undefined {
    return held.parts.get(key)?.[at] ?? this.#parts.get(key, at)
  }

  /** The part of this item, and those of the next items, as far as we know them and they may fit. */
  #partsAhead(reading: Reading, tail: ReadonlyMap<number, Fact>, fact: Fact): Part[] {
    const parts = new Map<string, Part>()
    let bytes = 0
    for (let n = reading.from; n < reading.to && parts.size < PARTS_AT_ONCE; n += 1) {
      const next = n === reading.from ? fact : this.#factAt(reading, tail, n)
      if (next === undefined) break
      if (typeof next === 'string') continue
      const part = reading.held.places.partOf(next)
      if (parts.has(part.key) || this.#inPart(reading, part) !== undefined) continue
      bytes += part.reference.partBytes[part.part] ?? 0
      if (parts.size > 0 && bytes > reading.bytesMax) break
      parts.set(part.key, part)
    }
    return [...parts.values()]
  }

  async #readPart({ held, queue }: Reading, { key, reference, part, at }: Part): Promise<void> {
    const entries = await this.#batches.read(queue, reference, part)
    if (entries === undefined) {
      if (reference.storage === 's3') held.missed += 1
      return
    }
    held.parts.set(key, entries)
    this.#parts.add(key, new Map(entries.entries()), at)
  }

  /** Reads at least this number from rows or S3, and others that come with it or are wanted. */
  async #fetch(reading: Reading): Promise<ReadonlyMap<number, Fact> | undefined> {
    const { queue, lane, from } = reading
    const { dynamo, objects } = this.#stores
    const segment = segmentOf(lane, from)
    const isOffloaded = lane.offloaded.from <= segment && segment < lane.offloaded.to
    if (isOffloaded && segment >= lane.recalled) {
      const load = () => segmentObject(objects, queue, lane, segment)
      const facts = await this.#watch.load(queue, load)
      if (facts === undefined) reading.held.missed += 1
      return facts
    }
    const partition = segmentPartition(queue, lane.epoch, lane.priority, segment)
    const to = Math.min(reading.to, (segment + 1) * lane.segmentSize)
    for (const consistent of [false, true]) {
      const rows = isOffloaded
        ? await recalledRowsFrom(dynamo, partition, { ...reading, to }, consistent)
        : await sealedRows(dynamo, partition, consistent)
      const facts = factsOf(rows)
      if (facts.has(from)) return facts
    }
    return undefined
  }
}

function tailFacts(lane: Lane, from: number, to: number): Map<number, Fact> {
  const facts = new Map<number, Fact>()
  let sequence = lane.sealed
  for (const entry of lane.tail) {
    if (sequence >= to) break
    const end = sequence + spanOf(entry)
    if (!isReference(entry)) {
      if (sequence >= from) facts.set(sequence, entry)
    } else {
      for (let n = Math.max(sequence, from); n < Math.min(end, to); n += 1) {
        facts.set(n, { reference: entry, index: n - sequence })
      }
    }
    sequence = end
  }
  return facts
}

/** In an answer each item also has its details: id, priority, times. */
const DETAILS_BYTES = 160

/** How many bytes of an answer an item takes. Escaping at most doubles it, so we count exactly only if it matters. */
export const answerBytes = (entry: string): number =>
  DETAILS_BYTES + (entry.length < 1_000 ? 2 * entry.length : escapedBytes(decodeItem(entry).text))

/**
 * Numbered lists (the items of a segment, or of a batch), as far as we have read them. Of a list that is
 * larger than the whole cache we keep a part, from the requested number on: a consumer that takes that item
 * takes the following ones next.
 */
export class PartialCache<T> {
  readonly #bytesMax: number
  readonly #lists: BoundedCache<ReadonlyMap<number, T>>

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
    this.#lists = new BoundedCache(bytesMax)
  }

  get(list: string, number: number): T | undefined {
    return this.#lists.get(list)?.get(number)
  }

  /** Adds to what we already know of the list. */
  add(list: string, found: ReadonlyMap<number, T>, from: number): void {
    if (found.size === 0) return
    const known = this.#lists.get(list)
    const all = known === undefined ? found : new Map([...known, ...found])
    let bytes = 0
    for (const value of all.values()) bytes += bytesOf(value)
    if (bytes <= this.#bytesMax) this.#lists.set(list, all, bytes)
    else this.#addPart(list, [...all].sort(byNumber), from)
  }

  #addPart(list: string, all: readonly (readonly [number, T])[], from: number): void {
    const kept = new Map<number, T>()
    let bytes = 0
    for (const [number, value] of [
      ...all.filter(([number]) => number >= from),
      ...all.filter(([number]) => number < from),
    ]) {
      if (bytes + bytesOf(value) > this.#bytesMax) break
      bytes += bytesOf(value)
      kept.set(number, value)
    }
    this.#lists.set(list, kept, bytes)
  }

  forget(list: string): void {
    this.#lists.delete(list)
  }
}

const byNumber = ([a]: readonly [number, unknown], [b]: readonly [number, unknown]): number => a - b

/** Strings take two bytes a character in memory, plus some for the object around them. */
const bytesOf = (value: unknown): number =>
  typeof value === 'string' ? 2 * value.length + 64 : 128

type BatchPart = {
  readonly key: string
  readonly reference: BatchReference
  readonly part: number
}

/** Where in a batch an item is. */
type Part = BatchPart & { readonly at: number }

/**
 * The names under which a read of one queue remembers segments and parts of batches. Neighbours have the same name,
 * often a hundred items in a row, so we keep the one made for the item before.
 */
export class ItemPlaces {
  readonly #queue: string
  #segment: { readonly lane: Lane; readonly number: number; readonly key: string } | undefined
  #part: (BatchPart & { readonly text: string }) | undefined

  constructor(queue: string) {
    this.#queue = queue
  }

  segmentKey(lane: Lane, sequence: number): string {
    const number = segmentOf(lane, sequence)
    const before = this.#segment
    if (before?.lane === lane && before.number === number) return before.key
    const key = `${this.#queue}/${lane.epoch}/${lane.priority}/${number}`
    this.#segment = { lane, number, key }
    return key
  }

  partOf({ reference: text, index }: Exclude<Fact, string>): Part {
    const before = this.#part?.text === text ? this.#part : undefined
    const reference = before?.reference ?? decodeReference(text)
    const part = Math.floor(index / reference.partItems)
    const at = index % reference.partItems
    if (before?.part === part) return { key: before.key, reference, part, at }
    const key = `${this.#queue}/${reference.batch}/${part}`
    this.#part = { text, key, reference, part }
    return { key, reference, part, at }
  }
}
