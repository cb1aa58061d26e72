import { createInterface } from 'node:readline/promises'
import type { OptionTable } from '../arguments/option-table.ts'
import type { Context, Io } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { Failure, interrupted, wrongUsage } from '../failure.ts'

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
