import type { Row } from '../../foundation/dynamo.ts'
import { parseEpoch } from '../core/epoch.ts'
import type { RateRow } from '../core/row.ts'
import { type Settings, settingFields, settingNames, settingsOf } from '../core/setting-fields.ts'
import type { KeyConfiguration } from '../core/settings.ts'

/**
 * A row as it is stored. Names have one letter, because every write pays for the bytes of the whole row; and the
 * table's stream wakes no function for any of them.
 *   e epoch · c cursor · t the item's time · x turns given up · o overhang · k configuration · ttl
 */
type StoredRateRow = {
  readonly pk: string
  readonly sk: string
  readonly e: string
  readonly c: number
  readonly t: number
  readonly x?: number
  readonly o?: number
  readonly k?: StoredConfiguration
  readonly ttl?: number
}

/** Settings under the letters from the table of settings. */
export type StoredSettings = Readonly<Record<string, Settings[keyof Settings]>>
export type StoredConfiguration = StoredSettings & { readonly r: number }

export function decodeRateRow(row: Row): RateRow {
  const { e, c, t, x = 0, o = 0, k } = row as unknown as StoredRateRow
  return {
    epoch: parseEpoch(e),
    cursor: c,
    atMs: t,
    giveUps: x,
    overhang: o,
    configuration: k && { settings: decodeSettings(k), revision: k.r },
  }
}

export const encodeSettings = (settings: Settings): StoredSettings =>
  Object.fromEntries(settingNames.map((name) => [settingFields[name].stored, settings[name]]))

export const decodeSettings = (stored: StoredSettings): Settings =>
  settingsOf((name) => stored[settingFields[name].stored])

export const encodeConfiguration = ({
  settings,
  revision,
}: KeyConfiguration): StoredConfiguration => ({
  ...encodeSettings(settings),
  r: revision,
})
