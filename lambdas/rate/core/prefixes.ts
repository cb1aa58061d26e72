import { PATTERNS_MAX, PREFIX_CHARACTERS_MAX } from './bounds.ts'
import { invalid } from './settings.ts'

/** Settings for all names with this prefix; the empty prefix matches all names. */
export type PatternOf<S> = { readonly prefix: string; readonly settings: S }

const prefixForm = /^[A-Za-z0-9._-]*$/

/**
 * Checks patterns of rate limits or of queues, and puts the longest prefix first: the order in which they apply.
 * `settle` checks the settings of one; `at` is its field, `patterns[3]`.
 */
export function inOrder<Input, S>(
  inputs: readonly PatternOf<Input>[],
  settle: (settings: Input, at: string) => S,
): PatternOf<S>[] {
  if (!Array.isArray(inputs)) throw invalid('patterns', 'they must be a list')
  if (inputs.length > PATTERNS_MAX) {
    throw invalid('patterns', `there may be ${PATTERNS_MAX} of them, not ${inputs.length}`)
  }
  const seen = new Set<string>()
  const patterns = inputs.map((input: PatternOf<Input>, i) => {
    const at = `patterns[${i}]`
    if (!isObject(input)) throw invalid(at, 'it must be an object with a prefix and settings')
    const { prefix, settings } = input
    if (!isObject(settings)) throw invalid(`${at}.settings`, 'they must be an object')
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

const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The pattern with the longest prefix of the name; the patterns are in that order. */
export const patternFor = <S>(
  patterns: readonly PatternOf<S>[],
  name: string,
): PatternOf<S> | undefined => patterns.find(({ prefix }) => name.startsWith(prefix))
