import { wrongUsage } from '../failure.ts'
import type { WordSpec } from './read-words.ts'

/** For commands that work on one queue, or with `--prefix` on many. */
export const queueOrPrefix = {
  name: 'QUEUE',
  kind: 'queue',
  optional: true,
} as const satisfies WordSpec

type OneOf = { readonly kind: 'queue' | 'prefix'; readonly name: string }

export function oneOf(
  command: string,
  words: readonly string[],
  prefix: string | undefined,
): OneOf {
  const [queue] = words
  if (queue !== undefined && prefix !== undefined) {
    throw wrongUsage(`Cannot ${command} because a queue and --prefix contradict each other`)
  }
  if (prefix !== undefined) return { kind: 'prefix', name: prefix }
  if (queue !== undefined) return { kind: 'queue', name: queue }
  throw wrongUsage(
    `Cannot ${command} because QUEUE or --prefix is missing; see: pushpop help ${command}`,
  )
}
