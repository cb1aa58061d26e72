import { isReservedWord } from '../reserved-words.ts'
import type { Value } from '../value.ts'
import { invalid, type Token, tokenize } from './tokens.ts'

/** The shared ground of the three grammars: paths, values, operator counting, names used. */

export type PathStep = string | number
export interface Path {
  readonly kind: 'path'
  readonly steps: readonly PathStep[]
}
interface ValueReference {
  readonly kind: 'value'
  readonly name: string
}
export type Names = Readonly<Record<string, string>>
export type Values = Readonly<Record<string, Value>>
/** Refuses values that make the expression invalid whatever the item holds. */
export type ValueCheck = (values: Values) => void

const operatorsMax = 300
const pathDepthMax = 32

export class Parser {
  readonly namesUsed = new Set<string>()
  readonly valuesUsed = new Set<string>()
  readonly checks: ValueCheck[] = []
  /** Parts that stand in their own parentheses. */
  readonly inParentheses = new Set<object>()
  readonly what: string
  private readonly tokens: readonly Token[]
  private readonly names: Names
  private at = 0
  private operators = 0

  constructor(expression: string, names: Names, what: string) {
    this.what = what
    this.names = names
    this.tokens = tokenize(expression, what)
  }

  peek(): Token {
    return this.tokens[this.at] as Token
  }

  /** The name of the function that is called here, if one is. */
  peekCall(): string | undefined {
    const [token, after] = [this.peek(), this.tokens[this.at + 1]]
    const isCall = token.kind === 'word' && after?.kind === 'symbol' && after.text === '('
    return isCall ? token.text : undefined
  }

  takeCall(): void {
    this.at += 2
    this.countOperator()
  }

  next(): Token {
    const token = this.peek()
    if (token.kind !== 'end') this.at++
    return token
  }

  isSymbol(text: string): boolean {
    const token = this.peek()
    return token.kind === 'symbol' && token.text === text
  }

  isKeyword(keyword: string): boolean {
    const token = this.peek()
    if (token.kind !== 'word' || token.text.length !== keyword.length) return false
    return token.text.toUpperCase() === keyword
  }

  take(text: string): boolean {
    if (!this.isSymbol(text)) return false
    this.at++
    return true
  }

  takeKeyword(keyword: string): boolean {
    if (!this.isKeyword(keyword)) return false
    this.at++
    return true
  }

  expect(text: string): void {
    if (!this.take(text)) throw this.syntaxError()
  }

  expectEnd(): void {
    if (this.peek().kind !== 'end') throw this.syntaxError()
  }

  syntaxError(): Error {
    const token = this.peek()
    const text = 'text' in token ? token.text : token.kind
    return invalid(this.what, `Syntax error; token: "${text}"`)
  }

  invalid(problem: string): Error {
    return invalid(this.what, problem)
  }

  pathRequired(name: string): Error {
    return this.invalid(
      `Operator or function requires a document path; operator or function: ${name}`,
    )
  }

  wrongOperand(operator: string, type: string): Error {
    return this.invalid(
      'Incorrect operand type for operator or function; operator or function: ' +
        `${operator}, operand type: ${type}`,
    )
  }

  countOperator(): void {
    this.operators++
    if (this.operators > operatorsMax) {
      throw this.invalid(
        `The expression has more than the maximum of ${operatorsMax} operators and functions;`,
      )
    }
  }

  value(): ValueReference {
    const token = this.next()
    if (token.kind !== 'value') throw this.syntaxError()
    this.valuesUsed.add(token.text)
    return { kind: 'value', name: token.text }
  }

  path(): Path {
    const steps: PathStep[] = [this.pathName()]
    for (;;) {
      const token = this.peek()
      if (token.kind === 'index') {
        this.at++
        steps.push(token.index)
      } else if (this.take('.')) {
        steps.push(this.pathName())
      } else {
        break
      }
    }
    if (steps.length > pathDepthMax) {
      throw this.invalid('The document path has too many nesting elements;')
    }
    return { kind: 'path', steps }
  }

  private pathName(): string {
    const token = this.peek()
    if (token.kind === 'name') {
      this.at++
      this.namesUsed.add(token.text)
      const name = this.names[token.text]
      if (name === undefined) {
        throw this.invalid(
          'An expression attribute name used in the document path is not defined; ' +
            `attribute name: ${token.text}`,
        )
      }
      return name
    }
    if (token.kind !== 'word') throw this.syntaxError()
    if (isReservedWord(token.text)) {
      throw this.invalid(`Attribute name is a reserved keyword; reserved keyword: ${token.text}`)
    }
    this.at++
    return token.text
  }
}

export function samePath(a: Path, b: Path): boolean {
  return a.steps.length === b.steps.length && a.steps.every((step, i) => step === b.steps[i])
}
