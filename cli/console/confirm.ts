import { createInterface } from 'node:readline/promises'
import type { Io } from '../command.ts'

/** What somebody types at a question; `undefined` if he goes away instead. */
export async function ask(io: Io, question: string): Promise<string | undefined> {
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
