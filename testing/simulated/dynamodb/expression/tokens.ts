import { validationError } from '../errors.ts'
import { textBytes } from '../item-size.ts'

export type Token =
  | { readonly kind: 'name'; readonly text: string } // #alias
  | { readonly kind: 'value'; readonly text: string } // :value
  | { readonly kind: 'word'; readonly text: string } // attribute, keyword or function
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'symbol'; readonly text: string }
  | { readonly kind: 'end' }

const expressionBytesMax = 4096
const placeholderBytesMax = 255

const pattern =
  /\s+|(#[A-Za-z0-9_]+)|(:[A-Za-z0-9_]+)|([A-Za-z][A-Za-z0-9_]*)|\[(\d+)\]|(<>|<=|>=|[=<>(),.+-])/y

/** Texts come again under other names: of lanes and locks. */
const known = new Map<string, readonly Token[]>()
const KNOWN_MAX = 4096

export function tokenize(expression: string, what: string): readonly Token[] {
  const again = known.get(expression)
  if (again !== undefined) return again
  const tokens = read(expression, what)
  if (known.size >= KNOWN_MAX) known.clear()
  known.set(expression, tokens)
  return tokens
}

function read(expression: string, what: string): readonly Token[] {
  if (expression.trim() === '') throw invalid(what, 'The expression can not be empty;')
  if (textBytes(expression) > expressionBytesMax) {
    throw invalid(what, 'Expression size has exceeded the maximum allowed size;')
  }
  const tokens: Token[] = []
  const matcher = new RegExp(pattern)
  while (matcher.lastIndex < expression.length) {
    const at = matcher.lastIndex
    const match = matcher.exec(expression)
    if (match === null) {
      throw invalid(what, `Syntax error; token: "${expression.slice(at, at + 10)}"`)
    }
    const token = toToken(match)
    if (token !== undefined) tokens.push(checkedToken(token, what))
  }
  tokens.push({ kind: 'end' })
  return tokens
}

function toToken(match: RegExpExecArray): Token | undefined {
  const [, name, value, word, index, symbol] = match
  if (name !== undefined) return { kind: 'name', text: name }
  if (value !== undefined) return { kind: 'value', text: value }
  if (word !== undefined) return { kind: 'word', text: word }
  if (index !== undefined) return { kind: 'index', index: Number(index) }
  if (symbol !== undefined) return { kind: 'symbol', text: symbol }
  return undefined // white space
}

function checkedToken(token: Token, what: string): Token {
  const placeholder = token.kind === 'name' || token.kind === 'value'
  if (placeholder && textBytes(token.text) > placeholderBytesMax) {
    throw invalid(what, 'A placeholder has exceeded the maximum allowed length;')
  }
  return token
}

export function invalid(what: string, problem: string): Error {
  return validationError(`Invalid ${what}: ${problem}`)
}
