import type Zlib from 'node:zlib'

// Loaded when something is first packed or unpacked: 1.6 ms of a cold start otherwise.
const zlib = (): Partial<typeof Zlib> => process.getBuiltinModule('node:zlib')

/** AWS bills a row of up to 1 KB as one unit, however small it is: compressing it would only cost time. */
const COMPRESS_FROM_BYTES = 900
/** Far more than any row or part holds: bounds the size to which a damaged one may unpack. */
const UNPACKED_BYTES_MAX = 512 * 1024 * 1024

/**
 * Entries as one value: each as decimal byte length, a colon, and its text; compressed if that makes it
 * smaller. The first byte shows whether it is: a digit, or zstd's magic number.
 */
export function pack(entries: readonly string[]): Uint8Array {
  const plain = Buffer.from(
    entries.map((entry) => `${Buffer.byteLength(entry)}:${entry}`).join(''),
    'utf8',
  )
  if (plain.length < COMPRESS_FROM_BYTES) return plain
  const { zstdCompressSync } = zlib()
  // Node before 22.15 has no zstd. Every engine can read uncompressed values.
  if (zstdCompressSync === undefined) return plain
  const compressed = zstdCompressSync(plain)
  return compressed.length < plain.length ? compressed : plain
}

const ZSTD_FIRST_BYTE = 0x28
const COLON = 0x3a
const ZERO = 0x30
const isDigit = (byte: number | undefined): byte is number =>
  byte !== undefined && byte >= ZERO && byte < ZERO + 10

export function unpack(packed: Uint8Array): string[] {
  const bytes =
    packed[0] === ZSTD_FIRST_BYTE
      ? decompress(packed)
      : Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength)
  const entries: string[] = []
  for (let at = 0; at < bytes.length; ) {
    let length = 0
    let colon = at
    for (let byte = bytes[at]; isDigit(byte); byte = bytes[colon]) {
      length = 10 * length + byte - ZERO
      colon += 1
    }
    const digits = colon - at
    const from = colon + 1
    const to = from + length
    if (bytes[colon] !== COLON || digits < 1 || digits > 9 || to > bytes.length) {
      throw new Error('A packed row is damaged')
    }
    entries.push(bytes.toString('utf8', from, to))
    at = to
  }
  return entries
}

function decompress(packed: Uint8Array): Buffer {
  const { zstdDecompressSync } = zlib()
  if (zstdDecompressSync !== undefined) {
    return zstdDecompressSync(packed, { maxOutputLength: UNPACKED_BYTES_MAX })
  }
  throw new Error(
    `Cannot read items that were compressed with zstd because Node ${process.versions.node} has none: use Node 22.15 or newer`,
  )
}
