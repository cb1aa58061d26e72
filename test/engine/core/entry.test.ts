import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decodeItem,
  decodeReference,
  encodeItem,
  encodeReference,
  entryBytes,
  escapedBytes,
  type Item,
  isReference,
  isTimed,
  lastingOf,
  pushedAtMsOf,
  spanOf,
  tagOf,
  toldOf,
} from '../../../engine/core/item.ts'
import { type Kept, keptFields } from '../../../shared/item-fields.ts'
import { present } from '../../../shared/wire.ts'

const times = fc.integer({ min: 0, max: 36 ** 8 - 1 })
const texts = fc.string({ unit: 'grapheme' })
const tags = fc.stringMatching(/^[A-Za-z0-9_~]{4}$/)

describe('An item’s entry', () => {
  it('is read back as it was written, and tells its time and its tag.', () => {
    fc.assert(
      fc.property(texts, times, tags, (text, pushedAtMs, tag) => {
        const entry = encodeItem({ text, pushedAtMs }, tag)
        expect(decodeItem(entry)).toEqual({ text, pushedAtMs })
        expect(pushedAtMsOf(entry)).toBe(pushedAtMs)
        expect(tagOf(entry)).toBe(tag)
        expect(isReference(entry)).toBe(false)
        expect(spanOf(entry)).toBe(1)
        expect(entryBytes(entry)).toBe(Buffer.byteLength(entry) + 8)
      }),
    )
  })

  it('is refused where its time has not eight digits: one digit more or a fraction would become part of the text.', () => {
    for (const pushedAtMs of [0.5, 36 ** 8, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => encodeItem({ text: '1', pushedAtMs }, 'abcd')).toThrow(`the time ${pushedAtMs}`)
    }
    expect(decodeItem(encodeItem({ text: '1', pushedAtMs: 36 ** 8 - 1 }, 'abcd')).text).toBe('1')
  })

  const numbers = fc.option(fc.nat(2 ** 42), { nil: undefined })
  const anyText = fc.option(fc.string({ unit: 'grapheme', maxLength: 300 }), { nil: undefined })
  const reasons = fc.oneof(anyText, fc.constantFrom('.', 'e1,', '7:', 'w3:abc.'))
  const details = fc.record(
    Object.fromEntries(keptFields.map(({ name, is }) => [name, is === 'text' ? reasons : numbers])),
  ) as fc.Arbitrary<Kept>

  it('with details tells them, whatever they are; a plain one takes no byte for them.', () => {
    fc.assert(
      fc.property(texts, times, tags, details, (text, pushedAtMs, tag, all) => {
        const told = present(all)
        const entry = encodeItem({ text, pushedAtMs, ...told }, tag)
        expect(decodeItem(entry)).toEqual({ text, pushedAtMs, ...told })
        expect([pushedAtMsOf(entry), tagOf(entry), spanOf(entry)]).toEqual([pushedAtMs, tag, 1])
        const ofTime = [all.expiresAtMs, all.dueMs, all.redrivenMs, all.scheduledId]
        expect(isTimed(entry)).toBe(ofTime.some((time) => time !== undefined))
        if (Object.keys(told).length === 0) expect(entry).toHaveLength(13 + text.length)
      }),
    )
  })

  it('is read without the details that its reader does not know.', () => {
    const entry = encodeItem({ text: '17', pushedAtMs: 5, expiresAtMs: 7 }, 'tags')
    expect(entry).toBe('x00000005tagse7,.17')
    const later = entry.replace('e7,', 'e7,Z3:e8,Q1,')
    expect(decodeItem(later)).toEqual({ text: '17', pushedAtMs: 5, expiresAtMs: 7 })
    expect(() => decodeItem(entry.replace('e7,', 'e7;'))).toThrow('another form')
  })

  it('is refused with a number that would be read as another one.', () => {
    for (const expiresAtMs of [0.5, -1, Number.NaN, 2 ** 53]) {
      const item = { text: '1', pushedAtMs: 5, expiresAtMs }
      expect(() => encodeItem(item, 'tags')).toThrow(`Cannot store ${expiresAtMs} with an item`)
    }
  })

  it('of a dead letter keeps what lasts, and callers learn all but when it came back.', () => {
    const all = {
      text: '1',
      pushedAtMs: 5,
      expiresAtMs: 6,
      scheduledId: 't-1',
      dueMs: 7,
      redrivenMs: 8,
      reason: 'r',
      deadLetteredAtMs: 9,
      priorDeliveries: 2,
    } satisfies Item
    const { redrivenMs: _, ...told } = all
    expect(toldOf(all)).toEqual(told)
    expect(lastingOf(all)).toEqual({ text: '1', pushedAtMs: 5 })
  })

  it('of a clock before 1970 counts as 1970.', () => {
    expect(decodeItem(encodeItem({ text: '1', pushedAtMs: -5 }, 'tags')).pushedAtMs).toBe(0)
  })
})

describe('A reference', () => {
  it('is read back as it was written, and stands for its items.', () => {
    const anyReference = fc.record({
      storage: fc.constantFrom('rows' as const, 's3' as const),
      batch: fc.stringMatching(/^[A-Za-z0-9_~]{8}$/),
      count: fc.integer({ min: 1, max: 1_000 }),
      partItems: fc.integer({ min: 1, max: 100 }),
      partBytes: fc.array(fc.integer({ min: 1, max: 3_000_000 }), { maxLength: 10 }),
    })
    fc.assert(
      fc.property(anyReference, (reference) => {
        const entry = encodeReference(reference)
        expect(decodeReference(entry)).toEqual(reference)
        expect(isReference(entry)).toBe(true)
        expect(spanOf(entry)).toBe(reference.count)
      }),
    )
  })
})

it('Escaped bytes are those of the text as a JSON string without its quotes.', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const escaped = Buffer.byteLength(JSON.stringify(text)) - 2
      // Backspace and form feed have a short escape that Lambda may or may not use.
      expect(escapedBytes(text)).toBeGreaterThanOrEqual(escaped)
      expect(escapedBytes(text)).toBeLessThanOrEqual(6 * Buffer.byteLength(text))
    }),
  )
  expect(escapedBytes('{"a":"b\\n"}\n\t')).toBe(
    Buffer.byteLength(JSON.stringify('{"a":"b\\n"}\n\t')) - 2,
  )
})
