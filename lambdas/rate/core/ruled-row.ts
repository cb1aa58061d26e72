import { type Epoch, naturalEpoch, type Ruling } from './epoch.ts'
import { handOver } from './hand-over.ts'
import type { RateRow } from './row.ts'
import { windowStartMs } from './ruler.ts'
import type { KeyConfiguration } from './settings.ts'

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
