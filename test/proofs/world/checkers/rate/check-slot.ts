import type { Operation } from '../../actors/callers/operation.ts'
import type { Slot } from './rate-call.ts'
import { pastMs, type ReadRow, widthIn } from './read-row.ts'

type Taking = {
  readonly slot: Slot
  readonly before: ReadRow | undefined
  readonly operation: Operation
  readonly canWait: boolean
  /** The longest line that any settings of this world allow. */
  readonly inLine: number
  readonly must: (holds: boolean, rule: string, other?: Slot) => void
}

/** A slot is issued once, in order, in time, and no more of them than the limit allows. */
export function checkSlot({ slot, before, operation, canWait, inLine, must }: Taking): void {
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
  if (row.window) {
    const isWhole = Math.floor(position / row.max) === Math.floor((position + cost - 1) / row.max)
    must(isWhole, 'a request is whole in one window')
    // What other rules allowed before counts; it may be more than these allow, but then nothing is added.
    must(used <= row.max, 'at most max a window')
  }
  const itemMs = before?.atMs ?? 0
  const { clockMinMs, clockMaxMs } = operation
  const isOpen = pastMs(row, position) > Math.max(itemMs, clockMinMs)
  must(isOpen, 'never a slot in a past window')
  const lineMs = (Math.ceil(inLine / row.max) + 1) * row.windowMs + 1
  must(turnMs - Math.max(clockMaxMs, itemMs) <= lineMs, 'waits are bounded')
  must(canWait || turnMs <= Math.max(clockMaxMs, row.atMs), 'who does not wait goes now')
}
