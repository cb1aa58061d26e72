import type { Terminal } from '../command.ts'
import { writeQuietly } from './write.ts'

export type ProgressBar = {
  /** `done` and `total` are in one unit, such as bytes; without a total the bar only counts. */
  at(done: number, total: number | undefined, note: string): void
  clear(): void
}

const BAR_CELLS = 24
/** Drawing more often than the eye can follow would only slow down the work. */
const DRAW_EVERY_MS = 80

/** A line that is rewritten in place, on a terminal only. */
export function progressBarOn(
  terminal: Terminal,
  label: string,
  nowMs: () => number = () => performance.now(),
): ProgressBar {
  if (!terminal.isTTY) return { at() {}, clear() {} }
  let drawnMs = Number.NEGATIVE_INFINITY
  let isDrawn = false
  return {
    at(done, total, note) {
      if (nowMs() - drawnMs < DRAW_EVERY_MS) return
      drawnMs = nowMs()
      isDrawn = true
      // A line that wraps could not be rewritten.
      const line = barLine(label, done, total, note).slice(0, (terminal.columns ?? 80) - 1)
      writeQuietly(terminal, `\r\u001b[2K${line}`)
    },
    clear() {
      if (isDrawn) writeQuietly(terminal, '\r\u001b[2K')
      isDrawn = false
      drawnMs = Number.NEGATIVE_INFINITY
    },
  }
}

/** `Pushing  ██████░░░░░░░░░░░░░░░░░░   25 %  1,000 items` */
export function barLine(
  label: string,
  done: number,
  total: number | undefined,
  note: string,
): string {
  if (total === undefined || total <= 0) return `${label}  ${note}`
  const share = Math.max(0, Math.min(1, done / total))
  const full = Math.round(share * BAR_CELLS)
  const bar = '█'.repeat(full) + '░'.repeat(BAR_CELLS - full)
  return `${label}  ${bar}  ${String(Math.floor(share * 100)).padStart(3)} %  ${note}`
}
