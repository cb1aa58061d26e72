import type Zlib from 'node:zlib'
import { zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { pack, unpack } from '../../../engine/requests/segment-rows.ts'

describe('Packed entries', () => {
  it('come back as they were, compressed or not.', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 30 }), (entries) => {
        expect(unpack(pack(entries))).toEqual(entries)
      }),
    )
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 2, max: 200 }), (entry, count) => {
        const entries = Array.from({ length: count }, (_, n) => `${entry}${n % 7}`)
        expect(unpack(pack(entries))).toEqual(entries)
      }),
    )
  })

  it('are compressed where that is smaller, and plain where it is not.', () => {
    const alike = Array.from({ length: 100 }, (_, n) => `{"order":${n},"state":"new"}`)
    expect(pack(alike).length).toBeLessThan(0.3 * alike.join('').length)
    expect(Buffer.from(pack(['12'])).toString()).toBe('2:12')
    const random = Buffer.from(crypto.getRandomValues(new Uint8Array(300))).toString('latin1')
    expect(pack([random]).length).toBeLessThanOrEqual(Buffer.byteLength(random) + 4)
  })

  it('may be a view on a larger buffer, as the SDK hands over.', () => {
    const packed = pack(['a', 'bc'])
    const larger = new Uint8Array(packed.length + 10)
    larger.set(packed, 5)
    expect(unpack(larger.subarray(5, 5 + packed.length))).toEqual(['a', 'bc'])
  })

  it('of no entries are nothing.', () => {
    expect(unpack(pack([]))).toEqual([])
  })
})

describe('If Node has no zstd', () => {
  const entries = Array.from({ length: 100 }, (_, n) => `{"order":${n},"state":"new"}`)
  const compressed = pack(entries)
  const original = process.getBuiltinModule
  const hide = (): void => {
    process.getBuiltinModule = ((id: string) => {
      const { zstdCompressSync, zstdDecompressSync, ...others } = original(id) as typeof Zlib
      return others
    }) as typeof original
  }
  afterEach(() => {
    process.getBuiltinModule = original
  })

  it('entries are packed plain, and every Node can read them.', () => {
    hide()
    const packed = pack(entries)
    expect(Buffer.from(packed).toString()).toMatch(/^25:{"order":0,/)
    expect(unpack(packed)).toEqual(entries)
    process.getBuiltinModule = original
    expect(unpack(packed)).toEqual(entries)
  })

  it('compressed entries are refused with the Node that can read them.', () => {
    hide()
    expect(() => unpack(compressed)).toThrow('use Node 22.15 or newer')
  })
})

describe('A damaged row', () => {
  const rows: readonly [string, string][] = [
    ['that ends too early', '5:abc'],
    ['without a colon', '12345'],
    ['whose length is no number', 'x:abc'],
    ['whose length is negative', '3:abc-5:x'],
    ['whose length is missing', ':abc'],
    ['whose length is a fraction', '1.5:abc'],
    ['with a tail', '3:abc9'],
  ]
  it.each(rows)('%s is refused.', (_, text) => {
    expect(() => unpack(Buffer.from(text))).toThrow()
  })

  it('of zstd is refused.', () => {
    const packed = zstdCompressSync(Buffer.from(`200:${'x'.repeat(200)}`))
    expect(() => unpack(packed.subarray(0, packed.length - 3))).toThrow()
    expect(() => unpack(Buffer.from([0x28, 1, 2, 3]))).toThrow()
  })

  it('never hangs and never gives anything but text or an error.', () => {
    const bytes = fc.uint8Array({ maxLength: 40 })
    const digits = fc.stringMatching(/^[0-9:a-c.-]{0,20}$/).map((text) => Buffer.from(text))
    fc.assert(
      fc.property(fc.oneof(bytes, digits), (damaged) => {
        let entries: string[] = []
        try {
          entries = unpack(damaged)
        } catch (error) {
          expect(error).toBeInstanceOf(Error)
        }
        expect(entries.length).toBeLessThanOrEqual(damaged.length)
      }),
    )
  })
})
