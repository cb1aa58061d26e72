// Everything that goes to a terminal or comes from it: output that may be lost or may not, tables, a bar that is
// redrawn, a screen that is given back, and questions.

import { createInterface } from 'node:readline/promises'
import type { Writable } from 'node:stream'
import type { Context, Io, OptionTable, Terminal } from './command.ts'
import { exitCodes, Failure, interrupted, wrongUsage } from './failure.ts'
import { type Column, tableLines } from './text.ts'

/** Resolves when the system has taken the text: what is only buffered may still be lost. */
export const write = (stream: Writable, text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()))
  })

/** For what helps a person who watches, and matters to nobody else. */
export function writeQuietly(stream: Writable, text: string): void {
  stream.write(text, () => {})
}

/** Prints a table as wide as the terminal allows, its title dimmed. */
export async function printTable(
  { io, print, paintOut }: Pick<Context<OptionTable>, 'io' | 'print' | 'paintOut'>,
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
): Promise<void> {
  const width = io.stdout.isTTY ? (io.stdout.columns ?? 80) : undefined
  const [title = '', ...lines] = tableLines(columns, rows, width)
  await print(paintOut('dim', title))
  for (const line of lines) await print(line)
}

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

/** Refuses to go on if there is no terminal to ask on. */
export function checkAskable({ stdin, stderr }: Io, what: string): void {
  if (stdin.isTTY && stderr.isTTY) return
  throw wrongUsage(`Cannot ${what} because there is no terminal to ask on; use --yes`)
}

/** Goes on only if the person types the expected word. `undone`: `Nothing was deleted` */
export async function confirm(
  { io, interrupt }: Pick<Context<OptionTable>, 'io' | 'interrupt'>,
  { question, expected, wrong, undone }: Confirmation,
): Promise<void> {
  const typed = await ask(io, question)
  if (interrupt.aborted || typed === undefined) throw interrupted(`${undone}.`)
  if (typed.trim() !== expected) throw new Failure(exitCodes.refused, `${undone}: ${wrong}.`)
}

type Confirmation = {
  readonly question: string
  readonly expected: string
  readonly wrong: string
  readonly undone: string
}

/** What a person types; `undefined` for Ctrl-C or a closed terminal. */
async function ask(io: Io, question: string): Promise<string | undefined> {
  const lines = createInterface({ input: io.stdin, output: io.stderr })
  // readline takes Ctrl-C off a terminal, so that it never becomes the signal that we listen for.
  const gone = new AbortController()
  lines.on('SIGINT', () => gone.abort())
  lines.on('close', () => gone.abort())
  const signal = AbortSignal.any([gone.signal, io.interrupt])
  try {
    return await lines.question(question, { signal })
  } catch (error) {
    if (signal.aborted) return undefined
    throw error
  } finally {
    lines.close()
  }
}

export const yes = { question: 'Type yes to go on: ', expected: 'yes', wrong: 'that is not yes' }

/** A person who waits this long wants to know why. */
const TOLD_FROM_MS = 1_000

export function tellWait(tell: (line: string) => void, message: string, pauseMs: number): void {
  if (pauseMs >= TOLD_FROM_MS) tell(`Waiting ${Math.ceil(pauseMs / 1_000)} s: ${message}`)
}
