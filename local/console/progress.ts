import type { Output } from './terminal.ts'

export type Progress = {
  step(text: string): void
  /** Takes the line away, where there is one to take away. */
  clear(): void
}

/** One line that is rewritten for who looks on; a line a step in a file. */
export function progressOn(output: Output): Progress {
  if (!output.isTTY) return { step: (text) => output.write(`${text} …\n`), clear() {} }
  return {
    step: (text) => output.write(`\r\u001b[2K${text} …`),
    clear: () => output.write('\r\u001b[2K'),
  }
}
