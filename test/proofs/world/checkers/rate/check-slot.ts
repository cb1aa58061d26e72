import type { Slot, Writing } from './rate-rows.ts'
import { pastMs, type ReadRow, widthIn } from './read-row.ts'

type Taking = {
  readonly slot: Slot
  readonly before: ReadRow | undefined
  readonly writing: Writing
  /** The longest line that any settings of this world allow. */
  readonly lineMax: number
  readonly violated: (rule: string, explanation: string) => void
}

/** A slot is issued once, in order, in time, and no more of them than the limit allows. */
export function checkSlot(taking: Taking): void {
  const { slot, before, writing, lineMax, violated } = taking
  const { row, position, cost, turnMs, history } = slot
  const say = (): string =>
    `#${slot.by} took ${position}+${cost}, turn ${turnMs}, of ${JSON.stringify(row)}`
  const must = (holds: boolean, rule: string, more = ''): void => {
    if (!holds) violated(rule, say() + more)
  }
  for (const other of history.slots) {
    if (other.givenUp) continue
    const apart =
      other.row.ruler !== row.ruler ||
      position >= other.position + widthIn(row, other.cost) ||
      other.position >= position + widthIn(row, cost)
    if (!apart) must(false, 'a slot is issued once', `: #${other.by} has it`)
    if (turnMs < other.turnMs) {
      const earlier = `: #${other.by} came before, for ${other.turnMs}`
      must(false, 'order of arrival is order of turn', earlier)
    }
  }
  const { clockMinMs, clockMaxMs, command } = writing
  must(
    pastMs(row, position) > Math.max(before?.atMs ?? 0, clockMinMs),
    'never a slot in a past window',
  )
  const nowMs = Math.max(clockMaxMs, before?.atMs ?? 0)
  const lineMs = (Math.ceil(lineMax / row.max) + 1) * row.windowMs
  must(turnMs - nowMs <= lineMs + 1, 'waits are bounded')
  const canWait = command.verb === 'admit' && command.request.canWait
  must(canWait || turnMs <= Math.max(clockMaxMs, row.atMs), 'who does not wait goes now')
  if (row.window) checkWindow(slot, must)
}

/** What other rules allowed before counts; it may be more than these allow, but then nothing is added. */
function checkWindow(
  { row, turnMs: startMs, position, cost, history }: Slot,
  must: (holds: boolean, rule: string, more?: string) => void,
): void {
  const isWhole = Math.floor(position / row.max) === Math.floor((position + cost - 1) / row.max)
  must(isWhole, 'a request is whole in one window')
  let used = cost
  for (const other of history.slots) {
    const inside = other.turnMs >= startMs && other.turnMs < startMs + row.windowMs
    if (inside && !other.givenUp) used += other.cost
  }
  must(used <= row.max, 'at most max a window', `: ${used}`)
}
