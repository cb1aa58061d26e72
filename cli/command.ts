import type { Readable, Writable } from 'node:stream'
import type { Paint } from '../local/terminal/paint.ts'
import type { Given, OptionTable } from './arguments/option-table.ts'
import type { WordSpec } from './arguments/read-words.ts'
import type { TargetOptions } from './arguments/target-options.ts'
import type { ExitCode } from './exit-codes.ts'
import type { Target } from './target/target.ts'

export type Terminal = Writable & {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
}

/** What a run is connected to: the process's own streams, or a test's. */
export type Io = {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Terminal
  readonly stderr: Terminal
  readonly env: Readonly<Record<string, string | undefined>>
  /** The first Ctrl-C: finish what is going on and leave nothing behind. */
  readonly interrupt: AbortSignal
  /** What the person typed for `pushpop`; hints repeat it. */
  readonly program: string
}

/** What a command works with, beside its own arguments. */
export type Context<T extends OptionTable> = {
  readonly given: Given<T> & Given<TargetOptions>
  readonly words: readonly string[]
  readonly io: Io
  readonly isJson: boolean
  readonly interrupt: AbortSignal
  /** Prints a line of the result. Resolves when the system has it, rejects if nobody reads it. */
  print(line: string): Promise<void>
  /** A line for a person, to stderr. */
  tell(line: string): void
  /** Colours of stderr, and of stdout. */
  readonly paint: Paint
  readonly paintOut: Paint
  /** Opened when first asked for, closed when the command ends. */
  target(): Promise<Target>
}

export type Command<T extends OptionTable = OptionTable> = {
  readonly name: string
  readonly summary: string
  readonly words: readonly WordSpec[]
  readonly options: T
  /** What to know before using it, a paragraph each. */
  readonly notes?: readonly string[]
  readonly examples: readonly string[]
  run(context: Context<T>): Promise<ExitCode>
}

/** Keeps the type of the options, so that `given` is typed by them. */
export const command = <const T extends OptionTable>(it: Command<T>): Command<T> => it
