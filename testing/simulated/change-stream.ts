import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import type { Change } from './dynamodb/database.ts'
import { toRawItem } from './dynamodb/raw-item.ts'

/**
 * The stream of a simulated table, as Lambda's poller reads it: give `observe` to the store as `onChange`. It keeps the
 * order of writes to one partition key, and none between shards. A record shows up some time after its write, and is
 * gone after a day, read or not. A write that changes nothing makes no record: the store does not tell of it.
 */

/** In the form in which Lambda hands it to a function, as far as ours look. */
export type ChangeRecord = {
  readonly eventID: string
  readonly eventName: 'INSERT' | 'MODIFY' | 'REMOVE'
  readonly dynamodb: {
    readonly SequenceNumber: string
    /** Whole seconds, as DynamoDB has it. */
    readonly ApproximateCreationDateTime: number
    readonly Keys: Image
    readonly OldImage?: Image
    readonly NewImage?: Image
  }
}

type Image = Readonly<Record<string, AttributeValue>>

type ChangeStreamOptions = {
  readonly nowMs: () => number
  /** How long after its write a record can be read; no record overtakes one before it in its shard. */
  readonly lagMs?: ((change: Change) => number) | undefined
  readonly shards?: number | undefined
}

type Kept = {
  readonly sequence: number
  readonly change: Change
  readonly atMs: number
  readonly shownFromMs: number
}

/** DynamoDB's own. */
const KEPT_MS = 24 * 3_600_000
const PAGE_MAX = 1_000

export class ChangeStream {
  readonly shards: number
  readonly #nowMs: () => number
  readonly #lagMs: (change: Change) => number
  readonly #kept: readonly Kept[][]
  #sequence = 0

  constructor({ nowMs, lagMs = () => 0, shards = 4 }: ChangeStreamOptions) {
    this.#nowMs = nowMs
    this.#lagMs = lagMs
    this.shards = shards
    this.#kept = Array.from({ length: shards }, () => [])
  }

  readonly observe = (change: Change): void => {
    const nowMs = this.#nowMs()
    const shard = this.#shard(this.shardOf(change.pk))
    trim(shard, nowMs)
    const shownFromMs = Math.max(nowMs + this.#lagMs(change), shard.at(-1)?.shownFromMs ?? 0)
    this.#sequence += 1
    shard.push({ sequence: this.#sequence, change, atMs: nowMs, shownFromMs })
  }

  /** Always the same for one partition key. */
  shardOf(pk: string): number {
    let hash = 0
    for (let at = 0; at < pk.length; at += 1) hash = (hash * 31 + pk.charCodeAt(at)) >>> 0
    return hash % this.shards
  }

  /** The records behind this sequence number that can be read by now, in order; from the oldest on without one. */
  read(shard: number, after = '0', max = PAGE_MAX): ChangeRecord[] {
    const nowMs = this.#nowMs()
    const kept = this.#shard(shard)
    trim(kept, nowMs)
    const seen = Number(after)
    const from = kept.findIndex(({ sequence }) => sequence > seen)
    if (from < 0) return []
    const page = kept.slice(from, from + max)
    return page.filter(({ shownFromMs }) => shownFromMs <= nowMs).map(recordOf)
  }

  /** When the next record behind this one can be read, so that nobody needs to poll. */
  nextMs(shard: number, after = '0'): number | undefined {
    return this.#shard(shard).find(({ sequence }) => sequence > Number(after))?.shownFromMs
  }

  #shard(shard: number): Kept[] {
    const kept = this.#kept[shard]
    if (kept !== undefined) return kept
    throw new Error(`Cannot read shard ${shard} because the stream has ${this.shards}`)
  }
}

function trim(kept: Kept[], nowMs: number): void {
  let old = 0
  while (old < kept.length && (kept[old] as Kept).atMs <= nowMs - KEPT_MS) old += 1
  if (old > 0) kept.splice(0, old)
}

const imageOf = (item: Change['oldItem']): Image | undefined =>
  item &&
  // As it travels: bytes are base64.
  (JSON.parse(
    JSON.stringify(toRawItem(item), (_name, value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value,
    ),
  ) as Image)

function recordOf({ sequence, change, atMs }: Kept): ChangeRecord {
  const { pk, sk } = change
  const [OldImage, NewImage] = [imageOf(change.oldItem), imageOf(change.newItem)]
  return {
    eventID: `event-${sequence}`,
    eventName: OldImage === undefined ? 'INSERT' : NewImage === undefined ? 'REMOVE' : 'MODIFY',
    dynamodb: {
      // Twenty-one digits or more on AWS.
      SequenceNumber: String(sequence).padStart(21, '0'),
      ApproximateCreationDateTime: Math.floor(atMs / 1_000),
      Keys: { pk: { S: pk }, sk: { S: sk } },
      ...(OldImage && { OldImage }),
      ...(NewImage && { NewImage }),
    },
  }
}
