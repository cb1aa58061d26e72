import type { Row } from '../../foundation/dynamo.ts'
import { queuePatternsKey } from '../core/keys.ts'
import { noQueuePatterns, type QueuePatterns } from '../core/queue-patterns.ts'
import {
  decodeConfiguration,
  encodeConfiguration,
  type StoredConfiguration,
} from '../core/stored-configuration.ts'

/** The patterns, and who put them. */
export type QueuePatternsRow = QueuePatterns & {
  /** The hash of the patterns that a deployment brought last. */
  readonly deployed?: string
  /** The mark of the call that put them; it decides a lost answer. */
  readonly mark: string
}

type StoredPattern = Omit<StoredConfiguration, 'v' | 's' | 'r'> & { readonly p: string }

type Stored = {
  readonly r: number
  readonly l: readonly StoredPattern[]
  readonly h?: string
  readonly m: string
}

const noRow: QueuePatternsRow = { ...noQueuePatterns, mark: '' }

export const encodeQueuePatterns = ({
  revision,
  patterns,
  deployed,
  mark,
}: QueuePatternsRow): Row => ({
  ...queuePatternsKey,
  r: revision,
  m: mark,
  l: storedPatterns(patterns),
  ...(deployed !== undefined && { h: deployed }),
})

const storedPatterns = (patterns: QueuePatterns['patterns']): StoredPattern[] =>
  patterns.map(({ prefix, settings }) => {
    const { v: _, ...stored } = encodeConfiguration({
      ...settings,
      revision: 0,
      source: { from: 'queue' },
    })
    return { p: prefix, ...stored }
  })

/** Whether both lists have the same patterns, in any order. */
export const areSamePatterns = (
  one: QueuePatterns['patterns'],
  other: QueuePatterns['patterns'],
): boolean => textOf(one) === textOf(other)

const textOf = (patterns: QueuePatterns['patterns']): string =>
  storedPatterns(patterns)
    .map((pattern) => JSON.stringify(pattern))
    .sort()
    .join()

export function decodeQueuePatterns(row: Row | undefined): QueuePatternsRow {
  if (row === undefined) return noRow
  const { r, l, h, m } = row as Stored
  return {
    revision: r,
    patterns: l.map(({ p, ...stored }) => {
      const { revision: _, source: __, ...settings } = decodeConfiguration({ v: 0, ...stored })
      return { prefix: p, settings }
    }),
    mark: m,
    ...(h !== undefined && { deployed: h }),
  }
}
