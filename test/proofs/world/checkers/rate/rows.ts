import type { Turn } from '../../../../../rate/core/epoch.ts'
import { patternsKey } from '../../../../../rate/core/row.ts'
import type { PatternInput, SettingsInput } from '../../../../../rate/core/settings.ts'
import type { AdmitRequest } from '../../../../../rate/rate-limits.ts'
import type { Change } from '../../../../../testing/simulated/dynamodb/database.ts'
import type { Item } from '../../../../../testing/simulated/dynamodb/values.ts'
import type { Operation } from '../../actors/callers/operation.ts'
import { getOrMake } from '../../harness/get-or-make.ts'
import type { World } from '../../harness/world.ts'
import { isSlotOf } from '../check-configuration.ts'

export type HeldTicket = { readonly key: string; readonly ticket: string; readonly turn: Turn }

/** One call, as data: what is drawn, the history shows and a process performs. */
export type RateCommand =
  | { readonly verb: 'admit'; readonly key: string; readonly request: AdmitRequest }
  | ({ readonly verb: 'giveUp' | 'verify' } & HeldTicket)
  | { readonly verb: 'configure'; readonly key: string; readonly settings: SettingsInput }
  | { readonly verb: 'unconfigure' | 'state'; readonly key: string }
  | { readonly verb: 'configurePatterns'; readonly patterns: readonly PatternInput[] }

export type RateCall = {
  readonly command: RateCommand
  /** What the network and the clock know of it. */
  readonly operation: Operation
  /** What its writes took: all slots but the last were wasted by lost answers. */
  readonly slots: Slot[]
  /** Its process's clock is far off: it may change nothing. */
  readonly farOff: boolean
  /** Whether its process knows the row as it is. */
  readonly knows: (row: string) => boolean
  /** The revision of the settings of prefixes that it went by, if that is certain. */
  readonly patterns: () => number | undefined
}

/** A stretch of slots that one write took. */
export type Slot = {
  readonly by: number
  readonly row: ReadRow
  readonly position: number
  readonly cost: number
  readonly turnMs: number
  /** How many states its row had had before. */
  readonly at: number
  /** The latest that its caller's clock had shown by then. */
  readonly clockMs: number
  /** It landed so long after its window that its row may have been forgotten: it may be another's, and is nobody's. */
  readonly late: boolean
  /**
   * The write brought newer settings, so it may have taken nothing, because by these there was no room. The answer
   * shows which; until then, here is what the slot would violate.
   */
  open: (() => void)[] | undefined
  givenUp: boolean
  readonly history: RowHistory
}

export type RowHistory = {
  /** Every state, with the time from which it was so; `row` is undefined while it was not there. */
  readonly states: { fromMs: number; row: ReadRow | undefined; by: Operation | undefined }[]
  readonly slots: Slot[]
}

/** A second, plainer reading of a stored row: about slots and times the model must not ask the code that it checks. */
export type ReadRow = Readonly<ReturnType<typeof readStoredRow>>

export function readStoredRow(item: Item) {
  const { e, c, t, x, k, ttl } = item as unknown as Record<string, number> & { e: string }
  const [rules = '', rest = ''] = e.split('~')
  const [revision = '', place = ''] = rest.split('@')
  const [startMs, generation] = place.split('+').map(Number) as [number, number]
  const limits = rules.slice(1).split(/[/x]/).map(Number)
  const [max = 0, windowMs = 0, burst = 1] = limits
  return {
    epoch: e,
    /** The epoch without its revision: the slots are the same ones. */
    ruler: `${rules}@${place}`,
    window: rules.startsWith('w'),
    max,
    windowMs,
    burst,
    revision: Number(revision.replace('k', '')),
    startMs,
    generation,
    cursor: c as number,
    atMs: t as number,
    giveUps: x ?? 0,
    ttl: ttl as number | undefined,
    configured: k !== undefined,
    isOwn: revision.endsWith('k'),
  }
}

export const widthIn = (row: ReadRow, cost: number): number =>
  row.window ? cost : cost * row.windowMs

/** When a request at this position goes. */
export function turnIn(row: ReadRow, position: number, cost: number): number {
  if (row.window) return row.startMs + Math.floor(position / row.max) * row.windowMs
  const early = Math.max(0, row.burst - cost) * row.windowMs
  return Math.max(row.startMs, row.startMs + Math.ceil((position - early) / row.max))
}

export const pastMs = (row: ReadRow, position: number): number =>
  row.window
    ? turnIn(row, position, 1) + row.windowMs
    : row.startMs + Math.floor(position / row.max) + 1

/** Whether the row as it is cannot take this request at this time: neither now nor in a line of so many. */
export function isFull(row: ReadRow, cost: number, inLine: number, clockMs: number): boolean {
  const nowMs = Math.max(clockMs, row.atMs)
  if (!row.window) {
    const waitMs = turnIn(row, row.cursor, cost) - nowMs
    return inLine === 0 ? waitMs > 0 : waitMs > (inLine * row.windowMs) / row.max - 1
  }
  const window = Math.floor((nowMs - row.startMs) / row.windowMs)
  const from = Math.max(row.cursor, window * row.max)
  const left = row.max - (from % row.max)
  const position = cost > left ? from + left : from
  return position + cost > (window + 1) * row.max + inLine
}

/** Whether anything is used or promised by it that counts at this time. */
export function isIdle(row: ReadRow, clockMs: number): boolean {
  const nowMs = Math.max(clockMs, row.atMs)
  if (nowMs < row.startMs) return false
  if (!row.window) return row.cursor <= (nowMs - row.startMs) * row.max
  return row.cursor <= Math.floor((nowMs - row.startMs) / row.windowMs) * row.max
}

const SKEW_MS = 5_000
/** By no clock of this world is that still in time: the grace and twice the skew. */
const LATE_MS = 1_000 + 2 * SKEW_MS
/** The documented rest of a row after its last promise, by the slowest of clocks that are 20 s apart. */
const IDLE_WINDOWS = 3
const IDLE_MS_MIN = 30_000
const APART_MS = 20_000

/** Watches every write to a row of a limit, of a key's or of a queue's, and knows what none of them may do. */
export class RateRows {
  readonly world: World
  readonly #rows = new Map<string, RowHistory>()
  readonly #calls = new WeakMap<Operation, RateCall>()
  /** Of keys: the revision of settings that a process was told to hold. */
  readonly #ruled = new Map<string, { readonly revision: number; readonly sinceMs: number }>()
  /** The revision of the settings of prefixes. */
  patterns = 0
  /** The shortest and the longest line that any settings of this world allow. */
  lines = { min: 0, max: 0 }

  constructor(world: World) {
    this.world = world
  }

  of(pk: string): RowHistory {
    return getOrMake(this.#rows, pk, () => ({ states: [], slots: [] }))
  }

  begin(call: RateCall): void {
    this.#calls.set(call.operation, call)
  }

  /** What a change of patterns reads for itself, admissions of the same process do not hear of. */
  hears = (by: Operation | undefined): boolean =>
    by === undefined || this.#calls.get(by)?.command.verb !== 'configurePatterns'

  observe(change: Change): void {
    const { nowMs } = this.world.scheduler
    const { pk } = change
    if (change.sk === patternsKey.sk) this.patterns = Number(change.newItem?.r)
    if (change.sk !== 'rate') return
    const before = change.oldItem && readStoredRow(change.oldItem)
    const row = change.newItem && readStoredRow(change.newItem)
    const by = this.world.applying?.operation
    const history = this.of(pk)
    history.states.push({ fromMs: nowMs, row, by })
    if (before?.configured && !row?.configured) this.#ruled.delete(keyOf(pk))
    if (row === undefined || by === undefined) {
      this.must(by === undefined && row === undefined, 'only TTL deletes rows, and that alone', pk)
      this.must(!before?.configured, 'a configured row stays', pk)
      return
    }
    const call = this.#calls.get(by) ?? this.#ofQueue(by, change)
    this.#checkRow(before, row, call)
    this.#checkTaken(pk, before, row, call)
    this.#checkGiveUp(history.slots, before, row, call)
    this.#checkTtl(history, row)
  }

  /** From now on no write may take slots of this key by older settings, on any shard. */
  rules(key: string, revision: number): void {
    const { row } = this.of(`r#${key}#0`).states.at(-1) ?? {}
    if (row?.configured && row.revision >= revision) {
      this.#ruled.set(key, { revision, sinceMs: this.world.scheduler.nowMs })
    }
  }

  /** The call that sent the write goes on this slot: so it was taken. */
  settle(slot: Slot): void {
    const { open } = slot
    if (open === undefined) return
    slot.open = undefined
    for (const violate of open) violate()
    if (!slot.late) slot.history.slots.push(slot)
  }

  must(holds: boolean, rule: string, ...told: readonly unknown[]): void {
    if (!holds) this.world.violated(rule, told.map((one) => JSON.stringify(one)).join(' '))
  }

  /** A push or pop under a queue's limit takes a slot; what else is written for a queue takes none. */
  #ofQueue(by: Operation, change: Change): RateCall {
    // A pop that waits reads its clock anew after each pause, so here are all times that it may have read.
    const clockMinMs = by.startedMs - SKEW_MS
    const clockMaxMs = this.world.scheduler.nowMs + SKEW_MS
    const verb = isSlotOf(by, change) ? 'admit' : 'state'
    const command = { verb, key: '', request: {} } as RateCommand
    const operation = { ...by, clockMinMs, clockMaxMs }
    const unknown = { knows: () => false, patterns: () => undefined }
    return { command, operation, slots: [], farOff: false, ...unknown }
  }

  #checkRow(before: ReadRow | undefined, row: ReadRow, { farOff }: RateCall): void {
    const latestMs = Math.max(before?.atMs ?? 0, this.world.scheduler.nowMs + SKEW_MS)
    this.must(!farOff, 'a clock far off changes nothing', row)
    this.must(row.atMs <= latestMs, 'no window begins before its time', row)
    this.must(row.isOwn === row.configured, 'a revision says whether it is of own settings', row)
    if (before === undefined) return
    this.must(row.atMs >= before.atMs, 'the item’s time never goes back', row)
    this.must(row.revision >= before.revision, 'a revision never goes back', before, row)
    const counts = row.ruler === before.ruler || row.generation > before.generation
    this.must(counts, 'two epochs never have the same text', before, row)
  }

  #checkTaken(pk: string, before: ReadRow | undefined, row: ReadRow, call: RateCall): void {
    const { command, operation, slots } = call
    if (command.verb !== 'admit') return
    const { world } = this
    const history = this.of(pk)
    const { cost = 1, canWait = false } = command.request
    const position = row.cursor - widthIn(row, cost)
    const turnMs = turnIn(row, position, cost)
    const isNews = before !== undefined && row.revision > before.revision
    const slot: Slot = {
      by: operation.id,
      ...{ row, position, cost, turnMs, history },
      at: history.states.length - 1,
      clockMs: operation.clockMaxMs,
      late: world.scheduler.nowMs > turnMs + row.windowMs + LATE_MS,
      open: isNews ? [] : undefined,
      givenUp: false,
    }
    slots.push(slot)
    if (slot.late) return
    const must = (holds: boolean, rule: string, other?: Slot): void => {
      if (holds) return
      const what = JSON.stringify({ ...slot, open: undefined, history: undefined })
      const violate = (): void => world.violated(rule, `${what} ${other ? `and #${other.by}` : ''}`)
      if (slot.open === undefined) violate()
      else slot.open.push(violate)
    }
    const { revision: ruled = 0, sinceMs = 0 } = this.#ruled.get(keyOf(pk)) ?? {}
    // A shard that an earlier change has left is told of no later one: what was on its way there may still land.
    const mayBeLeft = !pk.endsWith('#0') && operation.startedMs < sinceMs
    must(mayBeLeft || row.revision >= ruled, 'new settings hold with the next write')
    checkSlot(slot, must)
    const itemMs = before?.atMs ?? 0
    const { clockMinMs, clockMaxMs } = operation
    const isOpen = pastMs(row, position) > Math.max(itemMs, clockMinMs)
    must(isOpen, 'never a slot in a past window')
    const lineMs = (Math.ceil(this.lines.max / row.max) + 1) * row.windowMs + 1
    must(turnMs - Math.max(clockMaxMs, itemMs) <= lineMs, 'waits are bounded')
    must(canWait || turnMs <= Math.max(clockMaxMs, row.atMs), 'who does not wait goes now')
    if (slot.open === undefined) history.slots.push(slot)
  }

  #checkGiveUp(slots: Slot[], before: ReadRow | undefined, row: ReadRow, call: RateCall): void {
    if (call.command.verb !== 'giveUp') return
    const { turn } = call.command
    const last = slots.findLast(({ givenUp }) => !givenUp)
    const isLast =
      last?.row.epoch === turn.epoch &&
      last.position === turn.position &&
      last.row.giveUps === turn.giveUps &&
      row.cursor === last.position &&
      row.epoch === before?.epoch
    this.must(isLast, 'only the last turn is given up, by its owner', turn, before)
    if (last !== undefined) last.givenUp = true
  }

  /** A row must live until all its promises are past, by any clock: a new row would not know them. */
  #checkTtl({ slots }: RowHistory, row: ReadRow): void {
    const { ttl, windowMs } = row
    this.must((ttl === undefined) === row.configured, 'what is not configured goes', row)
    if (ttl === undefined) return
    for (const { turnMs, givenUp } of slots) {
      // Under smooth a slot's time is its turn's only to within its burst.
      const overMs = turnMs + (row.window ? windowMs : 0)
      const keptMs = overMs + Math.max(IDLE_WINDOWS * windowMs, IDLE_MS_MIN) + APART_MS
      // Past turns need no row.
      if (givenUp || keptMs < this.world.scheduler.nowMs) continue
      this.must(ttl * 1_000 >= keptMs, 'a row outlives its promises', turnMs, row)
    }
  }
}

/** `k` of `r#k#0`. */
const keyOf = (pk: string): string => pk.slice(2, pk.lastIndexOf('#'))

/** A slot is issued once, in order, and no more of them than the limit allows. */
function checkSlot(slot: Slot, must: (holds: boolean, rule: string, other?: Slot) => void): void {
  const { row, position, cost, turnMs, history } = slot
  let used = cost
  for (const other of history.slots) {
    if (other.givenUp) continue
    const isApart =
      other.row.ruler !== row.ruler ||
      position >= other.position + widthIn(row, other.cost) ||
      other.position >= position + widthIn(row, cost)
    must(isApart, 'a slot is issued once', other)
    must(turnMs >= other.turnMs, 'order of arrival is order of turn', other)
    if (other.turnMs >= turnMs && other.turnMs < turnMs + row.windowMs) used += other.cost
  }
  if (!row.window) return
  const isWhole = Math.floor(position / row.max) === Math.floor((position + cost - 1) / row.max)
  must(isWhole, 'a request is whole in one window')
  // What other rules allowed before counts; it may be more than these allow, but then nothing is added.
  must(used <= row.max, 'at most max a window')
}
