import type { Change } from '../../../testing/simulated/dynamodb/database.ts'
import type { World } from '../world/harness/world.ts'
import type { RateOperation } from './rate-operation.ts'
import { pastMs, type ReadRow, readStoredRow, turnIn, widthIn } from './read-row.ts'

/** A stretch of slots that one write took. */
export type Issue = {
  readonly row: ReadRow
  readonly position: number
  readonly cost: number
  readonly turnMs: number
  readonly operation: RateOperation
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
  open?: { readonly history: RowHistory; readonly violations: (() => void)[] } | undefined
}

export type RowHistory = {
  /** Every state, with the time from which it was so; `undefined`: not there. */
  readonly states: { readonly fromMs: number; readonly row: ReadRow | undefined }[]
  readonly issues: Issue[]
}

const IDLE_WINDOWS = 3
/** By no clock of this world is that still in time: the grace and twice the skew. */
const LATE_MS = 1_000 + 10_000

/** Watches every write, and knows what none of them may do. */
export class RateModel {
  readonly #world: World
  /** Of the slot that is being checked, if nobody knows yet whether it was taken. */
  #open: Issue['open']
  readonly rows = new Map<string, RowHistory>()
  /** The longest and the shortest line that any settings of this world allow. */
  readonly inLineMax: number
  readonly inLineMin: number

  constructor(world: World, lines: { readonly min: number; readonly max: number }) {
    this.#world = world
    this.inLineMin = lines.min
    this.inLineMax = lines.max
  }

  historyOf(name: string): RowHistory {
    let history = this.rows.get(name)
    if (history === undefined) {
      history = { states: [], issues: [] }
      this.rows.set(name, history)
    }
    return history
  }

  observe(change: Change): void {
    if (change.sk !== 'rate') return
    const history = this.historyOf(change.pk)
    const before = change.oldItem && readStoredRow(change.oldItem)
    const after = change.newItem && readStoredRow(change.newItem)
    history.states.push({ fromMs: this.#world.scheduler.nowMs, row: after })
    const operation = this.#world.applying?.operation as unknown as RateOperation | undefined
    if (after === undefined) {
      if (operation !== undefined) this.#violated('only TTL deletes rows', change.pk)
      if (before?.configured) this.#violated('a configured row stays', change.pk)
      return
    }
    if (operation === undefined) throw new Error('A row was written by nobody')
    if (operation.farOff) this.#violated('a clock far off changes nothing', operation.writer)
    this.#checkRow(before, after)
    const { command } = operation
    if (command.verb === 'admit') this.#checkIssue(history, before, after, operation)
    else if (command.verb === 'giveUp') this.#checkGiveUp(history, before, after, operation)
    this.#checkTtl(history, after)
  }

  #checkRow(before: ReadRow | undefined, after: ReadRow): void {
    const { scheduler } = this.#world
    const latestMs = Math.max(before?.atMs ?? 0, scheduler.nowMs + 5_000)
    this.#must(after.atMs <= latestMs, 'no window begins before its time', () => show(after))
    if (before === undefined) return
    this.#must(after.atMs >= before.atMs, 'the item’s time never goes back', () => show(after))
    this.#must(after.revision >= before.revision, 'a revision never goes back', () => show(after))
    const same = after.epoch === before.epoch
    const counts = same
      ? after.generation === before.generation
      : after.generation >= before.generation
    this.#must(counts, 'generations count up', () => `${show(before)} → ${show(after)}`)
  }

  #checkIssue(
    history: RowHistory,
    before: ReadRow | undefined,
    row: ReadRow,
    operation: RateOperation,
  ): void {
    if (operation.command.verb !== 'admit') return
    const { cost = 1 } = operation.command.request
    const position = row.cursor - widthIn(row, cost)
    const turnMs = turnIn(row, position, cost)
    const late = this.#world.scheduler.nowMs > turnMs + row.windowMs + LATE_MS
    const issue: Issue = { row, position, cost, turnMs, operation, givenUp: false, late }
    operation.issues.push(issue)
    if (before !== undefined && row.revision > before.revision) {
      issue.open = { history, violations: [] }
    }
    this.#open = issue.open
    this.#checkSlot(history, before, issue)
    this.#open = undefined
  }

  /** Whoever sent the write goes on this slot: so it was taken. */
  settle(issue: Issue): void {
    const { open } = issue
    if (open === undefined) return
    issue.open = undefined
    for (const violate of open.violations) violate()
    if (!issue.late) open.history.issues.push(issue)
  }

  #checkSlot(history: RowHistory, before: ReadRow | undefined, issue: Issue): void {
    const { row, position, cost, turnMs, operation, late } = issue
    if (late) {
      this.#world.statistics.count('slots that came too late')
      return
    }
    const say = (): string =>
      `#${operation.id} took ${position}+${cost}, turn ${turnMs}, of ${show(row)}`
    for (const other of history.issues) {
      if (other.givenUp) continue
      const apart =
        other.row.ruler !== row.ruler ||
        position >= other.position + widthIn(row, other.cost) ||
        other.position >= position + widthIn(row, cost)
      this.#must(apart, 'a slot is issued once', () => `${say()}: #${other.operation.id} has it`)
      this.#must(
        turnMs >= other.turnMs,
        'order of arrival is order of turn',
        () => `${say()}: #${other.operation.id} came before, for ${other.turnMs}`,
      )
    }
    const clockMs = operation.clockMinMs
    const notPast = pastMs(row, position) > Math.max(before?.atMs ?? 0, clockMs)
    this.#must(notPast, 'never a slot in a past window', () => `${say()}, clock ${clockMs}`)
    this.#checkWait(issue, before, say)
    if (row.window) this.#checkWindow(history, issue, say)
    if (issue.open === undefined) history.issues.push(issue)
  }

  /** The line is never longer than the longest that any settings allow. */
  #checkWait(
    { row, turnMs, operation }: Issue,
    before: ReadRow | undefined,
    say: () => string,
  ): void {
    const nowMs = Math.max(operation.clockMaxMs, before?.atMs ?? 0)
    const lineMs = (Math.ceil(this.inLineMax / row.max) + 1) * row.windowMs
    this.#must(turnMs - nowMs <= lineMs + 1, 'waits are bounded', () => `${say()} at ${nowMs}`)
    const { canWait } = (operation.command as { request: { canWait?: boolean } }).request
    const now = canWait || turnMs <= Math.max(operation.clockMaxMs, row.atMs)
    this.#must(now, 'who does not wait goes now', say)
  }

  #checkWindow(history: RowHistory, issue: Issue, say: () => string): void {
    const { row, turnMs: startMs, position, cost } = issue
    const whole = Math.floor(position / row.max) === Math.floor((position + cost - 1) / row.max)
    this.#must(whole, 'a request is whole in one window', say)
    let mine = cost
    let earlier = 0
    for (const other of history.issues) {
      const inside = other.turnMs >= startMs && other.turnMs < startMs + row.windowMs
      if (other.givenUp || !inside) continue
      if (other.row.ruler === row.ruler) mine += other.cost
      else earlier += other.cost
    }
    // What other rules allowed before counts; it may be more than these allow, but then nothing is added.
    this.#must(
      mine + earlier <= row.max,
      'at most max a window',
      () => `${say()}: ${mine} and ${earlier} before`,
    )
  }

  #checkGiveUp(
    history: RowHistory,
    before: ReadRow | undefined,
    after: ReadRow,
    operation: RateOperation,
  ): void {
    if (operation.command.verb !== 'giveUp') return
    const { turn } = operation.command
    const last = history.issues.findLast(({ givenUp }) => !givenUp)
    const say = (): string => `#${operation.id} gave up ${show(turn)} of ${show(before)}`
    const exact =
      last !== undefined &&
      last.row.epoch === turn.epoch &&
      last.position === turn.position &&
      last.row.giveUps === turn.giveUps &&
      after.cursor === last.position &&
      after.epoch === before?.epoch
    this.#must(exact, 'only the last turn is given up, by its owner', say)
    if (last !== undefined) last.givenUp = true
  }

  /** A row must live until all its promises are past, by any clock: a new row would not know them. */
  #checkTtl(history: RowHistory, row: ReadRow): void {
    this.#must((row.ttl === undefined) === row.configured, 'what is not configured goes', () =>
      show(row),
    )
    if (row.ttl === undefined) return
    for (const { turnMs, givenUp } of history.issues) {
      if (givenUp) continue
      const keptMs = turnMs + (1 + IDLE_WINDOWS) * row.windowMs
      // Past turns need no row.
      if (keptMs < this.#world.scheduler.nowMs) continue
      this.#must(
        row.ttl * 1_000 >= keptMs,
        'a row outlives its promises',
        () => `${turnMs} of ${show(row)}`,
      )
    }
  }

  #must(holds: boolean, rule: string, explanation: () => string): void {
    if (!holds) this.#violated(rule, explanation())
  }

  #violated(rule: string, explanation: string): void {
    const violate = () => this.#world.violated(rule, explanation)
    if (this.#open === undefined) violate()
    else this.#open.violations.push(violate)
  }
}

const show = (value: unknown): string => JSON.stringify(value)
