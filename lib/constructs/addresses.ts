// The addresses of token issuers and of pages: they decide who may call.

import { Token } from 'aws-cdk-lib/core'

export const ISSUER_RULE = 'the https address of who issues the tokens'

export const isIssuer = (value: unknown): value is string =>
  typeof value === 'string' && (Token.isUnresolved(value) || /^https:\/\/[^/\s]+/.test(value))

export const ORIGIN_RULE =
  'an origin as a browser sends it, without a path, such as https://shop.example, or "https://*" or "*"'

/**
 * The gateway compares it with what a browser sends, letter for letter: with a path, a slash at its end or a capital
 * letter it would let nobody in. The gateway has no wildcard but these three.
 */
export function isOrigin(value: unknown): value is string {
  if (typeof value !== 'string') return false
  if (Token.isUnresolved(value) || ['*', 'https://*', 'http://*'].includes(value)) return true
  if (!/^https?:/.test(value)) return /^[a-z][a-z0-9+.-]*:\/\/[^/\s*?#]+$/.test(value)
  return !value.includes('*') && URL.canParse(value) && new URL(value).origin === value
}
