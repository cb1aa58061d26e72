import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RequestError } from '../../../lambdas/http/answer.ts'
import { JsonReader } from '../../../lambdas/http/json-reader.ts'
import { readBody } from '../../../lambdas/http/read-request.ts'

function read(text: string): string | undefined {
  const reader = new JsonReader(text)
  try {
    const value = reader.value()
    reader.end()
    return value
  } catch (error) {
    if (error instanceof RequestError) return undefined
    throw error
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const space = fc.string({ unit: fc.constantFrom(' ', '\n', '\t', '\r'), maxLength: 3 })

/** JSON with space anywhere, numbers in any spelling, and strings with any escape. */
const { value: spelled } = fc.letrec<{ value: string }>((tie) => {
  const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: 20 })
  const number = fc
    .tuple(
      fc.constantFrom('', '-'),
      fc.oneof(
        fc.constant('0'),
        fc.tuple(fc.constantFrom(...'123456789'), digits).map((d) => d.join('')),
      ),
      fc.option(
        digits.map((d) => `.${d}`),
        { nil: '' },
      ),
      fc.option(
        fc.tuple(fc.constantFrom('e', 'E', 'e+', 'E-'), digits).map((e) => e.join('')),
        { nil: '' },
      ),
    )
    .map((parts) => parts.join(''))
  const character = fc.oneof(
    fc
      .string({ unit: 'binary', minLength: 1, maxLength: 1 })
      .map((c) => JSON.stringify(c).slice(1, -1)),
    fc.constantFrom(
      '\\u0041',
      '\\ud800',
      '\\udc00',
      '\\/',
      '\\"',
      '\\\\',
      '\\b',
      '\u2028',
      '\ufeff',
      '\u007f',
    ),
  )
  const string = fc.array(character, { maxLength: 6 }).map((parts) => `"${parts.join('')}"`)
  const list = fc.array(tie('value'), { maxLength: 3 }).map((values) => `[${values.join(',')}]`)
  const object = fc
    .array(fc.tuple(space, string, space, tie('value')), { maxLength: 3 })
    .map(
      (fields) => `{${fields.map(([a, name, b, value]) => `${a}${name}${b}:${value}`).join(',')}}`,
    )
  const any = fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    number,
    string,
    fc.constantFrom('true', 'false', 'null', '[]', '{}', '[ ]', '{ }'),
    list,
    object,
  )
  return { value: fc.tuple(space, any, space).map((parts) => parts.join('')) }
})

const trimmed = (text: string): string => text.replace(/^[ \n\t\r]+|[ \n\t\r]+$/g, '')

describe('The JSON reader', () => {
  it('takes exactly what JSON.parse takes, and hands it over as it stands there.', () => {
    const damaged = fc
      .tuple(spelled, fc.nat(), fc.nat({ max: 2 }), fc.string({ unit: 'binary', maxLength: 2 }))
      .map(([text, where, length, added]) => {
        const at = where % (text.length + 1)
        return text.slice(0, at) + added + text.slice(at + length)
      })
    const texts = fc.oneof(
      { weight: 3, arbitrary: spelled },
      { weight: 5, arbitrary: damaged },
      { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
      {
        weight: 2,
        arbitrary: fc.string({ unit: fc.constantFrom(...'{}[]",:0-1.e\\utnl '), maxLength: 12 }),
      },
    )
    let taken = 0
    fc.assert(
      fc.property(texts, (text) => {
        const value = read(text)
        if (value !== undefined) taken += 1
        expect(value !== undefined, JSON.stringify(text)).toBe(isJson(text))
        if (value !== undefined) expect(value).toBe(trimmed(text))
      }),
      { numRuns: 30_000 },
    )
    expect(taken).toBeGreaterThan(5_000)
  })

  it('finds the items of a body, each byte for byte, wherever they stand.', () => {
    const bodies = fc
      .array(fc.tuple(spelled, fc.option(fc.nat({ max: 9 }), { nil: undefined }), fc.boolean()), {
        minLength: 1,
        maxLength: 5,
      })
      .map((items) => ({
        items,
        text: `{ "items":[${items
          .map(([item, priority, first]) => {
            const fields = [`"item":${item}`]
            if (priority !== undefined) fields.splice(first ? 0 : 1, 0, ` "priority" : ${priority}`)
            return `{${fields.join(',')}}`
          })
          .join(' , ')}]}`,
      }))
    const raw = { raw: new Set(['item']) }
    fc.assert(
      fc.property(bodies, ({ items, text }) => {
        const found = readBody(text, { ...raw, lists: { items: { of: raw, max: 5 } } })
        const expected = items.map(([item, priority]) => ({
          item: trimmed(item),
          ...(priority !== undefined && { priority }),
        }))
        expect(JSON.parse(JSON.stringify(found))).toEqual({ items: expected })
      }),
      { numRuns: 3_000 },
    )
  })

  it('takes the short way for one item to where the long one leads.', () => {
    const raw = { raw: new Set(['item']) }
    const found = (text: string) => {
      try {
        return { ...readBody(text, raw) }
      } catch (error) {
        return (error as RequestError).code
      }
    }
    const anything = fc.string({
      unit: fc.constantFrom(...'{}[]",:0-1.e\\utnl \n\u00a0\ufeff'),
      maxLength: 8,
    })
    const tail = fc.constantFrom('}', '} ', '', '}}', ',"item":1}', ', "priority":1}')
    let taken = 0
    fc.assert(
      fc.property(fc.oneof(spelled, anything), tail, (item, end) => {
        const text = `{"item":${item}${end}`
        const short = found(text)
        // No text that begins with a space goes the short way.
        expect(short).toEqual(found(` ${text}`))
        if (typeof short === 'object') taken += 1
      }),
      { numRuns: 10_000 },
    )
    expect(taken).toBeGreaterThan(1_000)
    const deep = `{"item":${'['.repeat(131_100)}${']'.repeat(131_100)}}`
    expect(found(deep) === 'INVALID_JSON').toBe(true)
  })

  it('takes time in proportion to the text, whatever is in it.', () => {
    const hostile = [
      '['.repeat(2_600_000),
      `{"a":${'['.repeat(131_000)}${']'.repeat(131_000)}}`,
      `{"a":"${'\\"'.repeat(1_300_000)}"}`,
      `{"a":${'1'.repeat(2_600_000)}}`,
      `{${Array.from({ length: 150_000 }, (_, i) => `"field${i}":0`).join(',')}}`,
      `${' '.repeat(2_600_000)}{}`,
    ]
    for (const text of hostile) {
      const cpuBefore = process.cpuUsage()
      try {
        readBody(text, { raw: new Set() })
      } catch (error) {
        expect(error).toBeInstanceOf(RequestError)
      }
      const { user } = process.cpuUsage(cpuBefore)
      // A square of this length would take minutes: ten seconds say no more than that.
      expect(user / 1e6).toBeLessThan(10)
    }
  })

  it('stops at the first element that is one too many, whatever comes behind it.', () => {
    const raw = { raw: new Set(['item']) }
    const read = (text: string) => () =>
      readBody(text, { ...raw, lists: { items: { of: raw, max: 2 } } })
    expect(read('{"items":[{"item":1},{"item":2}]}')).not.toThrow()
    expect(read('{"items":[{"item":1},{"item":2},no JSON')).toThrow(
      'items holds more than 2 elements',
    )
  })

  it('says where a text stops being JSON, and not what stands there.', () => {
    const told = (text: string): string => {
      try {
        readBody(text, { raw: new Set() })
      } catch (error) {
        return (error as Error).message
      }
      return ''
    }
    expect(told('{"password":secret}')).toBe('The body cannot be read as JSON beyond character 12')
    expect(told('{"password":"secret')).toBe(
      'The body cannot be read as JSON because it ends too early',
    )
    expect(told('\ufeff{}')).toContain('byte order mark')
    expect(told('[]')).toBe('The body must be a JSON object')
  })
})
