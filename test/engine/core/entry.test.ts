import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decodeItem,
  decodeReference,
  encodeItem,
  encodeReference,
  entryBytes,
  escapedBytes,
  isReference,
  isTimed,
  pushedAtMsOf,
  spanOf,
  tagOf,
} from '../../../engine/core/item.ts'
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

  it('of an item with times of its own tells them, and is marked for engines that know none.', () => {
    const ms = fc.option(fc.nat(2 ** 42), { nil: undefined })
    const id = fc.option(fc.stringMatching(/^[A-Za-z0-9_~-]{1,60}$/), { nil: undefined })
    fc.assert(
      fc.property(
        texts,
        times,
        tags,
        ms,
        ms,
        ms,
        id,
        (text, pushedAtMs, tag, due, expires, back, id) => {
          const told = present({
            dueMs: due,
            expiresAtMs: expires,
            redrivenMs: back,
            scheduledId: id,
          })
          const entry = encodeItem({ text, pushedAtMs, ...told }, tag)
          expect(decodeItem(entry)).toEqual({ text, pushedAtMs, ...told })
          expect(isTimed(entry)).toBe(Object.keys(told).length > 0)
          expect([pushedAtMsOf(entry), tagOf(entry), spanOf(entry)]).toEqual([pushedAtMs, tag, 1])
          const moved = { reason: 'rotten' }
          const dead = encodeItem({ text, pushedAtMs, ...told, moved }, tag)
          expect(decodeItem(dead)).toEqual({ text, pushedAtMs, moved })
        },
      ),
    )
  })

  it('of an item that was moved carries its reason, of any length up to the limit and beyond.', () => {
    fc.assert(
      fc.property(
        texts,
        fc.string({ unit: 'grapheme', maxLength: 500 }),
        tags,
        (text, reason, tag) => {
          const item = { text, pushedAtMs: 5, moved: { reason } }
          expect(decodeItem(encodeItem(item, tag))).toEqual(item)
        },
      ),
    )
    const item = { text: '1', pushedAtMs: 5, moved: { reason: 'x'.repeat(1_000) } }
    expect(decodeItem(encodeItem(item, 'tags'))).toEqual(item)
  })

  const deaths = fc.record({
    atMs: fc.integer({ min: 0, max: 2 ** 42 }),
    deliveries: fc.nat(1_000),
  })
  const reasons = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 256 }),
    fc.constant(' (delivered 3 times, dead-lettered 1970-01-01T00:00:00.000Z)'),
    fc.constant(' (delivered 3 times, dead-lettered 1970-01-01T00:00:00.000Z, times d1,)'),
  )
  const putOff = (reason: string, death: { atMs: number; deliveries: number }) => ({
    moved: { reason, death },
    dueMs: 5_000,
    expiresAtMs: 7,
    scheduledId: 't-abc-0-AAAA_~-A-0',
  })
  it('of an item that was dead-lettered tells when, and after how many deliveries, and its times, whatever the reason.', () => {
    fc.assert(
      fc.property(texts, reasons, deaths, tags, (text, reason, death, tag) => {
        for (const more of [
          { moved: { reason } },
          { moved: { reason, death } },
          putOff(reason, death),
        ]) {
          const item = { text, pushedAtMs: 5, ...more }
          expect(decodeItem(encodeItem(item, tag))).toEqual(item)
        }
      }),
    )
  })

  it('of an item that was dead-lettered can be read by an engine that does not know of deaths.', () => {
    const moved = { reason: 'no address', death: { atMs: 0, deliveries: 3 } }
    const entry = encodeItem({ text: '17', pushedAtMs: 5, moved }, 'tags')
    // As that engine reads: 8 digits of time, 4 characters of tag, 2 digits of length.
    const reasonAt = 1 + 8 + 4 + 2
    const textAt = reasonAt + Number.parseInt(entry.slice(reasonAt - 2, reasonAt), 36)
    expect(entry.slice(textAt)).toBe('17')
    expect(entry.slice(reasonAt, textAt)).toBe(
      'no address (delivered 3 times, dead-lettered 1970-01-01T00:00:00.000Z)',
    )
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
