import type { Row } from '../../foundation/dynamo.ts'
import { queuePatternsKey, shardOf } from '../core/keys.ts'
import { noQueuePatterns, type QueuePatterns } from '../core/queue-patterns.ts'
import {
  decodeConfiguration,
  encodeConfiguration,
  type StoredConfiguration,
} from '../core/stored-configuration.ts'

/** How far the walk has come that applies the patterns to queues which are there. */
export type PatternsWalk = {
  readonly shard: number
  readonly after?: string
}

/** The patterns, and what the sweeper knows of them. */
export type QueuePatternsRow = QueuePatterns & {
  /** When the sweeper walks, or goes on walking; absent once nothing is left to do. */
  readonly walkAtMs?: number
  /** Where it goes on; absent before it has begun. */
  readonly walk?: PatternsWalk
  /** Walks done since the patterns changed. */
  readonly walks: number
  /** The hash of what a deployment brought last. */
  readonly deployed?: string
  /** Of the call that put them: decides a lost answer. */
  readonly mark: string
}

type StoredPattern = Omit<StoredConfiguration, 'v' | 's' | 'r'> & { readonly p: string }

type Stored = {
  readonly r: number
  readonly l: readonly StoredPattern[]
  readonly checkAt?: number
  readonly w?: PatternsWalk
  readonly n?: number
  readonly h?: string
  readonly m: string
}

const noRow: QueuePatternsRow = { ...noQueuePatterns, walks: 0, mark: '' }

/** With a shard and a `checkAt` the row is met by the sweeper like a queue whose time has come. */
export const encodeQueuePatterns = (
  { revision, patterns }: QueuePatterns,
  {
    walkAtMs,
    deployed,
    mark,
  }: {
    readonly walkAtMs: number
    readonly deployed: string | undefined
    readonly mark: string
  },
): Row => ({
  ...queuePatternsKey,
  shard: shardOf(queuePatternsKey.pk),
  checkAt: walkAtMs,
  r: revision,
  m: mark,
  l: patterns.map(({ prefix, settings }) => {
    const { v: _, ...stored } = encodeConfiguration({
      ...settings,
      revision: 0,
      source: { from: 'queue' },
    })
    return { p: prefix, ...stored }
  }),
  ...(deployed !== undefined && { h: deployed }),
})

export function decodeQueuePatterns(row: Row | undefined): QueuePatternsRow {
  if (row === undefined) return noRow
  const { r, l, checkAt, w, n = 0, h, m } = row as Stored
  return {
    revision: r,
    patterns: l.map(({ p, ...stored }) => {
      const { revision: _, source: __, ...settings } = decodeConfiguration({ v: 0, ...stored })
      return { prefix: p, settings }
    }),
    ...(checkAt !== undefined && { walkAtMs: checkAt }),
    ...(w !== undefined && { walk: w }),
    walks: n,
    mark: m,
    ...(h !== undefined && { deployed: h }),
  }
}
