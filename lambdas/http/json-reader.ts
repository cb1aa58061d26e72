// A parser of JSON for bodies that carry items, which have to stay text. Hides the grammar.

import { RequestError } from './answer.ts'

/**
 * Reads strict JSON (RFC 8259) once, from left to right, and returns values as their text: if we parsed
 * and printed them, `1.0` would become `1`, `1e400` would become `null`, and one of two equal names would
 * vanish. Its errors say where a text stops being JSON, but never quote it.
 */
export class JsonReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  /** The next value as its text, without the space around it. */
  value(): string {
    this.#space()
    const from = this.#at
    this.#skipValue()
    return this.#text.slice(from, this.#at)
  }

  /** The first character of the next value: `{`, `[`, `"`, … */
  peek(): string {
    this.#space()
    return this.#text.charAt(this.#at)
  }

  /** Calls for each field of the object that comes next; the callee reads the field's value. */
  fields(onField: (name: string) => void): void {
    this.#expect(OPEN_BRACE)
    if (this.#closes(CLOSE_BRACE)) return
    do {
      onField(this.#name())
    } while (this.#continues(CLOSE_BRACE))
  }

  /** Calls for each element of the array that comes next; the callee reads it. */
  elements(onElement: (index: number) => void): void {
    this.#expect(OPEN_BRACKET)
    if (this.#closes(CLOSE_BRACKET)) return
    let index = 0
    do {
      onElement(index)
      index += 1
    } while (this.#continues(CLOSE_BRACKET))
  }

  /** Nothing but space may be left. */
  end(): void {
    this.#space()
    if (this.#at < this.#text.length) throw this.#error()
  }

  /** Skips one value of any kind. A list of open brackets replaces recursion: depth costs bytes, not stack. */
  #skipValue(): void {
    const open: number[] = []
    for (;;) {
      this.#space()
      const code = this.#text.charCodeAt(this.#at)
      if (code === OPEN_BRACE || code === OPEN_BRACKET) {
        const closing = code + 2
        this.#at += 1
        if (!this.#closes(closing)) {
          open.push(closing)
          if (open.length > NESTING_MAX) throw this.#tooDeep()
          if (closing === CLOSE_BRACE) this.#skipName()
          continue
        }
      } else {
        this.#skipScalar(code)
      }
      for (;;) {
        const closing = open.at(-1)
        if (closing === undefined) return
        if (this.#continues(closing)) {
          if (closing === CLOSE_BRACE) this.#skipName()
          break
        }
        open.pop()
      }
    }
  }

  #skipScalar(code: number): void {
    if (code === QUOTE) this.#skipString()
    else if (code === MINUS || isDigit(code)) this.#skipNumber()
    else this.#skipWord(words.get(code))
  }

  #skipWord(word: string | undefined): void {
    if (word === undefined || !this.#text.startsWith(word, this.#at)) throw this.#error()
    this.#at += word.length
  }

  #skipString(): void {
    const text = this.#text
    let at = this.#at + 1
    for (;;) {
      const code = text.charCodeAt(at)
      if (code === QUOTE) break
      if (code === BACKSLASH) {
        const escaped = text.charCodeAt(at + 1)
        if (escaped === LOWER_U) {
          for (let i = at + 2; i < at + 6; i += 1) {
            if (!isHexDigit(text.charCodeAt(i))) throw this.#error(i)
          }
          at += 6
        } else {
          if (!escapable.has(escaped)) throw this.#error(at + 1)
          at += 2
        }
        // At the end of the text, the code is NaN, and this comparison fails as well.
      } else if (code >= FIRST_PRINTABLE) {
        at += 1
      } else {
        throw this.#error(at)
      }
    }
    this.#at = at + 1
  }

  #skipNumber(): void {
    const text = this.#text
    let at = this.#at
    if (text.charCodeAt(at) === MINUS) at += 1
    if (text.charCodeAt(at) === ZERO) at += 1
    else at = this.#digits(at)
    if (text.charCodeAt(at) === POINT) at = this.#digits(at + 1)
    const exponent = text.charCodeAt(at)
    if (exponent === LOWER_E || exponent === UPPER_E) {
      at += 1
      const sign = text.charCodeAt(at)
      if (sign === PLUS || sign === MINUS) at += 1
      at = this.#digits(at)
    }
    this.#at = at
  }

  /** At least one digit. */
  #digits(from: number): number {
    let at = from
    while (isDigit(this.#text.charCodeAt(at))) at += 1
    if (at === from) throw this.#error(at)
    return at
  }

  /** A field's name, read together with its colon, as the text it stands for. */
  #name(): string {
    const from = this.#quote()
    this.#skipString()
    const text = this.#text.slice(from, this.#at)
    this.#expect(COLON)
    return text.includes('\\') ? (JSON.parse(text) as string) : text.slice(1, -1)
  }

  #skipName(): void {
    this.#quote()
    this.#skipString()
    this.#expect(COLON)
  }

  /** Where the string begins that has to come next. */
  #quote(): number {
    this.#space()
    if (this.#text.charCodeAt(this.#at) !== QUOTE) throw this.#error()
    return this.#at
  }

  #expect(code: number): void {
    this.#space()
    if (this.#text.charCodeAt(this.#at) !== code) throw this.#error()
    this.#at += 1
  }

  #closes(closing: number): boolean {
    this.#space()
    if (this.#text.charCodeAt(this.#at) !== closing) return false
    this.#at += 1
    return true
  }

  /** Reads a comma (more follows) or the closing bracket (no more). */
  #continues(closing: number): boolean {
    if (this.#closes(closing)) return false
    this.#expect(COMMA)
    return true
  }

  #space(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return
      this.#at += 1
    }
  }

  #error(at = this.#at): RequestError {
    const where = at >= this.#text.length ? 'because it ends too early' : `beyond character ${at}`
    return new RequestError('INVALID_JSON', `The body cannot be read as JSON ${where}`)
  }

  #tooDeep(): RequestError {
    return new RequestError(
      'INVALID_JSON',
      `The body is nested deeper than ${NESTING_MAX} levels, which no item of the allowed size can be`,
    )
  }
}

/**
 * As deep as an item of 256 KiB can be: each level takes two bytes. So we never refuse an item for its
 * depth, and a hostile body costs a megabyte of memory at most.
 */
export const NESTING_MAX = 128 * 1024

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const MINUS = 0x2d
const PLUS = 0x2b
const POINT = 0x2e
const ZERO = 0x30
const LOWER_E = 0x65
const UPPER_E = 0x45
const LOWER_U = 0x75
const FIRST_PRINTABLE = 0x20

const words: ReadonlyMap<number, string> = new Map(
  ['true', 'false', 'null'].map((word) => [word.charCodeAt(0), word]),
)
const escapable = new Set([...'"\\/bfnrt'].map((character) => character.charCodeAt(0)))

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39
const isHexDigit = (code: number): boolean =>
  isDigit(code) || (code >= 0x41 && code <= 0x46) || (code >= 0x61 && code <= 0x66)
