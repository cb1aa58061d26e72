// How the reader of a hint starts this command: a hint should work as it is printed.

import { relative, sep } from 'node:path'

type Environment = Readonly<Record<string, string | undefined>>

/** `npm run -s pushpop --` in a clone, `npx pushpop` where a project has it, else `pushpop`. */
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
