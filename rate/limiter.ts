// What every verb of the limiter works with: the rows and settings that a process remembers, and its clock. The table
// decides; memory only says which write to try first, and for a moment that a call is denied.
//
// Calls of one process on one row would race each other for nothing: the turnstile lets as many go as the row seems
// to have room for, and the others look again when an answer is there. Calls that need the same reading share it.

import type { Clock, Dynamo, Random, Row } from '../aws/dynamo.ts'
import { QueueError } from '../shared/errors.ts'
import { BoundedCache } from '../shared/system.ts'
import {
  CLOCK_AHEAD_MAX_MS,
  CLOCK_BEHIND_MAX_MS,
  CLOCKS_APART_MAX_MS,
  PATTERNS_KEPT_MS,
} from './core/bounds.ts'
import { decodeRateRow, type RateRow, rowKey } from './core/row.ts'
import {
  type KeyConfiguration,
  type Patterns,
  type Settings,
  settingsByPattern,
} from './core/settings.ts'

/** What a decision with known settings needs. */
export type SlotLimiter = {
  readonly dynamo: Dynamo
  readonly clock: Clock
  readonly random: Random
  /** Rows as last seen, by their partition key. A remembered cursor is a lower bound of the present one. */
  readonly rows: BoundedCache<SeenRow>
  /** Keys' own settings, as last seen on the row of their first shard. */
  readonly configurations: BoundedCache<KnownConfiguration>
  readonly turnstile: Turnstile
}

/** What every verb of the rate limiter works with; built once by `createRateLimits`. */
export type Limiter = SlotLimiter & {
  readonly patterns: KeptReading<Patterns>
  readonly secrets: SecretsReader
}

/** Where a process gets its secrets. */
export interface SecretsReader {
  get(): Promise<Secrets>
}

/** First the secret that signs, then those that may have signed before. */
export type Secrets = readonly [Uint8Array, ...Uint8Array[]]

/** Keys whose rows a process remembers: some 300 bytes each. */
const REMEMBERED_ROWS_MAX = 10_000

export function createSlotLimiter({
  dynamo,
  clock,
  random,
}: Pick<SlotLimiter, 'dynamo' | 'clock' | 'random'>): SlotLimiter {
  return {
    dynamo,
    clock,
    random,
    rows: new BoundedCache(REMEMBERED_ROWS_MAX),
    configurations: new BoundedCache(REMEMBERED_ROWS_MAX),
    turnstile: new Turnstile(),
  }
}

export const nowMs = (limiter: SlotLimiter): number => Math.floor(limiter.clock.nowMs())

/**
 * A clock that is far ahead would open windows before their time and, because the item's time never
 * goes back, shut out all others until then. So we refuse such a clock before it writes.
 */
export function checkClock(clockMs: number, receivedMs: number | undefined): void {
  if (receivedMs === undefined) return
  const aheadMs = clockMs - receivedMs
  if (aheadMs <= CLOCK_AHEAD_MAX_MS && -aheadMs <= CLOCK_BEHIND_MAX_MS) return
  throw clockOff(`this process's clock is ${Math.abs(aheadMs)} ms off the gateway's`)
}

/** Without the gateway's time, the item's own must do: it shows a clock that is far behind. */
function checkItemTime(clockMs: number, itemMs: number): void {
  const behindMs = itemMs - clockMs
  if (behindMs <= CLOCKS_APART_MAX_MS) return
  throw clockOff(`the limit's latest window begins ${behindMs} ms after this process's time`)
}

const clockOff = (why: string): QueueError =>
  new QueueError('STORE_UNAVAILABLE', `Cannot decide on the rate limit because ${why}; try again`)

/** The result of one attempt to read, decide and write. */
export type Attempted<T> =
  | { readonly kind: 'done'; readonly answer: T }
  /** Another writer was first, or the answer was lost. */
  | { readonly kind: 'again' }
  /** It sent nothing, and does not count. */
  | { readonly kind: 'stepped-back' }

export const done = <T>(answer: T): Attempted<T> => ({ kind: 'done', answer })

/** The longest pause after the first attempt that another writer spoilt. */
export const PAUSE_MS = 10
/** Answers that one call may lose, each of which may waste slots. After that, the store is out of reach. */
export const LOST_MAX = 2

/** One attempt after the other until one is done; the rate limiter's counterpart of the queues' driver. */
export async function attempts<T>(
  attemptsMax: number,
  tryOnce: (attempt: number) => Promise<Attempted<T>>,
  exhausted: () => Error,
): Promise<T> {
  for (let attempt = 1; attempt <= attemptsMax; ) {
    const attempted = await tryOnce(attempt)
    if (attempted.kind === 'done') return attempted.answer
    if (attempted.kind === 'again') attempt += 1
  }
  throw exhausted()
}

export type Place = { readonly key: string; readonly shard: number }

export type SeenRow = {
  readonly row: RateRow
  readonly seenMs: number
  /** Others take from it as well. This only decides which write we try first. */
  readonly shared: boolean
}
type KnownConfiguration = KeyConfiguration & { readonly confirmedMs: number }

export async function readRow(limiter: SlotLimiter, place: Place): Promise<RateRow | undefined> {
  return seenRow(limiter, place, await limiter.dynamo.get(rowKey(place.key, place.shard), true))
}

/** Decodes a row that DynamoDB returned, and remembers it and its key's settings. */
export function seenRow(
  limiter: SlotLimiter,
  place: Place,
  item: Row | undefined,
): RateRow | undefined {
  const name = rowKey(place.key, place.shard).pk
  const row = item === undefined ? undefined : decodeRateRow(item)
  const seenMs = nowMs(limiter)
  if (place.shard === 0) rememberConfiguration(limiter, place.key, row, seenMs)
  if (row === undefined) limiter.rows.delete(name)
  else {
    checkItemTime(seenMs, row.atMs)
    const shared = limiter.rows.get(name)?.shared ?? false
    limiter.rows.set(name, { row, seenMs, shared })
  }
  return row
}

function rememberConfiguration(
  limiter: SlotLimiter,
  key: string,
  row: RateRow | undefined,
  seenMs: number,
): void {
  if (row?.configuration === undefined) limiter.configurations.delete(key)
  else limiter.configurations.set(key, { ...row.configuration, confirmedMs: seenMs })
}

export function markShared(limiter: SlotLimiter, place: Place, shared: boolean): void {
  const name = rowKey(place.key, place.shard).pk
  const seen = limiter.rows.get(name)
  if (seen !== undefined && seen.shared !== shared) limiter.rows.set(name, { ...seen, shared })
}

/**
 * A process answers "denied" from memory for a tenth of a window at a time (so it asks with ten writes a window),
 * but for at least a second, and at most a minute: a raised limit takes effect after that.
 */
const DENIAL_WINDOW_SHARE = 10
const DENIAL_KEPT_MS_MIN = 1_000
const DENIAL_KEPT_MS_MAX = 60_000

/** Whether we may still answer "denied" from this memory; the rules may have changed since. */
export function mayDeny({ row, seenMs }: SeenRow, clockMs: number): boolean {
  const share = row.epoch.rules.windowMs / DENIAL_WINDOW_SHARE
  const keptMs = Math.min(DENIAL_KEPT_MS_MAX, Math.max(DENIAL_KEPT_MS_MIN, share))
  return clockMs - seenMs <= keptMs
}

/** The settings that apply to a key, as far as this process knows. */
export type KnownSettings = {
  readonly settings: Settings
  readonly revision: number
  /** Whether they are the key's own. */
  readonly configured: boolean
  /** When we read or confirmed them, by this process's clock. */
  readonly asOfMs: number
}

/**
 * The key's own settings, or those of the longest prefix, or the defaults. The row of the first shard shows whether the
 * key has its own, so that a decision there needs no read. The rows of other shards show only that there are newer ones;
 * in case somebody failed to tell them, a process that works on those looks now and then.
 */
export async function knownSettings(
  limiter: Limiter,
  key: string,
  sinceMs?: number,
): Promise<KnownSettings> {
  let known = limiter.configurations.get(key)
  if (known !== undefined && known.settings.shards > 1) {
    // A row's news may be newer than anything that another call of this process has read, so this call reads itself.
    if (sinceMs !== undefined || known.confirmedMs < nowMs(limiter) - PATTERNS_KEPT_MS) {
      await readRow(limiter, { key, shard: 0 })
      known = limiter.configurations.get(key)
    }
  }
  if (known !== undefined) {
    const { settings, revision, confirmedMs } = known
    return { settings, revision, configured: true, asOfMs: confirmedMs }
  }
  const { value: patterns, asOfMs } = await limiter.patterns.get(sinceMs)
  const settings = settingsByPattern(patterns, key)
  return { settings, revision: patterns.revision, configured: false, asOfMs }
}

type Reading<T> = { readonly startedMs: number; readonly value: Promise<T> }

/** One process's copy of a row that seldom changes: read when a call needs it, and again after a while. */
export class KeptReading<T> {
  readonly #readNow: () => Promise<T>
  readonly #clock: Clock
  readonly #keptMs: number
  #reading: Reading<T> | undefined
  #last: T | undefined

  constructor(clock: Clock, readNow: () => Promise<T>, keptMs = PATTERNS_KEPT_MS) {
    this.#readNow = readNow
    this.#clock = clock
    this.#keptMs = keptMs
  }

  /** The row as of a while ago at most, or as of the given time if that is later. */
  async get(
    sinceMs = Number.NEGATIVE_INFINITY,
  ): Promise<{ readonly value: T; readonly asOfMs: number }> {
    const nowMs = this.#clock.nowMs()
    const known = this.#reading
    const isFresh =
      known !== undefined &&
      known.startedMs >= sinceMs &&
      // If somebody has set the clock back, we must not keep it for ever.
      Math.abs(nowMs - known.startedMs) <= this.#keptMs
    const { value, startedMs } = isFresh ? known : this.#read(nowMs)
    return { value: await value, asOfMs: startedMs }
  }

  #read(startedMs: number): Reading<T> {
    const value = this.#readNow()
    const reading = { startedMs, value }
    this.#reading = reading
    // All calls that wait for this read fail with it; the next call reads again.
    value.then(
      (read) => {
        this.#last = read
      },
      () => {
        if (this.#reading === reading) this.#reading = undefined
      },
    )
    return reading
  }

  /** The last value read, however old; for a caller that cannot wait for the next read. */
  get last(): T | undefined {
    return this.#last
  }

  /** Call this after a change by this process. */
  forget(): void {
    this.#reading = undefined
  }
}

/** How often one call steps back for others of its process before it goes anyway. */
const STEPS_BACK_MAX = 1_000

/** We do not wait for a request that takes longer: its environment may have been frozen. */
const HUNG_MS = 2_000

type Call = { readonly sinceMs: number }
type Passage = { readonly underWay: Set<Call>; readonly waiting: (() => void)[] }

/**
 * Regulates the concurrent calls of one process on one row. It lets only as many go as the row seems to have room for.
 * The others wait for an answer that shows whether there is more, and can then be denied from memory instead of by a
 * write each. If only one call runs at a time, as in a Lambda, none ever waits.
 */
class Turnstile {
  readonly #rows = new Map<string, Passage>()

  /** Whether one more call may go now; always if none is under way, because one must ask. */
  admits(name: string, room: number, stepsBack: number, nowMs: number): boolean {
    const calls = this.#rows.get(name)?.underWay ?? []
    let underWay = 0
    for (const { sinceMs } of calls) if (Math.abs(nowMs - sinceMs) < HUNG_MS) underWay += 1
    return underWay < Math.max(1, room) || stepsBack >= STEPS_BACK_MAX
  }

  /** Resolves when one of the calls under way has its answer. */
  next(name: string): Promise<void> {
    return new Promise((resolve) => {
      const row = this.#rows.get(name)
      if (row === undefined) resolve()
      else row.waiting.push(resolve)
    })
  }

  async pass<T>(name: string, nowMs: number, work: () => Promise<T>): Promise<T> {
    const row: Passage = this.#rows.get(name) ?? { underWay: new Set(), waiting: [] }
    this.#rows.set(name, row)
    const call: Call = { sinceMs: nowMs }
    row.underWay.add(call)
    try {
      return await work()
    } finally {
      row.underWay.delete(call)
      if (row.underWay.size === 0) this.#rows.delete(name)
      // Each looks again, in order of arrival.
      for (const wake of row.waiting.splice(0)) wake()
    }
  }
}
