import type { Output } from './paint.ts'

export type Progress = {
  step(text: string): void
  /** Clears the line on a terminal. */
  clear(): void
}

/** Longer than any step usually takes: then the user should know that it is still the same. */
const STILL_MS = 10_000

/** On a terminal one line that is rewritten; in a file a line for each step. */
export function progressOn(output: Output): Progress {
  const isTerminal = output.isTTY === true
  const show = (text: string) => output.write(isTerminal ? `\r\u001b[2K${text}` : `${text}\n`)
  let still: NodeJS.Timeout | undefined
  return {
    step(text) {
      clearInterval(still)
      const sinceMs = Date.now()
      show(`${text} …`)
      still = setInterval(() => {
        show(`${text} … (${Math.round((Date.now() - sinceMs) / 1000)} s so far)`)
      }, STILL_MS).unref()
    },
    clear() {
      clearInterval(still)
      if (isTerminal) output.write('\r\u001b[2K')
    },
  }
}
