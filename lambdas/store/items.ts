import {
  type BatchReference,
  decodeItem,
  decodeReference,
  escapedBytes,
  isReference,
  spanOf,
} from '../core/entry.ts'
import { REMEMBERED_ITEM_BYTES_MAX } from '../core/limits.ts'
import { type Lane, type QueueRecord, type Stretch, segmentOf } from '../core/record.ts'
import { readBatchPart } from './batches.ts'
import { BoundedCache } from './bounded-cache.ts'
import type { Dynamo } from './dynamo.ts'
import type { Objects } from './objects.ts'
import { type Fact, factsOf, segmentObject, segmentRows } from './segments.ts'

/** In an answer each item also has its details: id, priority, times. */
const DETAILS_BYTES = 160

export type ItemsRead =
  | { readonly kind: 'read'; readonly entries: readonly string[]; readonly more: boolean }
  /** Not where the record says: it must be read again (rule 4). */
  | { readonly kind: 'missing'; readonly priority: number; readonly sequence: number }

type Held = {
  readonly segments: BoundedCache<Map<number, Fact>>
  readonly parts: BoundedCache<string[]>
}

/**
 * Reads items by where the record says they are. Segments and batches never change once written,
 * so what was read is remembered, within bounds, and is right for ever.
 */
export class ItemReader {
  readonly #stores: { readonly dynamo: Dynamo; readonly objects: Objects }
  readonly #segments = new BoundedCache<Map<number, Fact>>(REMEMBERED_ITEM_BYTES_MAX / 2)
  readonly #parts = new BoundedCache<string[]>(REMEMBERED_ITEM_BYTES_MAX / 2)

  constructor(dynamo: Dynamo, objects: Objects) {
    this.#stores = { dynamo, objects }
  }

  /** Entries of the stretches in order, until the answer would pass `bytesMax`; one at least. */
  async read(
    record: QueueRecord,
    stretches: readonly Stretch[],
    bytesMax = Number.POSITIVE_INFINITY,
  ): Promise<ItemsRead> {
    const entries: string[] = []
    // What one read goes through is kept while it does, however large, so that nothing is fetched
    // once for each item; two of each, because a batch reaches over a segment's end.
    const held: Held = { segments: new BoundedCache(2), parts: new BoundedCache(2) }
    let bytes = 0
    for (const { priority, from, to } of stretches) {
      const lane = record.lanes.get(priority)
      if (lane === undefined) return { kind: 'missing', priority, sequence: from }
      const tail = tailFacts(lane, from, to)
      for (let sequence = from; sequence < to; sequence += 1) {
        const entry = await this.#entry(held, record.queue, priority, lane, sequence, tail)
        if (entry === undefined) return { kind: 'missing', priority, sequence }
        bytes += escapedEntryBytes(entry) + DETAILS_BYTES
        if (bytes > bytesMax && entries.length > 0) return { kind: 'read', entries, more: true }
        entries.push(entry)
      }
    }
    return { kind: 'read', entries, more: false }
  }

  async #entry(
    held: Held,
    queue: string,
    priority: number,
    lane: Lane,
    sequence: number,
    tail: ReadonlyMap<number, Fact>,
  ): Promise<string | undefined> {
    if (sequence >= lane.sealed) return this.#resolve(held, queue, tail.get(sequence))
    const segment = segmentOf(lane, sequence)
    const key = `${queue}/${lane.epoch}/${priority}/${segment}`
    const facts = held.segments.get(key) ?? this.#segments.get(key)
    const known = await this.#resolve(held, queue, facts?.get(sequence))
    if (known !== undefined) return known
    // Where an item was referred to may be remembered when its batch is gone: it is in S3 by now.
    this.#segments.delete(key)
    const fresh = await this.#segment(queue, priority, lane, segment, sequence)
    if (fresh !== undefined) held.segments.set(key, fresh)
    return this.#resolve(held, queue, fresh?.get(sequence))
  }

  async #resolve(held: Held, queue: string, fact: Fact | undefined): Promise<string | undefined> {
    if (fact === undefined || typeof fact === 'string') return fact
    return this.#fromBatch(held, queue, decodeReference(fact.reference), fact.index)
  }

  async #segment(
    queue: string,
    priority: number,
    lane: Lane,
    segment: number,
    wanted: number,
  ): Promise<Map<number, Fact> | undefined> {
    const key = `${queue}/${lane.epoch}/${priority}/${segment}`
    const inS3 =
      lane.offloaded.from <= segment && segment < lane.offloaded.to && segment >= lane.recalled
    if (inS3) {
      const facts = await segmentObject(this.#stores.objects, queue, priority, lane, segment)
      return this.#remember(key, facts)
    }
    for (const consistent of [false, true]) {
      const { dynamo } = this.#stores
      const rows = await segmentRows(dynamo, queue, priority, lane, segment, consistent)
      const facts = this.#remember(key, factsOf(rows))
      if (facts?.has(wanted)) return facts
    }
    return undefined
  }

  async #fromBatch(
    held: Held,
    queue: string,
    reference: BatchReference,
    index: number,
  ): Promise<string | undefined> {
    const part = Math.floor(index / reference.partItems)
    const key = `${queue}/${reference.batch}/${part}`
    let entries = held.parts.get(key) ?? this.#parts.get(key)
    if (entries === undefined) {
      entries = await readBatchPart(this.#stores, queue, reference, part)
      if (entries === undefined) return undefined
      this.#parts.set(key, entries, bytesOf(entries))
      held.parts.set(key, entries)
    }
    return entries[index % reference.partItems]
  }

  #remember(key: string, facts: Map<number, Fact> | undefined): Map<number, Fact> | undefined {
    if (facts !== undefined && facts.size > 0) {
      this.#segments.set(key, facts, bytesOf(facts.values()))
    }
    return facts
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

/** Strings count two bytes a character in memory, and some for the object around them. */
function bytesOf(facts: Iterable<Fact>): number {
  let bytes = 0
  for (const fact of facts) bytes += typeof fact === 'string' ? 2 * fact.length + 64 : 128
  return bytes
}

/** At most twice its bytes once escaped: exact only where that could matter. */
function escapedEntryBytes(entry: string): number {
  return entry.length < 1_000 ? 2 * entry.length : escapedBytes(decodeItem(entry).text)
}
