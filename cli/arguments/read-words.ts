import { parseItemId } from '../../engine/core/keys.ts'
import { parseScheduledId } from '../../engine/core/later.ts'
import { ID_RULE, isQueueId } from '../../shared/bounds.ts'
import { whyNot } from '../../shared/errors.ts'
import { wrongUsage } from '../failure.ts'
import { doing } from './doing.ts'

/** Words of a command line: `QUEUE`, `[ITEM…]`. */
export type WordSpec = {
  readonly name: string
  readonly kind: 'queue' | 'key' | 'item' | 'text'
  readonly optional?: true
  readonly many?: true
}

export const queueWord = { name: 'QUEUE', kind: 'queue' } as const satisfies WordSpec
export const itemWords = { name: 'ID', kind: 'item', many: true } as const satisfies WordSpec
export const keyWord = { name: 'KEY', kind: 'key' } as const satisfies WordSpec

export const usageOfWord = ({ name, optional, many }: WordSpec): string => {
  const shown = many ? `${name}…` : name
  return optional ? `[${shown}]` : shown
}

/** Checks count and form; words that were not given are absent. */
export function readWords(
  command: string,
  words: readonly string[],
  specs: readonly WordSpec[],
): readonly string[] {
  const needed = specs.filter(({ optional }) => !optional)
  const missing = needed[words.length]
  if (missing !== undefined) {
    throw wrongUsage(
      `Cannot ${doing(command)} because ${missing.name} is missing; see: pushpop help ${command}`,
    )
  }
  for (const [index, word] of words.entries()) {
    const spec = specs[index] ?? (specs.at(-1)?.many ? specs.at(-1) : undefined)
    if (spec === undefined) {
      throw wrongUsage(
        `Cannot ${doing(command)} because ${JSON.stringify(word)} is one word too many; ` +
          `see: pushpop help ${command}`,
      )
    }
    if (spec.kind === 'item') checkItemId(command, word)
    else if (spec.kind !== 'text') checkId(command, word, spec.kind)
  }
  return words
}

/** A rate limit's key is spelled like a queue id. */
function checkId(command: string, word: string, kind: 'queue' | 'key'): void {
  if (isQueueId(word)) return
  const what = kind === 'queue' ? 'not a queue id' : "not a rate limit's key"
  throw wrongUsage(
    `Cannot ${doing(command)} because ${JSON.stringify(word)} is ${what}: that is ${ID_RULE}${whyNot(word)}`,
  )
}

function checkItemId(command: string, word: string): void {
  if (parseItemId(word) !== undefined || parseScheduledId(word) !== undefined) return
  throw wrongUsage(
    `Cannot ${doing(command)} because ${JSON.stringify(word)} is not an item's id; ` +
      'peek and scheduled show the ids of items',
  )
}
