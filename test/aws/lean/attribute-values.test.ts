import { marshall, NumberValueImpl, unmarshall } from '@aws-sdk/util-dynamodb'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromAttributes, toAttributes } from '../../../aws/attribute-values.ts'

const bytes = fc.uint8Array({ minLength: 1, maxLength: 8 })
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.string({ unit: 'binary' }),
    fc.maxSafeInteger(),
    fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 }),
    fc.boolean(),
    fc.constant(null),
    fc.bigInt({ min: -(10n ** 37n), max: 10n ** 37n }),
    bytes,
    fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 3 }).map((all) => new Set(all)),
    fc.uniqueArray(fc.integer(), { minLength: 1, maxLength: 3 }).map((all) => new Set(all)),
    bytes.map((one) => new Set([one])),
    fc.array(tie('any'), { maxLength: 4 }),
    fc.dictionary(fc.string(), tie('any'), { maxKeys: 4 }),
    fc.array(fc.tuple(fc.string(), tie('any')), { maxLength: 3 }).map((all) => new Map(all)),
  ),
})).any
const item = fc.dictionary(
  fc.string().filter((name) => name !== '__proto__'),
  value,
  { maxKeys: 5 },
)

/** What travels: the SDK makes base64 of bytes only as it writes the request. */
const onTheWire = (attributes: unknown): unknown =>
  JSON.parse(
    JSON.stringify(attributes, (_, part) =>
      part instanceof Uint8Array ? Buffer.from(part).toString('base64') : part,
    ),
  )

describe('Values and attributes', () => {
  it('are written as the SDK writes them.', () => {
    fc.assert(
      fc.property(item, (given) => {
        expect(onTheWire(toAttributes(given))).toEqual(onTheWire(marshall(given)))
      }),
    )
  })

  it('are read as the SDK reads them.', () => {
    fc.assert(
      fc.property(item, (given) => {
        const attributes = marshall(given)
        expect(fromAttributes(onTheWire(attributes) as object)).toEqual(unmarshall(attributes))
        expect(fromAttributes(attributes)).toEqual(unmarshall(attributes))
      }),
    )
  })

  it.each<[string, object]>([
    ['a number that is the SDK’s own', { n: NumberValueImpl.from('123456789012345678901') }],
    ['a buffer', { b: Buffer.from('abc') }],
    ['half of a buffer', { b: Buffer.from('abcdef').subarray(2, 4) }],
    ['bytes that a buffer has', { b: new Uint8Array([1, 2]).buffer }],
    ['a view', { b: new DataView(new Uint8Array([1, 2, 3]).buffer, 1) }],
    ['an object without a prototype', { m: Object.assign(Object.create(null), { a: 1 }) }],
    ['minus zero', { n: -0 }],
    ['a small number', { n: 1e-130 }],
  ])('are written as the SDK writes them: %s.', (_, given) => {
    // The SDK's writer makes bytes of these as it writes the request.
    const bytesOf = (part: unknown): unknown =>
      part instanceof ArrayBuffer
        ? new Uint8Array(part)
        : part instanceof DataView
          ? new Uint8Array(part.buffer, part.byteOffset, part.byteLength)
          : part
    const written = Object.fromEntries(
      Object.entries(marshall(given)).map(([name, { B, ...rest }]: [string, { B?: unknown }]) => [
        name,
        B === undefined ? rest : { B: Buffer.from(bytesOf(B) as Uint8Array).toString('base64') },
      ]),
    )
    expect(toAttributes(given)).toEqual(written)
  })

  it.each<[string, object]>([
    ['an undefined one further down', { m: { a: undefined } }],
    ['an undefined one in a list', { l: [undefined] }],
    ['no number', { n: Number.NaN }],
    ['infinity', { n: Number.POSITIVE_INFINITY }],
    ['a number that may not be exact', { n: 2 ** 53 }],
    ['an empty set', { s: new Set() }],
    ['a set of booleans', { s: new Set([true]) }],
    ['an instance of a class', { d: new Date() }],
    ['a symbol', { s: Symbol('s') }],
  ])('are refused here and by the SDK: %s.', (_, given) => {
    expect(() => toAttributes(given)).toThrow('Cannot store')
    expect(() => marshall(given)).toThrow()
  })

  it('are refused as a set of two kinds, which the SDK would spoil.', () => {
    expect(() => toAttributes({ s: new Set(['a', 1]) })).toThrow('Cannot store a set')
  })

  it('are refused as functions, which the SDK leaves out in silence.', () => {
    expect(() => toAttributes({ f: () => {} })).toThrow('Cannot store')
    const plain = { toAttributeValue: () => ({ S: 's' }) }
    expect(() => toAttributes({ plain })).toThrow('Cannot store')
  })

  it('have any name, one that would set a prototype as well.', () => {
    const attributes = JSON.parse('{"__proto__":{"S":"x"},"m":{"M":{"__proto__":{"N":"1"}}}}')
    const read = fromAttributes(attributes)
    expect(Object.keys(read)).toEqual(['__proto__', 'm'])
    expect(JSON.stringify(toAttributes(read))).toBe(JSON.stringify(attributes))
  })

  it.each<[string, object]>([
    ['of no kind', { a: {} }],
    ['of a kind that is none', { a: { X: 'x' } }],
  ])('are not read %s.', (_, attributes) => {
    expect(() => fromAttributes(attributes)).toThrow('Cannot read')
  })
})
