import type { Terminal } from '../command.ts'
import { write, writeQuietly } from './write.ts'

type Screen = {
  /** Draws all of it again; leaves out lines that do not fit, and says so. */
  draw(lines: readonly string[]): Promise<void>
  close(): void
}

const ENTER = '\u001b[?1049h\u001b[?25l'
const LEAVE = '\u001b[?25h\u001b[?1049l'
const HOME = '\u001b[H'
const TO_LINE_END = '\u001b[K'
const TO_SCREEN_END = '\u001b[J'

/**
 * The terminal's other screen, which leaves the first one as it was. We give it back however the process ends, a second
 * Ctrl-C included: a shell without a cursor is worse than no table.
 */
export function openScreen(terminal: Terminal): Screen {
  let isOpen = true
  const close = () => {
    if (!isOpen) return
    isOpen = false
    process.off('exit', close)
    writeQuietly(terminal, LEAVE)
  }
  process.on('exit', close)
  writeQuietly(terminal, ENTER)
  return {
    close,
    async draw(lines) {
      const rows = Math.max(2, terminal.rows ?? 24)
      const fits = lines.length <= rows
      const shown = fits
        ? lines
        : [...lines.slice(0, rows - 1), `… ${lines.length - rows + 1} lines more than fit here`]
      // Written over, not cleared first: that would flicker.
      const text = shown.map((line) => line + TO_LINE_END).join('\n')
      await write(terminal, HOME + text + TO_SCREEN_END)
    },
  }
}
