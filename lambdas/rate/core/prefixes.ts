import { PATTERNS_MAX, PREFIX_CHARACTERS_MAX } from './bounds.ts'
import { invalid } from './settings.ts'

/** Settings for all names that begin so; the empty prefix is for all of them. */
export type PatternOf<S> = { readonly prefix: string; readonly settings: S }

const prefixForm = /^[A-Za-z0-9._-]*$/

/**
 * Patterns of rate limits or of queues, checked, the longest prefix first: the order in which they apply.
 * `settle` checks the settings of one; `at` is its field, `patterns[3]`.
 */
export function inOrder<Input, S>(
  inputs: readonly PatternOf<Input>[],
  settle: (settings: Input, at: string) => S,
): PatternOf<S>[] {
  if (inputs.length > PATTERNS_MAX) {
    throw invalid('patterns', `there may be ${PATTERNS_MAX} of them, not ${inputs.length}`)
  }
  const seen = new Set<string>()
  const patterns = inputs.map(({ prefix, settings }, i) => {
    const at = `patterns[${i}]`
    const field = `${at}.prefix`
    if (
      typeof prefix !== 'string' ||
      !prefixForm.test(prefix) ||
      prefix.length > PREFIX_CHARACTERS_MAX
    ) {
      throw invalid(
        field,
        `it must be 0 to ${PREFIX_CHARACTERS_MAX} of the characters A-Z a-z 0-9 . _ -`,
      )
    }
    if (seen.has(prefix)) throw invalid(field, `there is another pattern for "${prefix}"`)
    seen.add(prefix)
    return { prefix, settings: settle(settings, at) }
  })
  return patterns.sort((a, b) => b.prefix.length - a.prefix.length)
}

/** The pattern with the longest prefix that the name begins with; they are in that order. */
export const patternFor = <S>(
  patterns: readonly PatternOf<S>[],
  name: string,
): PatternOf<S> | undefined => patterns.find(({ prefix }) => name.startsWith(prefix))
