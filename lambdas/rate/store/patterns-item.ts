import type { Row } from '../../foundation/dynamo.ts'
import { patternsKey } from '../core/keys.ts'
import { noPatterns, type Patterns } from '../core/patterns.ts'
import { decodeSettings, encodeSettings, type StoredSettings } from './rate-row.ts'

type StoredPattern = StoredSettings & { readonly p: string }

/** `r`: the revision; `l`: the patterns, the longest prefix first. */
export const encodePatterns = ({ patterns, revision }: Patterns): Row => ({
  ...patternsKey,
  r: revision,
  l: patterns.map(({ prefix, settings }) => ({ p: prefix, ...encodeSettings(settings) })),
})

export function decodePatterns(row: Row | undefined): Patterns {
  if (row === undefined) return noPatterns
  const { r, l } = row as { r: number; l: readonly StoredPattern[] }
  return {
    revision: r,
    patterns: l.map((stored) => ({ prefix: stored.p, settings: decodeSettings(stored) })),
  }
}
