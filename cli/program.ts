// The program as its caller knows it: how they typed its name, its version, and how Ctrl-C ends it.

import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { SAME_SIGNAL_MS } from '../local/terminal/terminal.ts'
import { exitCodes } from './failure.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * A hint should work as it is printed. So this is what its reader types: `npm run -s pushpop --` in a clone, `npx
 * pushpop` where a project has it, else `pushpop`.
 */
export function typedAs(env: Environment, script: string, folder: string): string {
  if (env.npm_lifecycle_event === 'pushpop') return 'npm run -s pushpop --'
  if (env.npm_lifecycle_event === 'npx' || script.split(sep).includes('node_modules')) {
    return 'npx pushpop'
  }
  return /\.[jt]s$/.test(script) ? `node ${relative(folder, script)}` : 'pushpop'
}

/** A sentence, or a page of help, with `pushpop NAME …` as the reader types it. */
export const asTyped = (text: string, program: string, names: readonly string[]): string =>
  program === 'pushpop'
    ? text
    : text.replaceAll(new RegExp(`\\bpushpop(?= (?:${names.join('|')})\\b)`, 'g'), program)

/** From the nearest package.json: beside cli/ in the repository, further up in the built package. */
export function version(): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const file = join(folder, 'package.json')
    if (existsSync(file))
      return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
    if (folder === dirname(folder)) return 'unknown'
  }
}

type Emitter = {
  on(name: 'SIGINT' | 'SIGTERM' | 'SIGHUP', listener: () => void): unknown
  exit(code: number): void
}

/** The first Ctrl-C asks a command to end and leave nothing behind; the second ends it at once. */
export function watchForInterrupt(process: Emitter): AbortSignal {
  const controller = new AbortController()
  let firstMs = 0
  const end = () => {
    if (!controller.signal.aborted) {
      firstMs = performance.now()
      controller.abort()
    } else if (performance.now() - firstMs > SAME_SIGNAL_MS) {
      process.exit(exitCodes.interrupted)
    }
  }
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, end)
  return controller.signal
}
