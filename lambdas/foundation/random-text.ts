/** 64 characters that keys, ids and entries may hold, and none that separates their parts. */
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_~'

export function randomText(random: () => number, characters: number): string {
  let text = ''
  for (let i = 0; i < characters; i += 1) text += ALPHABET[Math.floor(random() * 64)]
  return text
}

/** Begins the id of a lock that a consumer's run holds. No other id has this character. */
export const CONSUMERS_LOCK = '.'

/** A lock id: 8 random bytes as 11 characters of URL-safe base64, for a consumer behind its sign. */
export function randomLockId(random: () => number, forConsumer = false): string {
  const bytes = Buffer.alloc(8)
  for (let i = 0; i < 8; i += 1) bytes[i] = Math.floor(random() * 256)
  return `${forConsumer ? CONSUMERS_LOCK : ''}${bytes.toString('base64url')}`
}
