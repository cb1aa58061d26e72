import type { Output } from './paint.ts'

export type Progress = {
  step(text: string): void
  /** Clears the line on a terminal. */
  clear(): void
}

/** On a terminal one line that is rewritten; in a file a line for each step. */
export function progressOn(output: Output): Progress {
  if (!output.isTTY) return { step: (text) => output.write(`${text} …\n`), clear() {} }
  return {
    step: (text) => output.write(`\r\u001b[2K${text} …`),
    clear: () => output.write('\r\u001b[2K'),
  }
}
