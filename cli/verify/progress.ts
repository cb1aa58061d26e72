import type { Terminal } from '../command.ts'
import { progressBarOn } from '../console/progress-bar.ts'
import type { Check } from './check.ts'

/** Often enough that the seconds of a wait go by one by one. */
const DRAW_EVERY_MS = 200

export type Progress = {
  at(check: Check, sentence: string): void
  /** Takes the line away: what is printed next stands there. */
  ended(check: Check): void
  close(): void
}

/** What is going on, on a line that is drawn again and again; the check that began last is shown. */
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
