import { describe, expect, it } from 'vitest'
import { declarationsIn } from './declarations.ts'

const named = (source: string): [string, string][] =>
  declarationsIn(source).map(({ name, from, to }) => [name, source.slice(from, to).trim()])

describe('The declarations of a file', () => {
  it('are its functions and constants, each up to the next, and no types or imports.', () => {
    const source = `
import { a } from './a.ts'

export type Thing = { readonly a: number }

/** What one does. */
export function one(): { a: number } {
  const inner = { a: 1 }
  return inner
}

export const two = async (): Promise<void> => {
  await three()
}

let four = 4

async function* three() {}

export default function five() {}
`
    expect(named(source).map(([name]) => name)).toEqual(['one', 'two', 'four', 'three', 'five'])
    expect(named(source)[2]).toEqual(['four', 'let four = 4'])
    expect(named(source)[0]?.[1]).toMatch(/^export function one.*return inner\n}$/s)
  })

  it('are also the members of a class, by its name and theirs.', () => {
    const source = `
export class Reader<T> {
  static readonly #kept = new Map<string, { a: number }>()
  limit = 1

  constructor(limit: number) {
    this.limit = limit
  }

  async #read(): Promise<T> {
    if (this.limit > 1) return this.other()
    return this.#read()
  }

  get size(): number {
    return 1
  }
}

const after = 1
`
    expect(named(source).map(([name]) => name)).toEqual([
      'Reader',
      'Reader.#kept',
      'Reader.limit',
      'Reader.constructor',
      'Reader.#read',
      'Reader.size',
      'after',
    ])
    expect(new Map(named(source)).get('Reader.limit')).toBe('limit = 1')
    expect(new Map(named(source)).get('Reader.#read')).toMatch(/this\.#read\(\)\n {2}}$/)
  })

  it('are one where a function has several signatures.', () => {
    const source = `
export function add(a: number): number
export function add(a: string): string
export function add(a: unknown): unknown {
  return a
}
`
    expect(named(source)).toHaveLength(1)
  })
})

describe('What holds any text hides no end, and is none:', () => {
  const tick = '`'
  it.each([
    ['a string', `'}'`],
    ['a string with its own quote', `'it\\'s }'`],
    ['a string of the other quotes', `"'{"`],
    ['a template', `${tick}}\nconst none = 1\n${tick}`],
    ['code in a template', `${tick}a \${f({ b: ${tick}}\${'}'}${tick} })} {${tick}`],
    ['an escape in a template', `${tick}\\${tick}{${tick}`],
    ['a comment of a line', `1 // it's {`],
    ['a comment', `1 /* } it's\nconst none = 1\n*/`],
    ['a regular expression', `/[/{]'\\/{/u`],
    ['a regular expression behind an arrow', `() => /}"/.test(a)`],
    ['a division', `a / b + '}'.length / 2`],
  ])('%s.', (_, text) => {
    const source = `function one() {\n  const value = ${text}\n  return value\n}\n\nconst two = 2\n`
    expect(named(source).map(([name]) => name)).toEqual(['one', 'two'])
    expect(named(source)[1]?.[1]).toBe('const two = 2')
  })
})
