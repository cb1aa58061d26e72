import type { Terminal } from '../command.ts'
import { progressBarOn } from '../terminal/progress-bar.ts'
import type { Check } from './check.ts'

/** Often enough to show the seconds of a wait. */
const DRAW_EVERY_MS = 200

export type Progress = {
  at(check: Check, sentence: string): void
  /** Clears the line, because a result is printed next. */
  ended(check: Check): void
  close(): void
}

/** Draws one line again and again, with the step of the check that began last. */
export function progressOn(terminal: Terminal, total: number): Progress {
  const bar = progressBarOn(terminal, 'Verifying')
  const running = new Map<Check, string>()
  let done = 0
  const draw = () => {
    const last = [...running].at(-1)
    if (last !== undefined) bar.at(done, total, `${last[0].name}: ${last[1]}`)
  }
  const timer = terminal.isTTY ? setInterval(draw, DRAW_EVERY_MS) : undefined
  return {
    at(check, sentence) {
      running.set(check, sentence)
    },
    ended(check) {
      running.delete(check)
      done += 1
      bar.clear()
    },
    close() {
      clearInterval(timer)
      bar.clear()
    },
  }
}
