import { inOrder, type PatternOf, patternFor } from './prefixes.ts'
import {
  defaultSettings,
  invalid,
  type Settings,
  type SettingsInput,
  settingsFrom,
} from './settings.ts'

export type Pattern = PatternOf<Settings>
export type PatternInput = PatternOf<SettingsInput>

export type Patterns = { readonly patterns: readonly Pattern[]; readonly revision: number }

export const noPatterns: Patterns = { patterns: [], revision: 0 }

export const patternsFrom = (inputs: readonly PatternInput[]): Pattern[] =>
  inOrder(inputs, (settings, at) => {
    const checked = settingsFrom(settings)
    // A process that meets a key for the first time asks shard 0, which knows the key's own shards.
    if (checked.shards !== 1) {
      throw invalid(`${at}.shards`, 'only a key’s own configuration can split it')
    }
    return checked
  })

/** The settings of a key without its own: those of the longest matching prefix, or the default. */
export const settingsByPattern = ({ patterns }: Patterns, key: string): Settings =>
  patternFor(patterns, key)?.settings ?? defaultSettings
