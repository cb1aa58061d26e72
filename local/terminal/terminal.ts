// What `npm start` and the command line share about a terminal: colours, text that is safe to print, a line of
// progress, times, and Ctrl-C.

import { styleText } from 'node:util'

/** A stream to write to, such as `process.stdout`. */
export type Output = {
  write(text: string): unknown
  readonly isTTY?: boolean | undefined
}

export type Colour = 'red' | 'green' | 'yellow' | 'dim' | 'bold'

export type Paint = (colour: Colour, text: string) => string

/** Colours only on a terminal, and only if the user has not turned them off (no-color.org). */
export function paintFor(
  { isTTY }: Output,
  environment: Readonly<Record<string, string | undefined>>,
): Paint {
  if (!isTTY || environment.NO_COLOR || environment.TERM === 'dumb') return (_, text) => text
  return (colour, text) => styleText(colour, text, { validateStream: false })
}

/** Makes text from elsewhere harmless: it must not move the cursor or ring the bell. */
export const printable = (text: string): string =>
  text.replace(/\p{Cc}/gu, (character) => (character === '\t' ? ' ' : '\ufffd'))

/** In the time zone of this machine. */
export function clockTime(ms: number): string {
  const time = new Date(ms)
  return [time.getHours(), time.getMinutes(), time.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':')
}

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

/**
 * Ctrl-C arrives twice within a moment: from the terminal, and passed on by npm's script. A person who means
 * it twice is slower than this.
 */
export const SAME_SIGNAL_MS = 500
