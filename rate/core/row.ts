// What the table keeps for a rate limit: the names of its rows, the attributes of a key's row, how they are read and
// written, and when the row goes.

import type { Row } from '../../aws/dynamo.ts'
import type { Key } from '../../aws/table.ts'
import { ID_RULE, isQueueId } from '../../shared/bounds.ts'
import { CLOCKS_APART_MAX_MS, PATTERNS_KEPT_MS } from './bounds.ts'
import {
  type Epoch,
  handOver,
  type Issued,
  naturalEpoch,
  overMs,
  parseEpoch,
  type Ruling,
  windowStartMs,
} from './epoch.ts'
import {
  type KeyConfiguration,
  type Settings,
  settingFields,
  settingNames,
  settingsOf,
  unusable,
} from './settings.ts'

/** We forget an idle key after three windows, by the slowest clock; but not before each process has looked again. */
const IDLE_WINDOWS = 3

/** A rate limit's key is spelled like a queue id. */
export function checkRateKey(key: unknown): void {
  if (isQueueId(key)) return
  throw unusable('key', `it must be ${ID_RULE}`)
}

/** `push~orders`: the key that guards a queue's pushes. No caller can name it: ids have no `~`. */
export const guardKey = (verb: 'push' | 'pop', queue: string): string => `${verb}~${queue}`

/** `r#user-123#0` / `rate`: a key's row, or one shard's of it. */
export const rowKey = (key: string, shard: number): Key => ({ pk: `r#${key}#${shard}`, sk: 'rate' })

/** `r#` / `patterns`: the limits of prefixes, all in one item. No key is empty, so none is this. */
export const patternsKey: Key = { pk: 'r#', sk: 'patterns' }

/** `r#` / `secret`: what tickets are signed with. */
export const secretKey: Key = { pk: 'r#', sk: 'secret' }

/**
 * Everything that we store about a key, or about one of its shards:
 *
 *   absent ── first request ──▶ cursor in the window that is now
 *   cursor ── taken ──▶ cursor + cost ── window over, request ──▶ cursor of the window that is now
 *   epoch ── other rules ──▶ the next epoch, from the last promise on
 *   last ── its turn given up ──▶ cursor − cost, giveUps + 1
 *   idle for three windows, and a while ── TTL ──▶ absent (a configured row stays)
 */
export type RateRow = Issued & {
  /** The item's time: the start of the latest window by any clock that wrote. Never goes back. */
  readonly atMs: number
  /** How many turns were given back. A ticket names the count at its issue. */
  readonly giveUps: number
  /** The key's own settings, on the row of its first shard: every writer there reads them. */
  readonly configuration: KeyConfiguration | undefined
}

/**
 * Three windows after the last one that may have been promised, by the slowest clock: a process that makes the row
 * anew after that is sure to begin after all earlier promises. And no process remembers settings for longer than that,
 * so none makes the row anew by settings that it was told to forget.
 */
export function ttlSeconds(epoch: Epoch, lastPosition: number): number {
  const idleMs = Math.max(IDLE_WINDOWS * epoch.rules.windowMs, PATTERNS_KEPT_MS)
  const forgetMs = overMs(epoch, Math.max(0, lastPosition), 1) + idleMs + CLOCKS_APART_MAX_MS
  return Math.ceil(forgetMs / 1_000)
}

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
type StoredConfiguration = StoredSettings & { readonly r: number }

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

/** The row under another ruling, or a new one if it does not exist; nobody takes a slot with that. */
export function ruledRow(
  before: RateRow | undefined,
  ruling: Ruling,
  clockMs: number,
  {
    slack = 0,
    configuration,
  }: { readonly slack?: number; readonly configuration?: KeyConfiguration | undefined } = {},
): RateRow {
  if (before === undefined) {
    const epoch: Epoch = naturalEpoch(ruling, clockMs)
    const atMs = windowStartMs(epoch, clockMs)
    return { epoch, cursor: 0, atMs, giveUps: 0, overhang: 0, configuration }
  }
  const itemMs = Math.max(clockMs, before.atMs)
  const next = handOver({ ...before, cursor: before.cursor + slack }, ruling, itemMs)
  return { ...before, ...next, configuration }
}

/** How many slots a change of settings sacrifices to get through to a row that moves on; none at first. */
export const slackAt = (attempt: number): number =>
  attempt <= 4 ? 0 : 4 ** Math.min(attempt - 4, 5)
