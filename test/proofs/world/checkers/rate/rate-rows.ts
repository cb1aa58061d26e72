import { patternsKey } from '../../../../../lambdas/rate/core/keys.ts'
import type { Change } from '../../../../../testing/simulated/dynamodb/database.ts'
import type { Operation } from '../../actors/callers/operation.ts'
import type { RateCall, RateCommand } from '../../actors/rate/rate-call.ts'
import type { World } from '../../harness/world.ts'
import { isSlotOf } from '../check-limits.ts'
import { checkSlot } from './check-slot.ts'
import { type ReadRow, readStoredRow, turnIn, widthIn } from './read-row.ts'

/** A stretch of slots that one write took. */
export type Slot = {
  readonly row: ReadRow
  readonly position: number
  readonly cost: number
  readonly turnMs: number
  readonly by: number
  /** How many states its row had had before. */
  readonly at: number
  /** The latest that its caller's clock had shown by then. */
  readonly clockMs: number
  givenUp: boolean
  /**
   * It landed long after its window, when its row may have been forgotten: no caller may use it, so it may
   * have been given to another.
   */
  readonly late: boolean
  /**
   * The write brought newer settings, so it may have taken nothing, because by these there was no room. The answer
   * shows which; until then, here is what the slot would violate.
   */
  open: (() => void)[] | undefined
  readonly history: RowHistory
}

type State = {
  /** From then on it was so; `row` is undefined while it was not there. */
  readonly fromMs: number
  readonly row: ReadRow | undefined
  readonly by: Operation | undefined
}
export type RowHistory = { readonly states: State[]; readonly slots: Slot[] }

/** What a rule needs to know of who wrote. */
export type Writing = {
  readonly command: RateCommand | { readonly verb: 'other' }
  readonly id: number
  readonly clockMinMs: number
  readonly clockMaxMs: number
  readonly farOff: boolean
  readonly slots: Slot[]
}

/** By no clock of this world is that still in time: the grace and twice the skew. */
const LATE_MS = 1_000 + 10_000
const SKEW_MS = 5_000
const IDLE_WINDOWS = 3

/** Watches every write to a row of a limit, of a key's or of a queue's, and knows what none of them may do. */
export class RateRows {
  readonly world: World
  readonly #rows = new Map<string, RowHistory>()
  readonly #calls = new WeakMap<Operation, RateCall>()
  /** Of keys: the revision of settings that a process was told to hold. */
  readonly #ruled = new Map<string, number>()
  /** When the patterns changed last. */
  patternsMs = Number.NEGATIVE_INFINITY
  /** The longest and the shortest line that any settings of this world allow. */
  lines = { min: 0, max: 0 }

  constructor(world: World) {
    this.world = world
  }

  of(pk: string): RowHistory {
    let history = this.#rows.get(pk)
    if (history === undefined) {
      history = { states: [], slots: [] }
      this.#rows.set(pk, history)
    }
    return history
  }

  begin(call: RateCall): void {
    this.#calls.set(call.operation, call)
  }

  observe(change: Change): void {
    if (change.pk === patternsKey.pk) this.patternsMs = this.world.scheduler.nowMs
    if (change.sk !== 'rate') return
    const history = this.of(change.pk)
    const before = change.oldItem && readStoredRow(change.oldItem)
    const row = change.newItem && readStoredRow(change.newItem)
    const by = this.world.applying?.operation
    const at = history.states.length
    history.states.push({ fromMs: this.world.scheduler.nowMs, row, by })
    if (before?.configured && !row?.configured) this.#ruled.delete(keyOf(change.pk))
    if (row === undefined) {
      if (by !== undefined) this.world.violated('only TTL deletes rows', change.pk)
      if (before?.configured) this.world.violated('a configured row stays', change.pk)
      return
    }
    const writing = by && this.#writingOf(by, change)
    if (writing === undefined) {
      this.world.violated('every write to a limit has a caller', change.pk)
      return
    }
    this.#checkRow(before, row, writing)
    if (writing.command.verb === 'admit') {
      this.#checkSlot(change.pk, at, before, row, writing)
    } else if (writing.command.verb === 'giveUp') {
      this.#checkGiveUp(history, before, row, writing)
    }
    this.#checkTtl(history, row)
  }

  /** From now on no write may take slots of this key by older settings, on any shard. */
  rules(key: string, revision: number): void {
    const { row } = this.of(`r#${key}#0`).states.at(-1) ?? {}
    if (!row?.configured || row.revision < revision) return
    this.#ruled.set(key, Math.max(revision, this.#ruled.get(key) ?? 0))
  }

  /** Whoever sent the write goes on this slot: so it was taken. */
  settle(slot: Slot): void {
    const { open } = slot
    if (open === undefined) return
    slot.open = undefined
    for (const violate of open) violate()
    if (!slot.late) slot.history.slots.push(slot)
  }

  must(holds: boolean, rule: string, explanation: () => string): void {
    if (!holds) this.world.violated(rule, explanation())
  }

  #writingOf(by: Operation, change: Change): Writing {
    const call = this.#calls.get(by)
    if (call !== undefined) {
      const { clockMinMs, clockMaxMs, id } = by
      return { ...call, id, clockMinMs, clockMaxMs }
    }
    // A pop that waits reads its clock anew after each pause, so here are all clocks that it may have had.
    const clockMinMs = by.startedMs - SKEW_MS
    const clockMaxMs = this.world.scheduler.nowMs + SKEW_MS
    const command = isSlotOf(by, change)
      ? ({ verb: 'admit', key: '', request: {} } as const)
      : ({ verb: 'other' } as const)
    return { command, id: by.id, clockMinMs, clockMaxMs, farOff: false, slots: [] }
  }

  #checkRow(before: ReadRow | undefined, after: ReadRow, { farOff, id }: Writing): void {
    this.must(!farOff, 'a clock far off changes nothing', () => `#${id}`)
    const latestMs = Math.max(before?.atMs ?? 0, this.world.scheduler.nowMs + SKEW_MS)
    this.must(after.atMs <= latestMs, 'no window begins before its time', () => show(after))
    if (before === undefined) return
    this.must(after.atMs >= before.atMs, 'the item’s time never goes back', () => show(after))
    this.must(after.revision >= before.revision, 'a revision never goes back', () => show(after))
    const counts =
      after.epoch === before.epoch
        ? after.generation === before.generation
        : after.generation >= before.generation
    this.must(counts, 'generations count up', () => `${show(before)} → ${show(after)}`)
  }

  #checkSlot(
    pk: string,
    at: number,
    before: ReadRow | undefined,
    row: ReadRow,
    writing: Writing,
  ): void {
    if (writing.command.verb !== 'admit') return
    const history = this.of(pk)
    const { cost = 1 } = writing.command.request
    const position = row.cursor - widthIn(row, cost)
    const turnMs = turnIn(row, position, cost)
    const late = this.world.scheduler.nowMs > turnMs + row.windowMs + LATE_MS
    const isNews = before !== undefined && row.revision > before.revision
    const { id: by, clockMaxMs: clockMs } = writing
    const base = { row, position, cost, turnMs, by, at, clockMs, late, history }
    const slot: Slot = { ...base, givenUp: false, open: isNews ? [] : undefined }
    writing.slots.push(slot)
    if (late) {
      this.world.statistics.count('slots that came too late')
      return
    }
    const violated = (rule: string, explanation: string): void => {
      const violate = (): void => this.world.violated(rule, explanation)
      if (slot.open === undefined) violate()
      else slot.open.push(violate)
    }
    const ruled = this.#ruled.get(keyOf(pk)) ?? 0
    if (row.revision < ruled) violated('new settings hold with the next write', `${pk}: ${ruled}`)
    checkSlot({ slot, before, writing, lineMax: this.lines.max, violated })
    if (slot.open === undefined) history.slots.push(slot)
  }

  #checkGiveUp(
    { slots }: RowHistory,
    before: ReadRow | undefined,
    after: ReadRow,
    { command, id }: Writing,
  ): void {
    if (command.verb !== 'giveUp') return
    const { turn } = command
    const last = slots.findLast(({ givenUp }) => !givenUp)
    const exact =
      last !== undefined &&
      last.row.epoch === turn.epoch &&
      last.position === turn.position &&
      last.row.giveUps === turn.giveUps &&
      after.cursor === last.position &&
      after.epoch === before?.epoch
    this.must(
      exact,
      'only the last turn is given up, by its owner',
      () => `#${id} gave up ${show(turn)} of ${show(before)}`,
    )
    if (last !== undefined) last.givenUp = true
  }

  /** A row must live until all its promises are past, by any clock: a new row would not know them. */
  #checkTtl({ slots }: RowHistory, row: ReadRow): void {
    const { ttl } = row
    this.must((ttl === undefined) === row.configured, 'what is not configured goes', () =>
      show(row),
    )
    if (ttl === undefined) return
    for (const { turnMs, givenUp } of slots) {
      const keptMs = turnMs + (1 + IDLE_WINDOWS) * row.windowMs
      // Past turns need no row.
      if (givenUp || keptMs < this.world.scheduler.nowMs) continue
      this.must(
        ttl * 1_000 >= keptMs,
        'a row outlives its promises',
        () => `${turnMs} of ${show(row)}`,
      )
    }
  }
}

/** `k` of `r#k#0`. */
const keyOf = (pk: string): string => pk.slice(2, pk.lastIndexOf('#'))

const show = (value: unknown): string => JSON.stringify(value)
