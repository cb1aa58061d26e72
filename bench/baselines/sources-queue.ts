// The sources' algorithm (segmented-queue.txt, message-acknowledgement.txt): metadata and segments
// of 100 items, both read and written whole by each operation, without an actor framework to keep
// others out. So the metadata carry a version, each operation is one transaction on the condition
// that it is still the one read (Dapr's state manager saves both keys in a transaction too), and
// the loser of a race reads again after a random, growing pause. Both rows are read at once; since
// two reads are not a snapshot, a segment's row has the version too, and the transaction compares it.

import { randomBytes } from 'node:crypto'
import { BatchGetCommand, TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import type { Store } from '../bench.ts'
import { isCancelled } from '../metering/failed-write.ts'

const SEGMENT_SIZE = 100

type Metadata = {
  readonly version: number
  readonly count: number
  readonly head_segment: number
  readonly tail_segment: number
  readonly _active_lock?: {
    readonly lock_id: string
    readonly items: readonly string[]
    readonly expires_at: number
  }
}
type Segment = {
  readonly number: number
  readonly version: number
  readonly items: readonly string[]
}
type Change = { readonly metadata: Metadata; readonly segment?: Segment }
type Decision<T> = { readonly change?: Change; readonly answer: T }

const empty: Metadata = { version: 0, count: 0, head_segment: 0, tail_segment: 0 }

type SourcesQueue = {
  push(text: string): Promise<void>
  popWithAck(): Promise<{ readonly items: readonly string[]; readonly lockId: string } | undefined>
  acknowledge(lockId: string): Promise<void>
}

export function createSourcesQueue(store: Store, queue: string): SourcesQueue {
  // An actor knows its pointers from its last operation; the read decides whether they still hold.
  let known = empty
  const metadataKey = { pk: `sources#${queue}`, sk: 'metadata' }
  const segmentKey = (number: number) => ({ pk: `sources#${queue}`, sk: `seg_${number}` })

  async function read(pointer: 'head_segment' | 'tail_segment') {
    for (;;) {
      const wanted = known[pointer]
      const rows = await get([metadataKey, segmentKey(wanted)])
      const metadata = (rows.find((row) => row.sk === 'metadata')?.state ?? empty) as Metadata
      known = metadata
      if (metadata[pointer] !== wanted) continue
      const { version = 0, items = [] } = rows.find((row) => row.sk !== 'metadata') ?? {}
      return { metadata, segment: { number: wanted, version, items } as Segment }
    }
  }

  async function get(keys: readonly object[]) {
    const request = { Keys: keys as Record<string, unknown>[], ConsistentRead: true }
    const answer = (await store.dynamodb.send(
      new BatchGetCommand({ RequestItems: { [store.tableName]: request } }),
    )) as { Responses?: Record<string, Record<string, unknown>[]> }
    return answer.Responses?.[store.tableName] ?? []
  }

  async function save(seen: Metadata, { metadata, segment }: Change): Promise<boolean> {
    const version = seen.version + 1
    const state = { ...metadata, version }
    const entries = [writeIfSeen(metadataKey, seen.version, { version, state })]
    if (segment !== undefined) {
      const { number, items } = segment
      const row = items.length === 0 ? undefined : { version, items }
      entries.push(writeIfSeen(segmentKey(number), segment.version, row))
    }
    try {
      await store.dynamodb.send(new TransactWriteCommand({ TransactItems: entries }))
      known = state
      return true
    } catch (error) {
      if (isCancelled(error)) return false
      throw error
    }
  }

  function writeIfSeen(key: object, seenVersion: number, row: object | undefined) {
    const common = {
      TableName: store.tableName,
      ...(seenVersion === 0
        ? { ConditionExpression: 'attribute_not_exists(pk)' }
        : {
            ConditionExpression: 'version = :seen',
            ExpressionAttributeValues: { ':seen': seenVersion },
          }),
    }
    return row === undefined
      ? { Delete: { ...common, Key: { ...key } } }
      : { Put: { ...common, Item: { ...key, ...row } } }
  }

  /** One operation: read, decide and save, again each time another caller was first. */
  async function operate<T>(
    pointer: 'head_segment' | 'tail_segment',
    decide: (metadata: Metadata, segment: Segment) => Decision<T>,
  ): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      const { metadata, segment } = await read(pointer)
      const { change, answer } = decide(metadata, segment)
      if (change === undefined || (await save(metadata, change))) return answer
      await store.delay.wait(Math.random() * Math.min(100, 5 * 2 ** attempt))
    }
  }

  return {
    push: (text) =>
      operate('tail_segment', (metadata, tail) => {
        const segment =
          tail.items.length < SEGMENT_SIZE
            ? { ...tail, items: [...tail.items, text] }
            : { number: tail.number + 1, version: 0, items: [text] }
        return {
          change: {
            metadata: { ...metadata, tail_segment: segment.number, count: metadata.count + 1 },
            segment,
          },
          answer: undefined,
        }
      }),

    popWithAck: () =>
      operate('head_segment', (metadata, head) => {
        const [first, ...rest] = head.items
        if (first === undefined || metadata._active_lock !== undefined) return { answer: undefined }
        const lockId = randomBytes(8).toString('base64url')
        const _active_lock = { lock_id: lockId, items: [first], expires_at: Date.now() + 30_000 }
        const head_segment =
          head.number + (rest.length === 0 && head.number < metadata.tail_segment ? 1 : 0)
        return {
          change: {
            metadata: { ...metadata, count: metadata.count - 1, head_segment, _active_lock },
            segment: { ...head, items: rest },
          },
          answer: { items: [first], lockId },
        }
      }),

    async acknowledge(lockId) {
      for (;;) {
        const [row] = await get([metadataKey])
        const seen = row?.state as Metadata
        if (seen._active_lock?.lock_id !== lockId) throw new Error('The lock is gone')
        const { _active_lock: _, ...metadata } = seen
        if (await save(seen, { metadata })) return
      }
    },
  }
}
