import { PATTERNS_MAX, PREFIX_CHARACTERS_MAX } from './bounds.ts'
import {
  defaultSettings,
  invalid,
  type Settings,
  type SettingsInput,
  settingsFrom,
} from './settings.ts'

/** Settings for all keys that begin so; the empty prefix is for all keys. */
export type Pattern = { readonly prefix: string; readonly settings: Settings }
export type PatternInput = { readonly prefix: string; readonly settings: SettingsInput }

export type Patterns = { readonly patterns: readonly Pattern[]; readonly revision: number }

export const noPatterns: Patterns = { patterns: [], revision: 0 }

const prefixForm = /^[A-Za-z0-9._-]*$/

/** Checked, the longest prefix first: the order in which they apply. */
export function patternsFrom(inputs: readonly PatternInput[]): Pattern[] {
  if (inputs.length > PATTERNS_MAX) {
    throw invalid('patterns', `there may be ${PATTERNS_MAX} of them, not ${inputs.length}`)
  }
  const seen = new Set<string>()
  const patterns = inputs.map(({ prefix, settings }, i) => {
    const field = `patterns[${i}].prefix`
    if (
      typeof prefix !== 'string' ||
      !prefixForm.test(prefix) ||
      prefix.length > PREFIX_CHARACTERS_MAX
    ) {
      throw invalid(
        field,
        `it must be 0 to ${PREFIX_CHARACTERS_MAX} of the characters A-Z a-z 0-9 . _ -`,
      )
    }
    if (seen.has(prefix)) throw invalid(field, `there is another pattern for "${prefix}"`)
    seen.add(prefix)
    const checked = settingsFrom(settings)
    // A process that meets a key for the first time asks shard 0, which tells of the key's own shards.
    if (checked.shards !== 1) {
      throw invalid(`patterns[${i}].shards`, 'only a key’s own configuration can split it')
    }
    return { prefix, settings: checked }
  })
  return patterns.sort((a, b) => b.prefix.length - a.prefix.length)
}

/** The settings of a key that has none of its own: of the longest prefix it begins with, or the default. */
export const settingsByPattern = ({ patterns }: Patterns, key: string): Settings =>
  patterns.find(({ prefix }) => key.startsWith(prefix))?.settings ?? defaultSettings
