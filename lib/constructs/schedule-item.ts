import { type IResolvable, ResolutionTypeHint, Token, Tokenization } from 'aws-cdk-lib/core'

/**
 * Converts an item to JSON, so that the synth checks exactly what it deploys: CDK would leave out undefined elements of
 * a list, and take a URL or a `toJSON` apart. Values that only the deployment knows stay tokens. Undefined if the item
 * is not JSON at all.
 */
export function jsonOf(item: unknown): { readonly json: unknown } | undefined {
  let text: string | undefined
  try {
    text = JSON.stringify(item === undefined ? undefined : { item }, keepTokens)
  } catch (error) {
    if (error instanceof ListOfTokensError) throw error
    return undefined
  }
  if (text === undefined) return undefined
  const { item: json } = JSON.parse(text) as { item?: unknown }
  return json === undefined ? undefined : { json }
}

/** To write such a list as JSON, CDK would add another function to the stack. */
export class ListOfTokensError extends Error {}

function keepTokens(this: unknown, key: string, value: unknown): unknown {
  // `value` is already the result of its `toJSON`.
  const original = (this as Record<string, unknown>)[key]
  if (isListOfTokens(original)) throw new ListOfTokensError()
  return Tokenization.isResolvable(original) ? Token.asString(original) : value
}

const isListOfTokens = (value: unknown): boolean =>
  Tokenization.isResolvable(value)
    ? (value as IResolvable).typeHint === ResolutionTypeHint.STRING_LIST
    : Array.isArray(value) && Token.isUnresolved(value)
